"""The case tables (docs/reconciliation.md "The case table"): the code decides each cell as the document shows it."""

import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from syncd.domain import (
    ArchivedBy,
    CloseOrigin,
    Employer,
    Job,
    JobInput,
    Location,
    Moment,
    Ownership,
    Policy,
    Reject,
    RowDecision,
    Status,
    Update,
    decide_missing,
    decide_row,
)
from syncd.sync.run.applier import is_own

TEXT = (Path(__file__).parents[2] / "docs" / "reconciliation.md").read_text(encoding="utf-8")
TODAY = date(2026, 11, 21)
NOW = Moment(datetime(2026, 11, 21, 15, 0, tzinfo=UTC), TODAY)
EMPLOYER, FEED, OTHER_FEED = 9, 5, 6
BODY = {
    "referenceId": "A-1",
    "title": "Welder",
    "locations": (Location(1, "Laval", "Laval, QC"),),
    "categories": (28,),
    "positionType": 1,
    "description": "<p>Weld.</p>",
    "applicantRoutingType": 1,
    "applicationEmail": "jobs@example.com",
}
Cell = tuple[str, str, str]


def in_days(days: int) -> date:
    return TODAY + timedelta(days=days)


def job(
    status: Status = Status.ACTIVE,
    by: ArchivedBy | None = None,
    days: int = 60,
    origin: CloseOrigin = CloseOrigin.DEFAULT,
) -> Job:
    """A stored job as BODY creates it, with ``days`` left until its close date."""
    made = decide_row(None, JobInput(BODY), NOW, employer_id=EMPLOYER, feed_id=FEED,
                      ownership=Ownership(), policy=Policy()).decision  # fmt: skip
    assert made is not None
    assert not isinstance(made, Reject)
    changed = {"status": status, "archived_by": by, "close_date": in_days(days), "close_origin": origin}
    return replace(made.job, id=1, version=1, **changed)


def archived(by: ArchivedBy, days: int = 60, origin: CloseOrigin = CloseOrigin.DEFAULT) -> Job:
    return job(Status.ARCHIVED, by, days, origin)


#: Label of a line → the job that a row meets.
JOBS: dict[str, Job | None] = {
    "not there": None,
    "active": job(),
    "active, default date, 20 days": job(days=20),
    "active, chosen date, 20 days": job(days=20, origin=CloseOrigin.CHOSEN),
    "active, chosen date, late": job(days=-1, origin=CloseOrigin.CHOSEN),
    "draft": job(Status.DRAFT),
    "archived by a person": archived(ArchivedBy.PERSON),
    "archived as missing": archived(ArchivedBy.MISSING),
    "archived as missing, late": archived(ArchivedBy.MISSING, -1, CloseOrigin.CHOSEN),
    "closed, default date": archived(ArchivedBy.CLOSED, -1),
    "closed, chosen date": archived(ArchivedBy.CLOSED, -1, CloseOrigin.CHOSEN),
    "archived by its row's date": archived(ArchivedBy.EXPIRED, -1, CloseOrigin.CHOSEN),
}
#: Label of a column → what the row sends beside BODY.
ROWS: dict[str, dict[str, object]] = {
    "none": {},
    "today or later": {"closeDate": in_days(40)},
    "passed": {"closeDate": in_days(-3)},
    "active": {"status": Status.ACTIVE},
    "archived": {"status": Status.ARCHIVED},
    "draft": {"status": Status.DRAFT},
}
OWNERS = {"this feed": FEED, "no feed": None, "another feed": OTHER_FEED}
TAKE_OVER = {"take_over = false": False, "take_over = true": True}
MISSED = {"active": job(), "draft": job(Status.DRAFT), "archived": archived(ArchivedBy.PERSON)}
#: Label of a column → the owner of the job, and whether the feed owns all jobs of its employer.
REACH: dict[str, tuple[int | None, bool]] = {
    "owned by this feed": (FEED, False),
    "owned by another feed": (OTHER_FEED, False),
    "owned by no feed": (None, False),
    'owns = "employer"': (OTHER_FEED, True),
}


def tables() -> list[dict[tuple[str, str], str]]:
    """The tables that are drawn in the document, in order: (label of the line, label of the column) → cell."""
    found = []
    for block in re.findall(r"^```\n(.*?)^```$", TEXT, re.S | re.M):
        lines = [[cell.strip() for cell in line.split("|")] for line in block.splitlines()]
        if len(lines) > 2 and set(block.splitlines()[1]) == {"-", "+"}:
            head, _, *rest = lines
            found.append(
                {
                    (line[0], name): cell
                    for line in rest
                    for name, cell in zip(head[1:], line[1:], strict=True)
                }
            )
    return found


TABLES = tables()
BY_DATE, BY_STATUS, BY_OWNER, NOT_NAMED = TABLES


def cells(*which: dict[tuple[str, str], str]) -> list[Cell]:
    return [(line, column, cell) for table in which for (line, column), cell in table.items()]


def decided(current: Job | None, sent: dict[str, object], owner: int | None, policy: Policy) -> RowDecision:
    return decide_row(current, JobInput(BODY | sent), NOW, employer_id=EMPLOYER, feed_id=FEED,
                      ownership=Ownership(owner), policy=policy)  # fmt: skip


@pytest.mark.parametrize(("table", "lines", "columns"), [
    (BY_DATE, JOBS, ["none", "today or later", "passed"]),
    (BY_STATUS, JOBS, ["active", "archived", "draft"]),
    (BY_OWNER, OWNERS, TAKE_OVER),
    (NOT_NAMED, MISSED, REACH),
])  # fmt: skip
def test_a_table_has_a_cell_for_each_case(table, lines, columns):
    assert list(table) == [(line, column) for line in lines for column in columns]


@pytest.mark.parametrize(("line", "column", "cell"), cells(BY_DATE, BY_STATUS))
def test_a_row_does_to_its_job_what_the_table_shows(line, column, cell):
    current = JOBS[line]
    row = decided(current, ROWS[column], None if current is None else FEED, Policy())
    after = current if row.decision is None or isinstance(row.decision, Reject) else row.decision.job
    renewed = after is not None and after.close_origin is CloseOrigin.RENEWED
    shown = f"{row.action} -> {'none' if after is None else after.status}{' +60' if renewed else ''}"
    assert shown == cell
    if renewed:
        assert after is not None
        assert after.close_date == in_days(60)
    assert row.archives == (
        current is not None and current.status is Status.ACTIVE and cell.endswith("-> archived")
    )


@pytest.mark.parametrize(("line", "column", "cell"), cells(BY_OWNER))
def test_the_owner_of_a_job_decides_who_may_write_to_it(line, column, cell):
    row = decided(job(), {"title": "Fitter"}, OWNERS[line], Policy(take_over=TAKE_OVER[column]))
    written = not isinstance(row.decision, Reject)
    assert f"{'written' if written else 'rejected'}, {'owned' if row.owns else 'not owned'}" == cell


@pytest.mark.parametrize(("line", "column", "cell"), cells(NOT_NAMED))
def test_a_job_that_was_not_named_ends_as_the_table_shows(line, column, cell):
    owner, employer_wide = REACH[column]
    feed: Any = SimpleNamespace(id=FEED, employer=Employer(EMPLOYER, "Acme"), employer_wide=employer_wide)
    goes = is_own(feed, MISSED[line], Ownership(owner)) and isinstance(decide_missing(MISSED[line]), Update)
    assert ("archived" if goes else "stays") == cell
