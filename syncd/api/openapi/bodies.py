"""The shapes of bodies that are sent, from the table of fields that judges them.

What JSON Schema can say, they say exactly. What it cannot is in words: the HTML rules, what a date is compared
with, ``maxAmount`` not below ``amount``, and what only the merged job can break.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from syncd.api.catalogues import CATALOGUES
from syncd.api.openapi.schemas import STATUS, Schema, listed, number, ref
from syncd.api.payloads import catalogue_shape
from syncd.domain import (
    ADDRESSES,
    AMOUNT_BELOW,
    AMOUNT_DECIMALS,
    FIELD,
    FIELDS,
    HTML_SCHEMES,
    HTML_TAGS,
    MAX_PLACE_DESCRIPTION,
    READ_ONLY,
    SALARY_MEMBERS,
    Catalogue,
    FieldKind,
    JobField,
    Location,
    Needed,
    Status,
)

_CONTROL = r"\u0000-\u001f\u007f-\u009f\ufffe\uffff"
_CONTROL_IN_TEXT = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufffe\uffff"
EMPTY = r"^\s*$"
CLEAN = rf"^[^{_CONTROL_IN_TEXT}]*$"
_IGNORED = "Read-only: accepted, so that what a GET answered can be sent back, and ignored."
#: The shape of an object that names an entry of a catalogue, by the name of the catalogue.
_Named = Mapping[str, Schema]


def bodies(catalogue: Catalogue) -> dict[str, Schema]:
    """Every shape that the service takes, by name."""
    named = {
        resource.catalogue: _named_entry(catalogue.entries(resource.catalogue)) for resource in CATALOGUES
    }
    fields = {**_members(FIELDS, named), **_read_only()}
    key = FIELD["referenceId"]
    return {
        "LocationInput": _location(),
        "SalaryInput": _salary(named),
        "SalaryUpdate": _object(_members(SALARY_MEMBERS, named), "The members to change."),
        "JobCreate": {
            **_object({**fields, "salary": _or_null(ref("SalaryInput"))}, "A new job."),
            "required": [field.name for field in FIELDS if field.needed is Needed.ALWAYS],
            "allOf": [_if_active(), *map(_if_routed, ADDRESSES)],
        },
        "JobUpdate": _object(
            fields,
            "The fields to change: objects merge, lists are replaced (RFC 7396). The job that results has to obey the"
            " same rules as a new one.",
        ),
        "JobPut": {
            **_object(
                {**fields, key.name: _filled(key)},
                "The fields to change of the job with this referenceId; if there is none, a new job (then"
                " JobCreate says what it needs).",
            ),
            "required": [key.name],
        },
        "JobReference": {
            **_object(
                {**{name: {"description": "Ignored."} for name in fields}, key.name: _filled(key)},
                "Names a job. The other fields of a job may be there.",
            ),
            "required": [key.name],
        },
    }


def _object(members: Mapping[str, Schema], description: str) -> Schema:
    return {
        "type": "object",
        "description": description,
        "properties": dict(members),
        "additionalProperties": False,
    }


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _read_only() -> dict[str, Schema]:
    """What a GET answers beside the fields: the id has to be that of the job, the rest is ignored."""
    mine: Schema = {
        "type": ["integer", "null"],
        "description": "Read-only: if it is there, that of the job addressed.",
    }
    return {name: mine if name == "id" else {"description": _IGNORED} for name in READ_ONLY}


def filled(limit: int) -> str:
    """The pattern of a string of 1 to ``limit`` characters, none of them a control, with white space round it: that
    is trimmed and does not count, which ``maxLength`` cannot say."""
    return rf"^\s*[^\s{_CONTROL}]([^{_CONTROL}]{{0,{limit - 2}}}[^\s{_CONTROL}])?\s*$"


def _web(limit: int) -> str:
    """The same for an http or https address."""
    return rf"^\s*([Hh][Tt][Tt][Pp]://\S{{1,{limit - 7}}}|[Hh][Tt][Tt][Pp][Ss]://\S{{1,{limit - 8}}})\s*$"


def _at_most(limit: int) -> str:
    return f"At most {limit} characters; white space around them is dropped."


def _limit(field: JobField) -> int:
    assert field.most is not None, f"{field.name} has no limit"
    return field.most


def _filled(field: JobField) -> Schema:
    limit = _limit(field)
    return {"type": "string", "pattern": filled(limit), "description": _at_most(limit)}


# -- one function for each kind of field -----------------------------------------------------------------------


def _text(field: JobField, _named: _Named) -> Schema:
    return _optional(field, filled(_limit(field))) if field.nullable else _filled(field)


def _email(field: JobField, _named: _Named) -> Schema:
    return _optional(field, filled(_limit(field)), format="email")


def _url(field: JobField, _named: _Named) -> Schema:
    return _optional(field, _web(_limit(field)), format="uri")


def _optional(field: JobField, pattern: str, **more: str) -> Schema:
    """A text; empty or null: none."""
    return {
        "anyOf": [
            {"type": "string", **more, "pattern": pattern},
            {"type": "string", "pattern": EMPTY},
            {"type": "null"},
        ],
        "description": f"{_at_most(_limit(field))} Empty or null: none.",
    }


def _html(_field: JobField, _named: _Named) -> Schema:
    tags = ", ".join(f"`{tag}`" for tag in HTML_TAGS)
    schemes = ", ".join(HTML_SCHEMES)
    return {
        "type": ["string", "null"],
        "format": "job-description",
        "contentMediaType": "text/html",
        "pattern": CLEAN,
        "description": f"HTML of {tags}. `a` needs an `href` ({schemes}) and may have a `target`; nothing else"
        " has attributes.",
    }


def _amount(_field: JobField, _named: _Named) -> Schema:
    return {
        "type": ["number", "null"],
        "minimum": 0,
        "exclusiveMaximum": int(AMOUNT_BELOW),
        "description": f"Exact, with at most {AMOUNT_DECIMALS} decimals.",
    }


def _flag(_field: JobField, _named: _Named) -> Schema:
    return {"type": ["boolean", "null"], "default": False}


def _date(field: JobField, _named: _Named) -> Schema:
    kinds: list[Schema] = [{"type": "string", "format": format} for format in ("date", "date-time")]
    return {
        "anyOf": [*kinds, {"type": "string", "maxLength": 0}, {"type": "null"}],
        "description": "Of a date-time the date as written. Empty or null:"
        f" {'60 days after publishDate' if field.name == 'closeDate' else 'none'}.",
    }


def _status(_field: JobField, _named: _Named) -> Schema:
    return {**STATUS, "default": Status.DRAFT.value}


def _choice(field: JobField, named: _Named) -> Schema:
    return _or_null(named[field.catalogue or ""])


def _choices(field: JobField, named: _Named) -> Schema:
    return listed(named[field.catalogue or ""], field.least, field.most)


def _places(field: JobField, _named: _Named) -> Schema:
    return listed(ref("LocationInput"), field.least, field.most)


_BY_KIND: Mapping[FieldKind, Callable[[JobField, _Named], Schema]] = {
    FieldKind.TEXT: _text,
    FieldKind.EMAIL: _email,
    FieldKind.URL: _url,
    FieldKind.HTML: _html,
    FieldKind.NUMBER: lambda field, _named: number(field),
    FieldKind.AMOUNT: _amount,
    FieldKind.FLAG: _flag,
    FieldKind.DATE: _date,
    FieldKind.STATUS: _status,
    FieldKind.CHOICE: _choice,
    FieldKind.CHOICES: _choices,
    FieldKind.PLACES: _places,
    FieldKind.SALARY: lambda _field, _named: _or_null(ref("SalaryUpdate")),
}


def _members(fields: Iterable[JobField], named: _Named) -> dict[str, Schema]:
    return {field.name: _described(field, _BY_KIND[field.kind](field, named)) for field in fields}


def _described(field: JobField, schema: Schema) -> Schema:
    """``schema`` with what the field is before what it takes."""
    said = schema.get("description")
    return {**schema, "description": f"{field.about} {said}" if said else field.about}


# -- objects within a body ----------------------------------------------------------------------------------------


def _named_entry(entries: Mapping[int, Any]) -> Schema:
    """An object that names an entry of a catalogue by its id."""
    shape = catalogue_shape(next(iter(entries.values())))
    members: dict[str, Schema] = {name: {"description": _IGNORED} for name in shape}
    members["id"] = {"type": "integer", "enum": list(entries)}
    return {**_object(members, "Named by its id."), "required": ["id"]}


def _location() -> Schema:
    said: Schema = {
        "type": "string",
        "format": "canadian-place",
        "allOf": [{"pattern": filled(MAX_PLACE_DESCRIPTION)}, {"pattern": _place_pattern()}],
        "description": f'{_at_most(MAX_PLACE_DESCRIPTION)} "City, ProvinceCode", or "City" for the largest place of'
        " that name. Full province names, English and French, are understood.",
    }
    ignored = {
        name: {"description": _IGNORED} for name in Location.__struct_fields__ if name != "description"
    }
    return {**_object({"description": said, **ignored}, "A place in Canada."), "required": ["description"]}


def _place_pattern() -> str:
    """A letter in the city, and at most one comma."""
    return r"^[^,]*[^\W\d_][^,]*(,[^,]*[^\W\d_][^,]*)?$"


def _salary(named: _Named) -> Schema:
    """Either an amount for a period, or commission only: its flag, and nothing else."""
    paid = {
        "required": ["amount", "period"],
        "properties": {"amount": {"type": "number"}, "period": {"type": "object"}},
    }
    flags = [member.name for member in SALARY_MEMBERS if member.kind is FieldKind.FLAG]
    commission = {
        "required": flags,
        "properties": {
            **{name: {"const": True} for name in flags},
            **{member.name: {"type": "null"} for member in SALARY_MEMBERS if member.name not in flags},
        },
    }
    return {
        **_object(_members(SALARY_MEMBERS, named), "An amount for a period, or commission only."),
        "anyOf": [paid, commission],
    }


def _if_active() -> Schema:
    needed = [field for field in FIELDS if field.needed is Needed.ACTIVE]
    return {
        "if": {"required": ["status"], "properties": {"status": {"const": Status.ACTIVE.value}}},
        "then": {
            "required": [field.name for field in needed],
            "properties": {
                field.name: _PRESENT if field.kind is FieldKind.HTML else {"type": ["object", "string"]}
                for field in needed
            },
        },
    }


#: A text that is there.
_PRESENT: Schema = {"type": "string", "pattern": r"\S"}


def _if_routed(address: JobField) -> Schema:
    """The address that a routing type needs."""
    chosen = {"type": "object", "required": ["id"], "properties": {"id": {"const": address.routing}}}
    return {
        "if": {"required": ["applicantRoutingType"], "properties": {"applicantRoutingType": chosen}},
        "then": {"required": [address.name], "properties": {address.name: _PRESENT}},
    }
