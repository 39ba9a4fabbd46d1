"""The shipped Canadian places: loaded into the table ``place`` when their file is new to the store."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files

from syncd.store import facts
from syncd.store.database import Session
from syncd.store.places import place_key
from syncd.store.statements import replacing
from syncd.store.tables import PlaceRow
from syncd.store.transactions import Tx

#: The setting that holds the digest of the file that was loaded.
_SETTING = "gazetteer"
_PUT = replacing(PlaceRow)


def load(session: Session, tx: Tx) -> None:
    """Bring the table up to the shipped file. Never removes a place. If the file was loaded before nothing happens,
    which costs a millisecond."""
    content = (files("syncd.store") / "data" / "places_ca.tsv").read_bytes()
    digest = sha256(content).hexdigest()
    if facts.get(tx, _SETTING) == digest:
        return
    session.begin()
    tx.many(_PUT, map(_row, content.decode().splitlines()))
    facts.put(tx, _SETTING, digest)
    session.commit()


def _row(line: str) -> tuple[object, ...]:
    place_id, name, province, population = line.split("\t")
    return int(place_id), name, province, place_key(name), int(population), None
