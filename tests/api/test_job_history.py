"""The changes that requests make to a job, each with its time and author, as the operator sees them."""

from datetime import timedelta
from typing import Any

from syncd.domain import Actor, ActorKind
from syncd.service.housekeeping import Refresher
from syncd.store import jobs, keys
from syncd.store.jobs import upsert


def changes(entry: Any) -> dict[str, tuple[Any, Any]]:
    return {change["field"]: (change["before"], change["after"]) for change in entry["changes"]}


async def test_each_change_has_its_author_time_and_both_values(api):
    job = await api.create(referenceId="R")
    path = f"/jobs/{job['id']}"
    api.clock.forward(hours=1)
    _, second = api.store.write(lambda tx: keys.create(tx, api.employer.id, "second system"))
    await api.put(path, {"title": "Sous-chef", "salary": {"amount": 24}}, headers={"API-Key": second})
    await api.put(path, {"title": "Sous-chef"})
    await api.put(path, {"status": "archived"})
    archived, updated, created = (await api.history(job["id"]))["history"]

    assert [entry["action"] for entry in (archived, updated, created)] == ["archived", "updated", "created"]
    assert changes(archived) == {"status": ("active", "archived")}
    assert updated["changedBy"] == {"kind": "key", "id": 2, "label": "second system"}
    assert updated["at"] == "2026-11-16T18:00:00Z"
    assert changes(updated)["title"] == ("Line Cook", "Sous-chef")
    before, after = changes(updated)["salary"]
    assert (before["amount"], after["amount"], after["maxAmount"]) == (job["salary"]["amount"], 24, 25)
    assert created["changedBy"] == {"kind": "key", "id": 1, "label": "test"}
    assert changes(created)["title"] == (None, "Line Cook")
    assert changes(created)["locations"] == (None, [{"description": "Calgary, AB"}])
    assert "salary" in changes(created)
    assert "applicationUrl" not in changes(created)


async def test_all_that_changes_a_job_is_named(api):
    job = await api.create(autoRefresh=True, referenceId="R")
    api.clock.forward(days=8)
    Refresher(api.store, every=timedelta(days=7), archive_closed=True).tick()
    api.store.write(lambda tx: upsert.delete(tx, api.employer.id, job["id"], Actor(ActorKind.OPERATOR)))
    data = (await api.history(job["id"]))["history"]
    assert [(entry["action"], entry["changedBy"]["kind"]) for entry in data] == [
        ("deleted", "operator"),
        ("refreshed", "refresh"),
        ("created", "key"),
    ]
    assert changes(data[1]) == {"publishDate": ("2026-11-16", "2026-11-24")}
    assert changes(data[0])["publishDate"] == ("2026-11-24", None)
    assert changes(data[0])["referenceId"] == ("R", None)
    assert data[0]["changedBy"] == {"kind": "operator", "id": None, "label": None}


async def test_it_comes_in_pages_and_every_page_knows_the_values_of_its_time(api):
    job = await api.create(title="T0")
    for n in range(1, 24):
        await api.put(f"/jobs/{job['id']}", {"title": f"T{n}"})
    pages = [await api.history(job["id"], n) for n in (1, 2, 3, 4)]
    titles = [changes(entry)["title"] for page in pages for entry in page["history"]]
    assert titles == [(f"T{n - 1}", f"T{n}") for n in range(23, 0, -1)] + [(None, "T0")]
    assert pages[0]["historyPaging"] == {"total": 24, "page": 1, "pages": 3, "pageSize": 10}
    assert pages[3]["history"] == []


async def test_the_history_shows_both_addresses(api):
    job = await api.create()
    await api.put(f"/jobs/{job['id']}", {"applicationUrl": "https://x.example/apply"})
    entry = (await api.history(job["id"]))["history"][0]
    assert changes(entry) == {"applicationUrl": (None, "https://x.example/apply")}
    stored = api.store.read(lambda tx: jobs.get(tx, api.employer.id, job["id"]))
    assert stored is not None
    assert stored.application_url == "https://x.example/apply"
