"""The data files that ship with the program, in ``syncd/data``: Canadian places, and the entries of the catalogues. The README
beside them describes both."""

from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple


class ShippedPlace(NamedTuple):
    """One place of the file. ``id`` is that of GeoNames."""

    id: int
    name: str
    province: str
    population: int


class ShippedEntry(NamedTuple):
    """One entry of a catalogue, with the other names that feeds use for it. Only a salary period has a ``unit``."""

    id: int
    name: str
    unit: str
    other_names: tuple[str, ...]


def place_file() -> bytes:
    return _content("places_ca.tsv")


def places_in(content: bytes) -> Iterator[ShippedPlace]:
    """Yield the places of the file, the most populous first."""
    for line in content.decode().splitlines():
        place_id, name, province, population = line.split("\t")
        yield ShippedPlace(int(place_id), name, province, int(population))


def catalogue_entries() -> dict[str, list[ShippedEntry]]:
    """Return name of a catalogue → its entries, in the order of their ids."""
    catalogues: dict[str, list[ShippedEntry]] = {}
    for line in _content("catalogues.tsv").decode().splitlines():
        catalogue, entry_id, name, unit, others = line.split("\t")
        entry = ShippedEntry(int(entry_id), name, unit, tuple(others.split("|")))
        catalogues.setdefault(catalogue, []).append(entry)
    return catalogues


def _content(name: str) -> bytes:
    return (files("syncd") / "data" / name).read_bytes()
