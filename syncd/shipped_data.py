"""The data files that ship with the program, in ``syncd/data``: Canadian places, and the entries of the catalogues. The README
beside them describes both."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import NamedTuple


class ShippedPlace(NamedTuple):
    """One place of the file. ``id`` is that of GeoNames."""

    id: int
    name: str
    province: str
    population: int


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """An entry of a catalogue. ``unit``, of a salary period only: the time that one amount pays for (Year … Hour).
    ``other_names`` are used in feeds. ``retired``: valid on old jobs, no longer offered."""

    id: int
    name: str
    unit: str = ""
    other_names: tuple[str, ...] = field(default=(), compare=False)
    retired: bool = False


def place_file() -> bytes:
    return _content("places_ca.tsv")


def places_in(content: bytes) -> Iterator[ShippedPlace]:
    """Yield the places of the file, the most populous first."""
    for line in content.decode().splitlines():
        place_id, name, province, population = line.split("\t")
        yield ShippedPlace(int(place_id), name, province, int(population))


def catalogue_entries() -> dict[str, dict[int, CatalogueEntry]]:
    """Return name of a catalogue → id → entry, in the order of their ids."""
    catalogues: dict[str, dict[int, CatalogueEntry]] = {}
    for line in _content("catalogues.tsv").decode().splitlines():
        catalogue, entry_id, name, unit, others = line.split("\t")
        entry = CatalogueEntry(int(entry_id), name, unit, tuple(others.split("|")))
        catalogues.setdefault(catalogue, {})[entry.id] = entry
    return catalogues


def _content(name: str) -> bytes:
    return (files("syncd") / "data" / name).read_bytes()
