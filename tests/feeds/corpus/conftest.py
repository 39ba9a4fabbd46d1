"""A service in which a feed is drafted from a file, and its files are imported, on 1 December 2026 in Toronto."""

import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from syncd.config import Settings
from syncd.feeds.toml_text import value as toml
from syncd.service import stores
from syncd.store import Store
from tests.clock import Clock
from tests.e2e.conftest import Installation, acme, cli, installation  # noqa: F401 - fixtures

NOON = datetime(2026, 12, 1, 17, tzinfo=UTC)
FEED = "drafted"


class Feeds:
    """The ``service`` has one feed, ``drafted``."""

    def __init__(self, service: Installation) -> None:
        self.run = service.run
        self.toml = service.feeds / f"{FEED}.toml"

    def draft(self, file: Path) -> Any:
        """Return the result of ``feed new``, which drafts the feed from the file."""
        return self.run("feed", "new", FEED, "--from", file, "--force")

    def edit(self, edits: str) -> None:
        """Put values into the feed's file: a field, a lookup's line, another key or table."""
        tables = merged(tomllib.loads(self.toml.read_text()), tomllib.loads(edits))
        self.toml.write_text("\n".join(f"{key} = {toml(part)}" for key, part in tables.items()))

    def deliver(self, file: Path) -> dict[str, Any]:
        """Import a file; return its run as JSON, with its rows and warnings."""
        self.run("import", file, "--feed", FEED)
        last = max(run["id"] for run in self.run("runs", "--json").json)
        return dict(self.run("runs", "show", last, "--json").json)

    def jobs(self) -> dict[str, dict[str, Any]]:
        listed = self.run("export", "--employer", "1", "--format", "json").json
        return {job["referenceId"]: shown(job) for job in listed}


def merged(old: Mapping[str, Any], new: Mapping[str, Any], *, deep: bool = True) -> dict[str, Any]:
    """Return both tables in one, with tables of both merged alike; a field or a rule is that of ``new``."""
    tables = {key for key in old.keys() & new.keys() if deep and isinstance(old[key], dict)}
    return {**old, **new, **{key: merged(old[key], new[key], deep=key == "lookup") for key in tables}}


def shown(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a job in short: names and descriptions without ids, the pay as a text."""
    names = {
        "positionType": job["positionType"]["name"],
        "applicantRoutingType": job["applicantRoutingType"]["name"],
    }
    listed = {
        "categories": [each["name"] for each in job["categories"]],
        "locations": [each["description"] for each in job["locations"]],
    }
    apply = job["applicationUrl"] or job["applicationEmail"]
    return {**job, **names, **listed, "salary": pay(job["salary"]), "apply": apply}


def pay(salary: Mapping[str, Any] | None) -> str | None:
    """Return "31.5-33.5 Hourly", with " + commission" where the job earns it; None: no pay."""
    if salary is None:
        return None
    amounts = [f"{salary[name]:g}" for name in ("amount", "maxAmount") if salary[name] is not None]
    parts = [
        "-".join(amounts),
        (salary["period"] or {}).get("name"),
        "+ commission" if salary["plusCommission"] else "",
    ]
    return " ".join(filter(None, parts))


@pytest.fixture
def feeds(acme: Installation, monkeypatch: pytest.MonkeyPatch) -> Feeds:  # noqa: F811
    def open_store(settings: Settings, *, exclusive: bool = False) -> Store:
        return Store.open(
            settings.store.url, timezone=settings.timezone, clock=Clock(NOON), exclusive=exclusive
        )

    monkeypatch.setattr(stores, "open_store", open_store)
    return Feeds(acme)
