"""The shipped Canadian places: loaded into the table ``place`` when their file is new to the store; found
ones remembered."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files

from syncd.domain import Location
from syncd.store.engine import Session
from syncd.store.places import place_key

_SETTING = "gazetteer"


class Gazetteer:
    """The shipped places that were asked for. They never change while a store is open, so they are kept;
    there are at most as many keys as shipped places and aliases, each with and without its province."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str | None], Location] = {}

    def get(self, key: str, province: str | None) -> Location | None:
        return self._found.get((key, province))

    def keep(self, key: str, province: str | None, location: Location) -> None:
        self._found[key, province] = location


def load(session: Session) -> None:
    """Bring the table up to the shipped file. Does nothing if it is: that costs a millisecond. Never removes
    a place."""
    content = (files("syncd.store") / "data" / "places_ca.tsv").read_bytes()
    digest = sha256(content).hexdigest()
    if _loaded(session) == digest:
        return
    session.begin()
    session.driver.executemany(
        "INSERT INTO place (id, name, province, key, population) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET name = excluded.name, province = excluded.province,"
        " key = excluded.key, population = excluded.population",
        [_row(line) for line in content.decode().splitlines()],
    )
    session.driver.execute(
        "INSERT INTO setting (name, value) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (_SETTING, digest),
    )
    session.commit()


def _loaded(session: Session) -> str | None:
    row = session.driver.execute("SELECT value FROM setting WHERE name = ?", (_SETTING,)).fetchone()
    return row[0] if row else None


def _row(line: str) -> tuple[object, ...]:
    place_id, name, province, population = line.split("\t")
    return int(place_id), name, province, place_key(name), int(population)
