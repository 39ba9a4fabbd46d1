"""The catalogue entries that were ever configured: one that the configuration drops again is kept, retired,
because jobs may have its id (docs/api.md "Catalogues")."""

from __future__ import annotations

import msgspec

from syncd.domain import Catalogue
from syncd.store import facts
from syncd.store.statements import to_json
from syncd.store.transactions import Tx

_SETTING = "catalogue"
_decode = msgspec.json.Decoder(dict[str, dict[int, str]]).decode


def complete(tx: Tx, configured: Catalogue) -> Catalogue:
    """Return ``configured`` with what else the store remembers, retired."""
    known = _remembered(tx)
    gone = {
        kind: {id: name for id, name in known.get(kind, {}).items() if id not in entries}
        for kind, entries in _kinds(configured).items()
    }
    return configured.extended(
        categories=gone["categories"],
        position_types=gone["position_types"],
        retired_categories=gone["categories"],
        retired_position_types=gone["position_types"],
    )


def remember(tx: Tx, catalogue: Catalogue) -> None:
    """Keep every entry that does not ship, under its present name."""
    shipped = _kinds(Catalogue.default())
    added = {
        kind: {id: name for id, name in entries.items() if id not in shipped[kind]}
        for kind, entries in _kinds(catalogue).items()
    }
    if added == _remembered(tx) or not (any(added.values()) or _remembered(tx)):
        return
    facts.put(tx, _SETTING, to_json(added))


def _kinds(catalogue: Catalogue) -> dict[str, dict[int, str]]:
    return {
        "position_types": {entry.id: entry.name for entry in catalogue.position_types.values()},
        "categories": {entry.id: entry.name for entry in catalogue.categories.values()},
    }


def _remembered(tx: Tx) -> dict[str, dict[int, str]]:
    value = facts.get(tx, _SETTING)
    return _decode(value) if value else {}
