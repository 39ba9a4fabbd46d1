"""Facts of the store about itself, by name; among them the catalogue entries that were ever configured."""

from datetime import datetime

import msgspec
from sqlmodel import col, select

from syncd.domain import Catalogue
from syncd.store.model import sql
from syncd.store.model.columns import instant_of, micros, to_json
from syncd.store.model.tables import FactRow
from syncd.store.transactions import Tx

_GET = sql.Statement(select(col(FactRow.value)).where(*sql.matching(FactRow.name)))
_PUT = sql.replacing(FactRow)


def get(tx: Tx, name: str) -> str | None:
    return tx.scalar(_GET, name=name)


def put(tx: Tx, name: str, value: str) -> None:
    tx.run(_PUT, name=name, value=value)


def prove_writable(tx: Tx) -> None:
    """Write something: to run it proves that the store takes writes."""
    put(tx, "health", str(micros(tx.now.instant)))


def last_seen(tx: Tx) -> datetime | None:
    """Return the last time that ``note_seen`` stored; None for a store that has none."""
    value = get(tx, "clock")
    return instant_of(int(value)) if value else None


def note_seen(tx: Tx) -> None:
    put(tx, "clock", str(micros(tx.now.instant)))


# -- the catalogue ---------------------------------------------------------------------------------------------

_CATALOGUE = "catalogue"
#: Kind of the entry → id → name.
_Kinds = dict[str, dict[int, str]]
_decode = msgspec.json.Decoder(_Kinds).decode


def complete_catalogue(tx: Tx, configured: Catalogue) -> Catalogue:
    """Return ``configured`` with all other entries that the store remembers, retired: jobs may have the id of an entry that the
    configuration drops (docs/api.md "Catalogues")."""
    gone = _lacking(_kinds(configured), _remembered(tx))
    return configured.with_retired(**gone)


def remember_catalogue(tx: Tx, catalogue: Catalogue) -> None:
    """Keep every entry that does not ship, under its present name."""
    added = _lacking(_kinds(Catalogue.default()), _kinds(catalogue))
    known = _remembered(tx)
    if added != known and (known or any(added.values())):
        put(tx, _CATALOGUE, to_json(added))


def _lacking(present: _Kinds, others: _Kinds) -> _Kinds:
    """Return for each kind the entries of ``others`` whose ids ``present`` lacks."""
    return {
        kind: {id: name for id, name in others.get(kind, {}).items() if id not in entries}
        for kind, entries in present.items()
    }


def _kinds(catalogue: Catalogue) -> _Kinds:
    return {
        "position_types": {entry.id: entry.name for entry in catalogue.position_types.values()},
        "categories": {entry.id: entry.name for entry in catalogue.categories.values()},
    }


def _remembered(tx: Tx) -> _Kinds:
    value = get(tx, _CATALOGUE)
    return _decode(value) if value else {}
