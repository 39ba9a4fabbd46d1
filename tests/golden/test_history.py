"""The history of jobs, as rows and as `jobs show` has it, and the other rows of the store."""

import json

import pytest

from tests.golden.answers import JOBS
from tests.golden.golden import same, same_json
from tests.golden.rows import rows

#: Table → the order of its rows.
TABLES = {
    "employer": "id",
    "api_key": "id",
    "counter": "name",
    "setting": "name",
    "job": "id",
    "job_total": "employer_id, status",
    "feed": "id",
    "feed_job": "job_id",
    "feed_sent": "job_id",
    "feed_miss": "feed_id, job_id",
    "run": "id",
    "run_plan": "run_id",
    "run_unknown": "run_id",
    "run_rejected": "id",
    "run_warning": "id",
    "reply": "key_id, idempotency_key",
}
#: Every name that the old values of a job may have.
NAMES = {
    *(
        "referenceId",
        "title",
        "closeDate",
        "confidential",
        "autoRefresh",
        "status",
        "locations",
        "categories",
    ),
    *("positionType", "salary", "description", "applicantRoutingType", "applicationEmail", "applicationUrl"),
    *("publishDate", "publishedAt", "closeOrigin", "archivedBy"),
}
ACTIONS = {"created", "updated", "archived", "deleted", "reactivated", "refreshed", "closed", "published"}


def test_the_history_as_rows(scenario):
    found = rows(scenario.end, "history", "id")
    same_json("rows/history.json", found)
    assert {name for row in found for name in json.loads(row["before"] or "{}")} == NAMES
    assert {row["action"] for row in found} == ACTIONS
    assert {row["actor"] for row in found} == {"key", "run", "refresh", "close", "operator"}


@pytest.mark.parametrize("table", TABLES)
def test_the_rows_of(scenario, table):
    same_json(f"rows/{table}.json", rows(scenario.end, table, TABLES[table]))


def test_the_plans_of_held_runs(scenario):
    """The digests of each plan, as stored before the decision."""
    same_json("rows/held.json", scenario.plans)


def test_the_places_that_jobs_added(scenario):
    same_json("rows/place.json", rows(scenario.end, "place", "id", "employer_id IS NOT NULL"))


def history_of(shown):
    steps = [json.dumps({**step, "requestId": None}, ensure_ascii=False) for step in shown.json["history"]]
    return f"### {shown.json['id']}\n" + "\n".join(steps) + "\n"


def test_the_history_of_each_job(installed):
    """Also of jobs that were deleted."""
    shown = (installed.installation.run("jobs", "show", job_id, "--json") for job_id in JOBS if job_id != 33)
    same("history.txt", "".join(map(history_of, shown)))
