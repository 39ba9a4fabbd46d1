"""The schemas of bodies, from the table of fields that the checks use too.

Rules that JSON Schema cannot express are in words: the HTML rules, comparisons of dates and amounts, and the rules of the
merged job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from syncd.api.openapi.schemas import STATUS, Schema, listed, nullable, number, or_null, ref
from syncd.domain import (
    ADDRESSES,
    AMOUNT_BELOW,
    AMOUNT_DECIMALS,
    FIELD,
    FIELDS,
    HTML_SCHEMES,
    HTML_TAGS,
    LOCATION_READ_ONLY,
    MAX_PLACE_DESCRIPTION,
    READ_ONLY,
    SALARY_MEMBERS,
    SHOWN_MEMBERS,
    Catalogue,
    FieldKind,
    JobField,
    Needed,
    Status,
)

_CONTROL = r"\u0000-\u001f\u007f-\u009f\ufffe\uffff"
_CONTROL_IN_TEXT = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufffe\uffff"
EMPTY = r"^\s*$"
CLEAN = rf"^[^{_CONTROL_IN_TEXT}]*$"
#: One comma at most, and a letter on each side.
_PLACE = r"^[^,]*[^\W\d_][^,]*(,[^,]*[^\W\d_][^,]*)?$"
#: A text that is not empty.
_PRESENT: Schema = {"type": "string", "pattern": r"\S"}
_IGNORED: Schema = {
    "description": "Read-only: accepted, so that what a GET answered can be sent back, and ignored."
}


_HTML: Schema = {
    "type": ["string", "null"],
    "format": "job-description",
    "contentMediaType": "text/html",
    "pattern": CLEAN,
    "description": f"Its tags can be {', '.join(f'`{tag}`' for tag in HTML_TAGS)}. `a` needs an `href`"
    f" ({', '.join(HTML_SCHEMES)}) and may have a `target`; nothing else has attributes.",
}
_AMOUNT: Schema = {
    "type": ["number", "null"],
    "minimum": 0,
    "exclusiveMaximum": int(AMOUNT_BELOW),
    "description": f"Exact, with at most {AMOUNT_DECIMALS} decimals.",
}


def bodies(catalogue: Catalogue) -> dict[str, Schema]:
    """Return every schema of a body, by name."""
    fields = {**_members(FIELDS, catalogue), **dict.fromkeys(READ_ONLY, _IGNORED)}
    fields["id"] = {
        "type": ["integer", "null"],
        "description": "Read-only: if it is there, that of the job addressed.",
    }
    key = {"referenceId": _filled(FIELD["referenceId"])}
    return {
        "LocationInput": _location(),
        "SalaryInput": _salary(catalogue),
        "SalaryUpdate": _object("The members to change.", _members(SALARY_MEMBERS, catalogue)),
        "JobCreate": {
            **_object(
                "A new job.",
                {**fields, "salary": or_null(ref("SalaryInput"))},
                [field.name for field in FIELDS if field.needed is Needed.ALWAYS],
            ),
            "allOf": [_if_active(), *map(_if_routed, ADDRESSES)],
        },
        "JobUpdate": _object(
            "The fields to change: objects merge, lists are replaced (RFC 7396). The job that results has to obey the"
            " same rules as a new one.",
            fields,
        ),
        "JobPut": _object(
            "The fields to change of the job with this referenceId; if there is none, a new job (then JobCreate says"
            " what it needs).",
            {**fields, **key},
            key,
        ),
        "JobReference": _object(
            "Names a job. The other fields of a job may be there.",
            {**{name: {"description": "Ignored."} for name in fields}, **key},
            key,
        ),
    }


def _object(description: str, members: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    """Return the schema of an object that has no other members."""
    shape = {"type": "object", "description": description, "properties": dict(members)}
    needed = {"required": list(required)} if required else {}
    return {**shape, "additionalProperties": False, **needed}


def _members(fields: Iterable[JobField], catalogue: Catalogue) -> dict[str, Schema]:
    """Return the schemas of ``fields``. Each has a description that begins with that of the field."""
    found = {}
    for field in fields:
        schema = _BY_KIND[field.kind](field, catalogue)
        about = " ".join(filter(None, (field.about, schema.get("description"))))
        found[field.name] = {**schema, "description": about}
    return found


# -- one entry for each kind of field ------------------------------------------------------------------------------


def filled(limit: int) -> str:
    """Return the pattern of a string of 1 to ``limit`` characters without control characters. White space around it is
    trimmed and does not count, which ``maxLength`` cannot express."""
    return rf"^\s*[^\s{_CONTROL}]([^{_CONTROL}]{{0,{limit - 2}}}[^\s{_CONTROL}])?\s*$"


def _web(limit: int) -> str:
    """Return the same for an http or https address."""
    return rf"^\s*([Hh][Tt][Tt][Pp]://\S{{1,{limit - 7}}}|[Hh][Tt][Tt][Pp][Ss]://\S{{1,{limit - 8}}})\s*$"


def _at_most(limit: int) -> str:
    return f"At most {limit} characters; white space around them is dropped."


def _filled(field: JobField) -> Schema:
    return {"type": "string", "pattern": filled(field.most), "description": _at_most(field.most)}


def _optional(field: JobField, pattern: Callable[[int], str], **more: str) -> Schema:
    """Return the schema of a text that may be empty or null."""
    return {
        "anyOf": [
            {"type": "string", **more, "pattern": pattern(field.most)},
            {"type": "string", "pattern": EMPTY},
            {"type": "null"},
        ],
        "description": f"{_at_most(field.most)} Empty or null: none.",
    }


def _number(field: JobField) -> Schema:
    schema = number(field.least, field.most)
    return nullable(schema) if field.nullable else schema


def _date(field: JobField) -> Schema:
    default = "60 days after publishDate" if field.name == "closeDate" else "none"
    kinds: list[Schema] = [{"type": "string", "format": form} for form in ("date", "date-time")]
    return {
        "anyOf": [*kinds, {"type": "string", "maxLength": 0}, {"type": "null"}],
        "description": f"Of a date-time the date as written. Empty or null: {default}.",
    }


def _named(field: JobField, catalogue: Catalogue) -> Schema:
    """Return the schema of an object that names an entry of a catalogue by its id."""
    entries = {"type": "integer", "enum": list(catalogue.entries(field.catalogue))}
    ignored = dict.fromkeys(SHOWN_MEMBERS[field.catalogue], _IGNORED)
    return _object("Named by its id.", {"id": entries, **ignored}, ["id"])


_BY_KIND: Mapping[FieldKind, Callable[[JobField, Catalogue], Schema]] = {
    FieldKind.TEXT: lambda field, _: _optional(field, filled) if field.nullable else _filled(field),
    FieldKind.EMAIL: lambda field, _: _optional(field, filled, format="email"),
    FieldKind.URL: lambda field, _: _optional(field, _web, format="uri"),
    FieldKind.HTML: lambda _field, _: _HTML,
    FieldKind.NUMBER: lambda field, _: _number(field),
    FieldKind.AMOUNT: lambda _field, _: _AMOUNT,
    FieldKind.FLAG: lambda _field, _: {"type": ["boolean", "null"], "default": False},
    FieldKind.DATE: lambda field, _: _date(field),
    FieldKind.STATUS: lambda _field, _: {**STATUS, "default": Status.DRAFT.value},
    FieldKind.CHOICE: lambda field, catalogue: or_null(_named(field, catalogue)),
    FieldKind.CHOICES: lambda field, catalogue: listed(_named(field, catalogue), field.least, field.most),
    FieldKind.PLACES: lambda field, _: listed(ref("LocationInput"), field.least, field.most),
    FieldKind.SALARY: lambda _field, _: or_null(ref("SalaryUpdate")),
}


# -- what is in a body, and what depends on what -------------------------------------------------------------------


def _location() -> Schema:
    said: Schema = {
        "type": "string",
        "format": "canadian-place",
        "allOf": [{"pattern": filled(MAX_PLACE_DESCRIPTION)}, {"pattern": _PLACE}],
        "description": f'{_at_most(MAX_PLACE_DESCRIPTION)} "City, ProvinceCode", or "City" for the largest place of'
        " that name. Full province names, English and French, are understood.",
    }
    ignored = dict.fromkeys(sorted(LOCATION_READ_ONLY), _IGNORED)
    return _object("A place in Canada.", {"description": said, **ignored}, ["description"])


def _salary(catalogue: Catalogue) -> Schema:
    """Return the schema of a new salary: an amount for a period, or commission only (the flag, and nothing else)."""
    flags = [member.name for member in SALARY_MEMBERS if member.kind is FieldKind.FLAG]
    others = [member.name for member in SALARY_MEMBERS if member.name not in flags]
    paid = {
        "required": ["amount", "period"],
        "properties": {"amount": {"type": "number"}, "period": {"type": "object"}},
    }
    commission = {
        "required": flags,
        "properties": {
            **{name: {"const": True} for name in flags},
            **{name: {"type": "null"} for name in others},
        },
    }
    return {
        **_object("An amount for a period, or commission only.", _members(SALARY_MEMBERS, catalogue)),
        "anyOf": [paid, commission],
    }


def _if_active() -> Schema:
    needed = {field.name: field for field in FIELDS if field.needed is Needed.ACTIVE}
    there: Schema = {"type": ["object", "string"]}
    return {
        "if": {"required": ["status"], "properties": {"status": {"const": Status.ACTIVE.value}}},
        "then": {
            "required": list(needed),
            "properties": {
                name: _PRESENT if field.kind is FieldKind.HTML else there for name, field in needed.items()
            },
        },
    }


def _if_routed(address: JobField) -> Schema:
    """Return the rule that a routing type needs its address."""
    chosen = {"type": "object", "required": ["id"], "properties": {"id": {"const": address.routing}}}
    return {
        "if": {"required": ["applicantRoutingType"], "properties": {"applicantRoutingType": chosen}},
        "then": {"required": [address.name], "properties": {address.name: _PRESENT}},
    }
