"""The schemas of bodies, from the table of fields that the checks use too. Programs generate clients from them, so they have no
``default`` (a client would send it, also in an update), no ``const``, no ``if``, and no alternatives but null. The other rules
are in words: entries of catalogues, dependencies, HTML, comparisons of dates and amounts, rules of the merged job."""

from collections.abc import Callable, Iterable, Mapping

from syncd import domain
from syncd.api.openapi.schemas import INT32, Schema, listed, nullable, number, optional, ref
from syncd.api.payloads import SCHEMAS
from syncd.domain import Catalogue, FieldKind, JobField, Needed, Status

_CONTROL = r"\u0000-\u001f\u007f-\u009f\ufffe\uffff"
_CONTROL_IN_TEXT = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufffe\uffff"
_IGNORED: Schema = {"description": "Read-only: ignored."}
_HTML: Schema = {
    "type": ["string", "null"],
    "contentMediaType": "text/html",
    "pattern": rf"^[^{_CONTROL_IN_TEXT}]*$",
    "description": f"Its tags can be {', '.join(f'`{tag}`' for tag in domain.HTML_TAGS)}. `a` needs an `href`"
    f" ({', '.join(domain.HTML_SCHEMES)}) and may have a `target`; nothing else has attributes.",
}
_AMOUNT: Schema = {
    "type": ["number", "null"],
    "minimum": 0,
    "exclusiveMaximum": int(domain.AMOUNT_BELOW),
    "description": f"Exact, with at most {domain.AMOUNT_DECIMALS} decimals.",
}


def bodies(catalogue: Catalogue) -> dict[str, Schema]:
    fields = {**_members(domain.FIELDS), **dict.fromkeys(domain.READ_ONLY, _IGNORED)}
    fields["id"] = {**nullable(INT32), "description": "Read-only: if it is there, that of the job addressed."}
    # The values of each field are described once, in JobCreate: the document is fetched by programs, and stays small.
    changes = fields | {
        field.name: {**fields[field.name], "description": field.about} for field in domain.FIELDS
    }
    active = ", ".join(field.name for field in domain.FIELDS if field.needed is Needed.ACTIVE)
    routed = ", ".join(f"{address.routing} needs {address.name}" for address in domain.ADDRESSES)
    key = {"referenceId": _filled(domain.FIELD["referenceId"])}
    return {
        "LocationInput": _location(),
        **{_named(name): _entry(name, catalogue) for name in SCHEMAS},
        "SalaryInput": _object(
            "An amount for a period, or commission only: without an amount, plusCommission is true, and there is"
            " neither a maxAmount nor a period. In an update only the members that are sent change.",
            _members(domain.SALARY_MEMBERS),
        ),
        "JobCreate": _object(
            f"A new job. To be active it also needs {active}. Of the routing types {routed}.",
            fields,
            [field.name for field in domain.FIELDS if field.needed is Needed.ALWAYS],
        ),
        "JobUpdate": _object(
            "The fields to change: what is absent stays as it is, objects merge, lists are replaced (RFC 7396). The"
            " job that results has to obey the same rules as a new one. JobCreate says what each field takes.",
            changes,
        ),
        "JobPut": _object(
            "The fields to change of the job with this referenceId, as in JobUpdate; if there is none, a new job, as in"
            " JobCreate.",
            {**changes, **key},
            key,
        ),
        "JobReference": _object(
            "Names a job. The other fields of a job may be there; they are ignored.",
            {**{name: {} for name in fields}, **key},
            key,
        ),
    }


def _object(description: str, members: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    shape = {"type": "object", "description": description, "properties": dict(members)}
    needed = {"required": list(required)} if required else {}
    return {**shape, "additionalProperties": False, **needed}


def _members(fields: Iterable[JobField]) -> dict[str, Schema]:
    """Return the schemas of ``fields``. Each has a description that begins with that of the field."""
    schemas = {}
    for field in fields:
        schema = _BY_KIND[field.kind](field)
        about = " ".join(filter(None, (field.about, schema.get("description"))))
        schemas[field.name] = {**schema, "description": about}
    return schemas


# -- one entry for each kind of field ------------------------------------------------------------------------------


def filled(limit: int) -> str:
    """Return the pattern of a string of 1 to ``limit`` characters without control characters. White space around it is
    trimmed and does not count, which ``maxLength`` cannot express."""
    return rf"^\s*{_line(limit)}\s*$"


def _line(limit: int) -> str:
    return rf"[^\s{_CONTROL}]([^{_CONTROL}]{{0,{limit - 2}}}[^\s{_CONTROL}])?"


def _web(limit: int) -> str:
    return rf"([Hh][Tt][Tt][Pp]://\S{{1,{limit - 7}}}|[Hh][Tt][Tt][Pp][Ss]://\S{{1,{limit - 8}}})"


def _at_most(limit: int) -> str:
    return f"At most {limit} characters, without the white space around them."


def _filled(field: JobField) -> Schema:
    return {"type": "string", "pattern": filled(field.most), "description": _at_most(field.most)}


def _optional(field: JobField, pattern: Callable[[int], str] = _line) -> Schema:
    """Return the schema of a text that may be empty or null. ``pattern``: that of a text that is not empty."""
    return {
        "type": ["string", "null"],
        "pattern": rf"^\s*({pattern(field.most)}\s*)?$",
        "description": f"{_at_most(field.most)} Empty or null: none.",
    }


def _date(field: JobField) -> Schema:
    default = "60 days after publishDate" if field.name == "closeDate" else "none"
    return {
        "type": ["string", "null"],
        "format": "date",
        "description": "An ISO 8601 date-time is accepted too: its date counts, as written."
        f" Empty or null, or absent in a new job: {default}.",
    }


def _named(catalogue: str) -> str:
    return f"{SCHEMAS[catalogue]}Input"


_BY_KIND: Mapping[FieldKind, Callable[[JobField], Schema]] = {
    FieldKind.TEXT: lambda field: _optional(field) if field.nullable else _filled(field),
    FieldKind.EMAIL: _optional,
    FieldKind.URL: lambda field: _optional(field, _web),
    FieldKind.HTML: lambda _field: _HTML,
    FieldKind.NUMBER: lambda field: optional(field, number(field.least, field.most)),
    FieldKind.AMOUNT: lambda _field: _AMOUNT,
    FieldKind.FLAG: lambda _field: {
        "type": ["boolean", "null"],
        "description": "Null, or absent in a new job: false.",
    },
    FieldKind.DATE: _date,
    FieldKind.STATUS: lambda _field: {
        **ref("JobStatus"),
        "description": f"Absent in a new job: {Status.DRAFT.value}.",
    },
    FieldKind.CHOICE: lambda field: nullable(ref(_named(field.catalogue))),
    FieldKind.CHOICES: lambda field: listed(ref(_named(field.catalogue)), field.least, field.most),
    FieldKind.PLACES: lambda field: listed(ref("LocationInput"), field.least, field.most),
    FieldKind.SALARY: lambda _field: nullable(ref("SalaryInput")),
}


def _location() -> Schema:
    said: Schema = {
        "type": "string",
        "pattern": filled(domain.MAX_PLACE_DESCRIPTION),
        "description": f'{_at_most(domain.MAX_PLACE_DESCRIPTION)} "City, ProvinceCode", or "City" for the largest place of'
        " that name; a city has a letter. Full province names, English and French, are understood.",
    }
    ignored = dict.fromkeys(sorted(domain.LOCATION_READ_ONLY), _IGNORED)
    return _object("A place in Canada.", {"description": said, **ignored}, ["description"])


def _entry(name: str, catalogue: Catalogue) -> Schema:
    """Return the schema of an object that names an entry of the catalogue ``name`` by its id."""
    entries = catalogue.entries(name).values()
    offered = ", ".join(f"{entry.id} {entry.name}" for entry in entries if not entry.retired)
    retired = ", ".join(f"{entry.id}" for entry in entries if entry.retired)
    about = f"One of: {offered}." + (f" Retired, for old jobs: {retired}." if retired else "")
    ignored = dict.fromkeys(domain.SHOWN_MEMBERS[name], _IGNORED)
    return _object("Named by its id.", {"id": {**INT32, "description": about}, **ignored}, ["id"])
