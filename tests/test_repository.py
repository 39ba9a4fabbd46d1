"""The files around the code say the same as the code and as each other."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import syncd

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
CI = {name: (ROOT / ".ci" / name).read_text() for name in ("common.sh", "run", "nightly")}
WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / ".github" / "workflows").glob("*.yml")
}
PAGES = sorted([*(ROOT / ".github").rglob("*.md"), ROOT / "CHANGELOG.md"])
FORMS = sorted(
    set((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")) - {ROOT / ".github/ISSUE_TEMPLATE/config.yml"}
)


def anchors(page: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page, re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_version_is_the_newest_of_the_changelog():
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert PROJECT["version"] == syncd.__version__ == released[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#:]+)(?:#([^)]*))?\)", page.read_text()):
        found = page.parent / target
        assert found.exists(), target
        assert not anchor or anchor in anchors(found.read_text()), f"{target}#{anchor}"


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_an_issue_form_has_a_name_and_asks_for_something_under_names_of_its_own(form):
    content = yaml.safe_load(form.read_text())
    assert content["name"]
    assert content["description"]
    names = [part["id"] for part in content["body"] if part["type"] != "markdown"]
    assert names
    assert len(set(names)) == len(names)


def test_the_workflow_runs_the_gate_on_every_python_that_is_tried():
    job = WORKFLOWS["ci"]["jobs"]["gate"]
    assert [step.get("run") for step in job["steps"]] == [None, ".ci/run"]
    tried = job["strategy"]["matrix"]["python"]
    assert f"PYTHONS=({' '.join(tried)})" in CI["common.sh"]
    promised = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)]
    assert set(promised) <= set(tried)
    assert PROJECT["requires-python"] == f">={promised[0]}"


def test_the_nightly_workflow_runs_every_part_but_that_of_other_pythons():
    job = WORKFLOWS["nightly"]["jobs"]["nightly"]
    assert [step.get("run") for step in job["steps"]] == [None, ".ci/nightly ${{ matrix.part }}"]
    parts = job["strategy"]["matrix"]["part"]
    assert f"PARTS=({' '.join(parts)} pythons)" in CI["nightly"]
    assert re.findall(r"^#   (\w+) {2,}", CI["nightly"], re.M) == [*parts, "pythons"]
    assert re.findall(r"^part_(\w+)\(\)", CI["nightly"], re.M) == [*parts, "pythons"]


def test_a_part_of_the_nightly_run_names_tests_that_exist():
    """A name that leads nowhere would leave its tests out of the one part without a word in the other."""
    paths = re.findall(r"\btests/[\w/.]+\b", CI["nightly"] + CI["run"])
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_hooks_before_a_commit_download_nothing():
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    for hook in repositories[0]["hooks"]:
        assert hook["language"] == "system"
        command = hook["entry"].split()[0]
        assert command.startswith(".venv/bin/")
        assert command in CI["common.sh"]


def test_the_wheel_has_the_files_that_an_installation_begins_with():
    included = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    files = [ROOT / "config" / "syncd.toml", *(ROOT / "config").rglob("*.example")]
    names = [str(file.relative_to(ROOT)) for file in files]
    wanted = {name: name.replace("config/", "syncd/cli/starter/", 1) for name in names}
    assert included == wanted
