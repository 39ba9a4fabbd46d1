"""Job → the bytes of an answer (specification, 2.1 to 2.8). Only here are the shapes of answers known.

Catalogue objects are made once and shared between answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from syncd.domain.catalog import Catalog, Entry, Period
from syncd.domain.fields import exact
from syncd.domain.job import Employer, Job, Location, Salary
from syncd.domain.job_fields import Routing
from syncd.store.jobs import Header, Shown

encode = msgspec.json.Encoder(decimal_format="number").encode

Shape = dict[str, Any]


class Renderer:
    """Renders with the names of one catalogue."""

    def __init__(self, catalog: Catalog) -> None:
        self._categories = _shapes(catalog.categories)
        self._position_types = _shapes(catalog.position_types)
        self._routing_types = _shapes(catalog.routing_types)
        self._periods = _shapes(catalog.periods)
        kinds: dict[str, Mapping[int, Entry] | Mapping[int, Period]] = {
            "positiontypes": catalog.position_types,
            "categories": catalog.categories,
            "salaryperiods": catalog.periods,
            "applicantroutingtypes": catalog.routing_types,
        }
        self._lists = {kind: _offered(entries) for kind, entries in kinds.items()}
        self._entries = {kind: _bytes(_shapes(entries)) for kind, entries in kinds.items()}

    def job(self, job: Job | Shown, employer: Employer) -> bytes:
        """A whole Job (2.1). Of the two application addresses only the one in force is shown."""
        return encode(self.shape(job, employer))

    def shape(self, job: Job | Shown, employer: Employer) -> Shape:
        """The same, not yet bytes."""
        return {
            "id": job.id,
            "referenceId": job.reference_id,
            "employer": {"id": employer.id, "name": employer.name},
            "title": job.title,
            "publishDate": job.publish_date,
            "closeDate": job.close_date,
            "confidential": job.confidential,
            "autoRefresh": job.auto_refresh,
            "status": job.status.value,
            "locations": [_location(place) for place in job.locations],
            "categories": [_entry(self._categories, id) for id in job.categories],
            "positionType": _entry(self._position_types, job.position_type),
            "salary": None if job.salary is None else self._salary(job.salary),
            "description": job.description,
            "applicantRoutingType": _entry(self._routing_types, job.routing),
            "applicationEmail": job.application_email if job.routing == Routing.EMAIL else None,
            "applicationUrl": job.application_url if job.routing == Routing.URL else None,
        }

    def page(self, jobs: Iterable[Header | Job], employer: Employer, paging: Mapping[str, object]) -> bytes:
        """One page of job headers (2.7) with its paging object (2.8)."""
        owner = {"id": employer.id, "name": employer.name}
        return encode({"data": [_header(job, owner) for job in jobs], "paging": paging})

    def catalogue(self, kind: str) -> bytes:
        """The list of ``kind`` (positiontypes, categories, salaryperiods, applicantroutingtypes), without what is
        retired."""
        return self._lists[kind]

    def catalogue_entry(self, kind: str, id: int) -> bytes | None:
        """One entry of it, retired ones too."""
        return self._entries[kind].get(id)

    def location(self, place: Location) -> bytes:
        return encode(_location(place))

    def locations(self, places: Iterable[Location], paging: Mapping[str, object]) -> bytes:
        return encode({"data": [_location(place) for place in places], "paging": paging})

    def _salary(self, salary: Salary) -> Shape:
        return {
            "amount": exact(salary.amount),
            "maxAmount": exact(salary.max_amount),
            "period": None if salary.period is None else self._periods[salary.period],
            "plusCommission": salary.plus_commission,
        }


def _header(job: Header | Job, owner: Shape) -> Shape:
    return {
        "id": job.id,
        "referenceId": job.reference_id,
        "employer": owner,
        "title": job.title,
        "publishDate": job.publish_date,
        "locations": [_location(place) for place in job.locations],
        "confidential": job.confidential,
        "status": job.status.value,
    }


def _location(place: Location) -> Shape:
    return {"id": place.id, "name": place.name, "description": place.description, "type": place.type}


def _shapes(entries: Mapping[int, Entry] | Mapping[int, Period]) -> dict[int, Shape]:
    return {id: _catalogue_shape(entry) for id, entry in entries.items()}


def _catalogue_shape(entry: Entry | Period) -> Shape:
    unit = {"unit": entry.unit} if isinstance(entry, Period) else {}
    return {"id": entry.id, "name": entry.name, **unit}


def _bytes(shapes: Mapping[int, Shape]) -> dict[int, bytes]:
    return {id: encode(shape) for id, shape in shapes.items()}


def _offered(entries: Mapping[int, Entry] | Mapping[int, Period]) -> bytes:
    """The list of those that are not retired."""
    return encode({"data": [_catalogue_shape(entry) for entry in entries.values() if not entry.retired]})


def _entry(shapes: Mapping[int, Shape], id: int | None) -> Shape | None:
    """The catalogue's object; an id that the configuration no longer has is shown without a name rather than
    not at all."""
    return None if id is None else shapes.get(id) or {"id": id, "name": ""}
