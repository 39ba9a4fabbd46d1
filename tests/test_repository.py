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
GATE = (ROOT / ".ci" / "run").read_text()
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
PAGES = sorted([*(ROOT / ".github").rglob("*.md"), ROOT / "CHANGELOG.md"])
FORMS = sorted(
    set((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")) - {ROOT / ".github/ISSUE_TEMPLATE/config.yml"}
)


def anchors(page: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page, re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_version_is_the_newest_of_the_changelog() -> None:
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert PROJECT["version"] == syncd.__version__ == released[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]+)(?:#([^)]*))?\)", page.read_text()):
        found = page.parent / target
        assert found.exists(), target
        assert not anchor or anchor in anchors(found.read_text()), f"{target}#{anchor}"


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_an_issue_form_has_a_name_and_asks_for_something_under_names_of_its_own(form: Path) -> None:
    content = yaml.safe_load(form.read_text())
    assert content["name"]
    assert content["description"]
    names = [part["id"] for part in content["body"] if part["type"] != "markdown"]
    assert names
    assert len(set(names)) == len(names)


def test_the_workflow_runs_the_gate_on_every_python_that_the_gate_knows() -> None:
    job = WORKFLOW["jobs"]["gate"]
    assert [step.get("run") for step in job["steps"]] == [None, ".ci/run"]
    known = re.search(r"^for version in ([\d. ]+);", GATE, re.M)
    assert known
    assert job["strategy"]["matrix"]["python"] == known[1].split()


def test_every_python_that_is_promised_is_tried() -> None:
    promised = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)]
    assert set(promised) <= set(WORKFLOW["jobs"]["gate"]["strategy"]["matrix"]["python"])
    assert PROJECT["requires-python"] == f">={promised[0]}"


def test_the_hooks_before_a_commit_download_nothing() -> None:
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    for hook in repositories[0]["hooks"]:
        assert hook["language"] == "system"
        command = hook["entry"].split()[0]
        assert command.startswith(".venv/bin/")
        assert command in GATE


def test_the_wheel_has_the_files_that_an_installation_begins_with() -> None:
    included = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    files = [ROOT / "config" / "syncd.toml", *(ROOT / "config").rglob("*.example")]
    names = [str(file.relative_to(ROOT)) for file in files]
    wanted = {name: name.replace("config/", "syncd/cli/starter/", 1) for name in names}
    assert included == wanted
