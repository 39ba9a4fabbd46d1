"""The shapes of bodies that are sent, from the same fields and limits that judge them.

What JSON Schema can say, they say exactly. What it cannot is in words: the HTML rules, what a date is compared
with, ``maxAmount`` not below ``amount``, and what only the merged job can break.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from syncd.api.openapi.schemas import STATUS, Schema, listed, ref
from syncd.domain import (
    AMOUNT_BELOW,
    AMOUNT_DECIMALS,
    ATTRIBUTES,
    FIELD,
    FIELDS,
    HTML_SCHEMES,
    HTML_TAGS,
    LOCATION_READ_ONLY,
    MAX_PLACE_DESCRIPTION,
    READ_ONLY,
    SHOWN_MEMBERS,
    Catalogue,
    Needed,
    Routing,
    Status,
)

_CONTROL = r"\u0000-\u001f\u007f-\u009f\ufffe\uffff"
_CONTROL_IN_TEXT = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufffe\uffff"
EMPTY = r"^\s*$"
CLEAN = rf"^[^{_CONTROL_IN_TEXT}]*$"
_IGNORED = "Read-only: accepted, so that what a GET answered can be sent back, and ignored."


def bodies(catalogue: Catalogue) -> dict[str, Schema]:
    """Every shape that the service takes, by name."""
    fields = _fields(catalogue)
    return {
        "LocationInput": _location(),
        "SalaryInput": _salary(catalogue),
        "SalaryUpdate": _salary_update(catalogue),
        "JobCreate": {
            **_object({**fields, "salary": _or_null(ref("SalaryInput"))}, "A new job."),
            "required": [field.name for field in FIELDS if field.needed is Needed.ALWAYS],
            "allOf": [_if_active(), *_addresses()],
        },
        "JobUpdate": _object(
            fields,
            "The fields to change: objects merge, lists are replaced (RFC 7396). The job that results has to obey the"
            " same rules as a new one.",
        ),
        "JobPut": {
            **_object(
                {**fields, "referenceId": _filled("referenceId")},
                "The fields to change of the job with this referenceId; if there is none, a new job (then"
                " JobCreate says what it needs).",
            ),
            "required": ["referenceId"],
        },
        "JobReference": {
            **_object(
                {
                    **{name: {"description": "Ignored."} for name in fields},
                    "referenceId": _filled("referenceId"),
                },
                "Names a job. The other fields of a job may be there.",
            ),
            "required": ["referenceId"],
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


def _fields(catalogue: Catalogue) -> dict[str, Schema]:
    """Every field of a body, in the order of docs/specification.md 2.1, then what is read-only."""
    routing = _named(catalogue.routing_types, SHOWN_MEMBERS["categories"])
    members: dict[str, Schema] = {
        "referenceId": _optional("referenceId", filled(FIELD["referenceId"].most)),
        "title": _filled("title"),
        "closeDate": _date(),
        "confidential": _flag(),
        "autoRefresh": _flag(),
        "status": {**STATUS, "default": Status.DRAFT.value},
        "locations": listed(ref("LocationInput"), *_bounds("locations")),
        "categories": listed(
            _named(catalogue.categories, SHOWN_MEMBERS["categories"]), *_bounds("categories")
        ),
        "positionType": _or_null(_named(catalogue.position_types, SHOWN_MEMBERS["categories"])),
        "salary": _or_null(ref("SalaryUpdate")),
        "description": _description(),
        "applicantRoutingType": _or_null(routing),
        "applicationEmail": _optional("applicationEmail", filled(FIELD["applicationEmail"].most), "email"),
        "applicationUrl": _optional("applicationUrl", _web(FIELD["applicationUrl"].most), "uri"),
    }
    ignored = {name: {"description": _IGNORED} for name in sorted(READ_ONLY) if name != "id"}
    mine = {
        "type": ["integer", "null"],
        "description": "Read-only: if it is there, that of the job addressed.",
    }
    return {**{name: members[name] for name in ATTRIBUTES}, "id": mine, **ignored}


def _bounds(name: str) -> tuple[int, int]:
    return FIELD[name].least, FIELD[name].most


def _flag() -> Schema:
    return {"type": ["boolean", "null"], "default": False}


def filled(limit: int) -> str:
    """The pattern of a string of 1 to ``limit`` characters, none of them a control, with white space round it: that
    is trimmed and does not count, which ``maxLength`` cannot say."""
    return rf"^\s*[^\s{_CONTROL}]([^{_CONTROL}]{{0,{limit - 2}}}[^\s{_CONTROL}])?\s*$"


def _web(limit: int) -> str:
    """The same for an http or https address."""
    return rf"^\s*([Hh][Tt][Tt][Pp]://\S{{1,{limit - 7}}}|[Hh][Tt][Tt][Pp][Ss]://\S{{1,{limit - 8}}})\s*$"


def _filled(name: str) -> Schema:
    return {"type": "string", "pattern": filled(FIELD[name].most), "description": _at_most(FIELD[name].most)}


def _at_most(limit: int) -> str:
    return f"At most {limit} characters; white space around them is dropped."


def _optional(name: str, pattern: str, format: str | None = None) -> Schema:
    """Empty or null: none."""
    form = {} if format is None else {"format": format}
    return {
        "anyOf": [
            {"type": "string", **form, "pattern": pattern},
            {"type": "string", "pattern": EMPTY},
            {"type": "null"},
        ],
        "description": f"{_at_most(FIELD[name].most)} Empty or null: none.",
    }


def _date() -> Schema:
    kinds: list[Schema] = [{"type": "string", "format": format} for format in ("date", "date-time")]
    return {
        "anyOf": [*kinds, {"type": "string", "maxLength": 0}, {"type": "null"}],
        "description": "The last live day; of a date-time the date as written. Empty or null: 60 days after"
        " publishDate.",
    }


def _description() -> Schema:
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


def _named(entries: Mapping[int, Any], read_only: Iterable[str]) -> Schema:
    """An object that names a catalogue entry by its id."""
    members: dict[str, Schema] = {"id": {"type": "integer", "enum": list(entries)}}
    members |= {name: {"description": _IGNORED} for name in sorted(read_only)}
    return {**_object(members, "Named by its id."), "required": ["id"]}


def _location() -> Schema:
    said: Schema = {
        "type": "string",
        "format": "canadian-place",
        "allOf": [{"pattern": filled(MAX_PLACE_DESCRIPTION)}, {"pattern": _place_pattern()}],
        "description": f'{_at_most(MAX_PLACE_DESCRIPTION)} "City, ProvinceCode", or "City" for the largest place of'
        " that name. Full province names, English and French, are understood.",
    }
    ignored = {name: {"description": _IGNORED} for name in sorted(LOCATION_READ_ONLY)}
    return {**_object({"description": said, **ignored}, "A place in Canada."), "required": ["description"]}


def _place_pattern() -> str:
    """A letter in the city, and at most one comma."""
    return r"^[^,]*[^\W\d_][^,]*(,[^,]*[^\W\d_][^,]*)?$"


def _amount() -> Schema:
    return {
        "type": ["number", "null"],
        "minimum": 0,
        "exclusiveMaximum": int(AMOUNT_BELOW),
        "description": f"Exact, with at most {AMOUNT_DECIMALS} decimals.",
    }


def _salary_members(catalogue: Catalogue) -> dict[str, Schema]:
    return {
        "amount": _amount(),
        "maxAmount": {**_amount(), "description": "Not less than amount."},
        "period": _or_null(_named(catalogue.periods, SHOWN_MEMBERS["periods"])),
        "plusCommission": _flag(),
    }


def _salary_update(catalogue: Catalogue) -> Schema:
    return _object(_salary_members(catalogue), "The members to change.")


def _salary(catalogue: Catalogue) -> Schema:
    """Either an amount for a period, or commission only."""
    null = {"type": "null"}
    paid = {
        "required": ["amount", "period"],
        "properties": {"amount": {"type": "number"}, "period": {"type": "object"}},
    }
    commission = {
        "required": ["plusCommission"],
        "properties": {"plusCommission": {"const": True}, "amount": null, "maxAmount": null, "period": null},
    }
    return {
        **_object(_salary_members(catalogue), "An amount for a period, or commission only."),
        "anyOf": [paid, commission],
    }


def _if_active() -> Schema:
    needed = [field.name for field in FIELDS if field.needed is Needed.ACTIVE]
    filled: dict[str, Schema] = {name: {"type": ["object", "string"]} for name in needed}
    filled["description"] = {"type": "string", "pattern": r"\S"}
    return {
        "if": {"required": ["status"], "properties": {"status": {"const": Status.ACTIVE.value}}},
        "then": {"required": needed, "properties": filled},
    }


def _addresses() -> list[Schema]:
    return [_if_routed(Routing.EMAIL, "applicationEmail"), _if_routed(Routing.URL, "applicationUrl")]


def _if_routed(routing: int, address: str) -> Schema:
    chosen = {"type": "object", "required": ["id"], "properties": {"id": {"const": routing}}}
    return {
        "if": {"required": ["applicantRoutingType"], "properties": {"applicantRoutingType": chosen}},
        "then": {"required": [address], "properties": {address: {"type": "string", "pattern": r"\S"}}},
    }
