"""Exports of real systems, and odd files: the jobs that go live are those that the employer meant.

Beside each file, NAME.csv, is NAME.expected.json, written by hand:

    {"system": "…", "odd": false,
     "draft": "unaided", or "edit" with "edits" (TOML), "decide" (what a person decides) and "draft_says", or "none" with "toml",
     "refused": words of the message where the file cannot be used,
     "jobs": {referenceId: members that matter}, "rejected": {referenceId or "#record": codes},
     "skipped": [records that make no job], "state": of the run, "warnings": [codes],
     "then": {"file": a second delivery, and the same members for what is there after it}}
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.feeds.corpus.conftest import Feeds

#: The corpus, and small files that once went wrong.
FOLDERS = (Path(__file__).parent, Path(__file__).parents[1] / "cases")
EXPECTED = {
    path.name.removesuffix(".expected.json"): path
    for at in FOLDERS
    for path in sorted(at.glob("*.expected.json"))
}
#: Members that an expected job always has.
NEEDED = {"status", "positionType", "locations", "apply"}
MEMBERS = {"system", "odd", "draft", "edits", "draft_says", "toml", "refused", "jobs", "rejected", "skipped"}
MEMBERS |= {"state", "warnings", "then", "file", "decide"}


@cache
def expected(name: str) -> dict[str, Any]:
    return json.loads(EXPECTED[name].read_text())  # type: ignore[no-any-return]


def file_of(name: str) -> Path:
    (path,) = (
        path for path in EXPECTED[name].parent.glob(f"{name}.*") if not path.name.endswith(".expected.json")
    )
    return path


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_brings_in_the_jobs_that_the_employer_meant(name: str, feeds: Feeds) -> None:
    right = expected(name)
    drafted(feeds, file_of(name), right)
    if "jobs" in right:
        delivered(feeds, file_of(name), right)
    if "then" in right:
        delivered(feeds, EXPECTED[name].with_name(right["then"]["file"]), right["then"])


def drafted(feeds: Feeds, file: Path, right: dict[str, Any]) -> None:
    """Make the feed's file, as ``right`` says how."""
    if right["draft"] == "none":
        feeds.toml.write_text('employer = "Acme Ltd."\n' + right["toml"])
        return
    result = feeds.draft(file)
    if "jobs" not in right:
        assert result.code != 0
        assert right["refused"] in result.err
        return
    assert result.code == 0, result.err
    assert right.get("draft_says", "") in " ".join(feeds.toml.read_text().replace("\n# ", " ").split())
    if right["draft"] == "edit":
        feeds.edit(right["edits"])


def delivered(feeds: Feeds, file: Path, right: dict[str, Any]) -> None:
    run = feeds.deliver(file)
    assert "\n".join(wrong(run, feeds.jobs(), right)) == ""


def wrong(run: dict[str, Any], jobs: dict[str, dict[str, Any]], right: dict[str, Any]) -> Iterator[str]:
    """Return each difference of a run and the jobs after it from the right ones."""
    wanted, rejected = right["jobs"], right.get("rejected", {})
    for id in jobs.keys() | wanted.keys():
        if id not in jobs or id not in wanted:
            yield f"{id} is {'missing' if id in wanted else 'a job: ' + jobs[id]['status']}"
            continue
        for name, value in wanted[id].items():
            if name == "description_has":
                if value not in jobs[id]["description"]:
                    yield f"{id}: {value!r} is not in {jobs[id]['description']!r}"
            elif jobs[id][name] != value:
                yield f"{id}: {name} is {jobs[id][name]!r} instead of {value!r}"
    codes = {
        row["referenceId"] or f"#{row['record']}": {error["code"]: error["detail"] for error in row["errors"]}
        for row in run["rejectedRows"]
    }
    for id in codes.keys() | rejected.keys():
        if sorted(codes.get(id, ())) != sorted(filter(None, rejected.get(id, "").split(", "))):
            yield f"{id}: rejected as {codes.get(id)} instead of {rejected.get(id)}"
    state = right.get("state", "partial" if rejected else "succeeded")
    if run["state"] != state:
        yield f"{run['state']} instead of {state}: {run['reason']}"
    if lacking := set(right.get("warnings", ())) - {warning["code"] for warning in run["warnings"]}:
        yield f"no warning {lacking}"
    if right.get("refused", "") not in (run["reason"] or ""):
        yield f"the reason is {run['reason']}"
    if "skipped" in right and len(right["skipped"]) != run["counts"]["expired"] + run["counts"]["filtered"]:
        yield f"{run['counts']} instead of {len(right['skipped'])} skipped"


def test_the_expected_jobs_have_all_that_matters() -> None:
    for name in EXPECTED:
        right = expected(name)
        for each in (right, right.get("then", {})):
            assert each.keys() <= MEMBERS, name
            assert all(job.keys() >= NEEDED for job in each.get("jobs", {}).values()), name
        needs = {"unaided": set(), "edit": {"edits", "draft_says"}, "none": {"toml"}}[right["draft"]]
        assert right["odd"] or right["draft"] == "unaided" or "decide" in right, name
        assert right.keys() >= needs | {"system", "odd"}, name
        assert right.keys() & {"jobs", "refused"}, name
    files = {path.name for path in FOLDERS[0].iterdir() if path.is_file() and path.suffix not in {".py"}}
    used = {path.name for name in EXPECTED for path in (EXPECTED[name], file_of(name))}
    assert files <= used | {expected(name)["then"]["file"] for name in EXPECTED if "then" in expected(name)}


SYSTEMS = [name for name in EXPECTED if not expected(name)["odd"]]


def test_drafts_bring_in_nearly_all_rows_of_many_systems() -> None:
    unaided = [name for name in SYSTEMS if expected(name)["draft"] == "unaided"]
    jobs = {name: len(expected(name)["jobs"]) for name in unaided}
    assert len(unaided) >= 25
    assert sum(jobs[name] for name in unaided) >= 0.95 * sum(jobs.values())


def test_the_guide_lists_each_system() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "feeds.md").read_text()
    assert "".join(map(line, sorted(SYSTEMS, key=lambda name: expected(name)["system"].casefold()))) in guide


def line(name: str) -> str:
    form = file_of(name).suffix[1:].upper()
    decide = expected(name).get("decide")
    return (
        f"| {expected(name)['system']} | {form} | {f'after you decide {decide}' if decide else 'unaided'} |\n"
    )
