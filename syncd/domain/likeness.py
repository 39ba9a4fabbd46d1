"""What two postings have in common that are one posting under two ids (docs/reconciliation.md "Like postings")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from syncd.domain.catalogue import Catalogue
from syncd.domain.field_readers import READERS
from syncd.domain.job import Job, Location, Place
from syncd.domain.text import fold

#: The fields that show whether two postings are alike.
_READ = ("title", "locations", "applicationUrl")

#: What a row says of its job, in values that any process can send: title, city and province of each place, URL.
Outline = tuple[str | None, tuple[tuple[str, str | None], ...], str | None]


class Likeness(NamedTuple):
    """Two postings are alike that have one of these in common: ``url``, the page on which candidates apply, or ``text``,
    title and places without case and accents. None: it is not known."""

    url: str | None
    text: str | None


def likeness(job: Job) -> Likeness:
    return likeness_of(job.title, job.locations, job.application_url)


def likeness_of(title: str | None, places: Iterable[Location], url: str | None) -> Likeness:
    """Return the likeness of what has this title, these places as the catalogue has them, and this URL."""
    where = sorted(fold(place.description) for place in places)
    return Likeness(url, "\n".join([fold(title), *where]) if title and where else None)


def outline(body: object, catalogue: Catalogue) -> Outline:
    """Return what can be read of a body, whatever else is wrong with it."""
    if not isinstance(body, dict):
        return None, (), None
    title, places, url = (READERS[name](body.get(name), catalogue, []) for name in _READ)
    found = places if isinstance(places, tuple) else ()
    return (
        title if isinstance(title, str) else None,
        tuple((place.city, place.province) for place in found if isinstance(place, Place)),
        url if isinstance(url, str) else None,
    )
