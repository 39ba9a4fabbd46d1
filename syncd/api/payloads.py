"""The JSON of answers (docs/specification.md 2.1 to 2.8), from the table of a job's fields. No other module knows it.

The objects of catalogue entries are made once and shared between answers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from syncd import domain
from syncd.domain import Catalogue, Employer, FieldKind, Job, JobField
from syncd.store import jobs

encode = msgspec.json.Encoder(decimal_format="number").encode
Shape = dict[str, Any]
#: Value of a field → value for the encoder.
Render = Callable[[Any], object]


class CatalogueResource(NamedTuple):
    """One catalogue. ``catalogue`` is its name in the domain (``JobField.catalogue``), ``schema`` the name of an entry in
    the OpenAPI document, ``plural`` the name of all entries there, ``about`` the same in words."""

    catalogue: str
    schema: str
    plural: str
    about: str

    @property
    def path(self) -> str:
        return f"/{self.plural.lower()}"


CATALOGUES = (
    CatalogueResource("position_types", "PositionType", "PositionTypes", "position types"),
    CatalogueResource("categories", "Category", "Categories", "job categories"),
    CatalogueResource("periods", "SalaryPeriod", "SalaryPeriods", "salary periods"),
    CatalogueResource(
        "routing_types", "ApplicantRoutingType", "ApplicantRoutingTypes", "applicant routing types"
    ),
)
#: Name of a catalogue in the domain → name of the schema of its entries.
SCHEMAS = {resource.catalogue: resource.schema for resource in CATALOGUES}


class CatalogueShapes(dict[int | None, Shape | None]):
    """The objects of the entries of one catalogue, by id. An id that the configuration no longer has gets an empty name."""

    def __init__(self, catalogue: Catalogue, name: str) -> None:
        members = ("id", *domain.SHOWN_MEMBERS[name])
        entries = catalogue.entries(name).items()
        super().__init__(
            {id: {member: getattr(entry, member) for member in members} for id, entry in entries}
        )
        self[None] = None

    def __missing__(self, id: int) -> Shape:
        return {"id": id, "name": ""}


ShapesByCatalogue = Mapping[str, CatalogueShapes]


def _choice(field: JobField, catalogues: ShapesByCatalogue) -> Render:
    return catalogues[field.catalogue].__getitem__


def _choices(field: JobField, catalogues: ShapesByCatalogue) -> Render:
    shape = _choice(field, catalogues)
    return lambda ids: [shape(id) for id in ids]


def _salary(_field: JobField, catalogues: ShapesByCatalogue) -> Render:
    shape = _object([member.name for member in domain.SALARY_MEMBERS], domain.SALARY_MEMBERS, catalogues)
    return lambda salary: None if salary is None else shape(salary)


#: The kinds that need a function. (The encoder writes a date as ISO text, a status as its value, and a location as an
#: object with its members.)
_BY_KIND: Mapping[FieldKind, Callable[[JobField, ShapesByCatalogue], Render]] = {
    FieldKind.AMOUNT: lambda _field, _catalogues: domain.exact,
    FieldKind.CHOICE: _choice,
    FieldKind.CHOICES: _choices,
    FieldKind.SALARY: _salary,
}
#: The attributes of members that are not in FIELDS. A Job has no employer: ``id`` only keeps the place of that member.
_READ_ONLY = {"id": "id", "employer": "id", "publishDate": domain.CHANGEABLE["publishDate"]}


def _object(
    names: Sequence[str], fields: Iterable[JobField], catalogues: ShapesByCatalogue
) -> Callable[[Any], Any]:
    """Return a function that makes a struct with the members ``names`` from a value with the attributes of ``fields``."""
    known = {field.name: field for field in fields if field.name in names}
    attributes = {**_READ_ONLY, **{name: field.attribute for name, field in known.items()}}
    values, struct = attrgetter(*(attributes[name] for name in names)), msgspec.defstruct("Object", names)
    place = {name: number for number, name in enumerate(names)}
    renders = [(place[n], _BY_KIND[f.kind](f, catalogues)) for n, f in known.items() if f.kind in _BY_KIND]

    def shape(value: object) -> Any:
        members = [*values(value)]
        for at, render in renders:
            members[at] = render(members[at])
        return struct(*members)

    return shape


class Renderer:
    """Renders answers with the names of one catalogue. ``shapes``: the objects of its entries, also of retired ones."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.shapes = {r.catalogue: CatalogueShapes(catalogue, r.catalogue) for r in CATALOGUES}
        self._job = _object(domain.JOB_MEMBERS, domain.FIELDS, self.shapes)
        self._header = _object(domain.HEADER_MEMBERS, domain.FIELDS, self.shapes)

    def job(self, job: Job | jobs.JobView, employer: Employer) -> bytes:
        """Return a whole Job (docs/specification.md 2.1). An address that its routing type does not use is null."""
        shape = self.shape(job, employer)
        for address in domain.ADDRESSES:
            if address.routing != job.routing:
                setattr(shape, address.name, None)
        return encode(shape)

    def shape(self, job: Job | jobs.JobView, employer: Employer) -> Any:
        """Return the same as a struct, with both addresses."""
        shape = self._job(job)
        shape.employer = {"id": employer.id, "name": employer.name}
        return shape

    def page(
        self, views: Iterable[Job | jobs.JobView], employer: Employer, paging: Mapping[str, object]
    ) -> bytes:
        """Return a page of job headers with its paging object (docs/specification.md 2.7 and 2.8)."""
        owner = {"id": employer.id, "name": employer.name}
        data = [self._header(job) for job in views]
        for shape in data:
            shape.employer = owner
        return encode({"data": data, "paging": paging})
