"""The shipped file of Canadian places, ``syncd/data/places_ca.tsv``; the README beside it has its source.

The store loads it into its catalogue, and feeds know by it which bare names are Canadian places."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple


class ShippedPlace(NamedTuple):
    """One place of the file. ``id`` is that of GeoNames."""

    id: int
    name: str
    province: str
    population: int


def content() -> bytes:
    """Return the file's bytes."""
    return (files("syncd") / "data" / "places_ca.tsv").read_bytes()


def places_in(content: bytes) -> Iterator[ShippedPlace]:
    """Yield the places of the file, the most populous first."""
    for line in content.decode().splitlines():
        place_id, name, province, population = line.split("\t")
        yield ShippedPlace(int(place_id), name, province, int(population))
