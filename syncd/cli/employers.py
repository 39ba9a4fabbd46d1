"""``syncd employer …``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from syncd.cli.output import print_json, print_table
from syncd.cli.store_access import opened_store
from syncd.config import load_settings
from syncd.domain import Employer
from syncd.store import employers


def add_employer(config: Path | None, as_json: bool, name: str, plan: str) -> None:
    with opened_store(load_settings(config), make=True) as store:
        employer = store.write(lambda tx: employers.add(tx, name, plan == "unlimited"))
    if as_json:
        print_json(_employer(employer))
    else:
        print(f"employer {employer.id}: {employer.name} ({plan})")


def list_employers(config: Path | None, as_json: bool) -> None:
    with opened_store(load_settings(config)) as store:
        found = store.read(employers.all)
    if as_json:
        print_json([_employer(employer) for employer in found])
        return
    rows = [(employer.id, employer.name, _plan(employer)) for employer in found]
    print_table(("id", "name", "plan"), rows, 'no employers yet; add one: syncd employer add "NAME"')


def _plan(employer: Employer) -> str:
    return "unlimited" if employer.unlimited else "standard"


def _employer(employer: Employer) -> dict[str, Any]:
    return {"id": employer.id, "name": employer.name, "plan": _plan(employer)}
