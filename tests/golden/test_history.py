"""The old values that the history keeps, and what the store keeps of a run: as rows, and as the API answers them."""

from __future__ import annotations

import json

import pytest

from tests.golden.answers import histories, transcript
from tests.golden.golden import same, same_json
from tests.golden.rows import rows
from tests.golden.story import Story

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
#: All that the history can say of a job.
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


def test_the_history_as_rows(story: Story):
    found = rows(story.installation.database, "history", "id")
    same_json("rows/history.json", found)
    assert {name for row in found for name in json.loads(row["before"] or "{}")} == NAMES
    assert {row["action"] for row in found} == ACTIONS
    assert {row["actor"] for row in found} == {"key", "run", "refresh", "close", "operator"}


@pytest.mark.parametrize("table", TABLES)
def test_the_rows_of(story: Story, table: str):
    same_json(f"rows/{table}.json", rows(story.installation.database, table, TABLES[table]))


def test_what_held_runs_wait_with(story: Story):
    """The digests of their plans, as they were before anything was decided."""
    same_json("rows/held.json", story.plans)


def test_the_places_that_jobs_added(story: Story):
    same_json("rows/place.json", rows(story.installation.database, "place", "id", "employer_id IS NOT NULL"))


def test_the_history_as_answered(told: Story):
    with told.installation.api() as api:
        same("history.txt", transcript(histories(api, told.keys)))
