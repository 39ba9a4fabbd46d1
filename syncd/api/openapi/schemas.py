"""The shapes of answers as JSON Schema 2020-12, from the limits of the domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from syncd.api.catalogues import SCHEMAS
from syncd.domain import (
    CHANGEABLE,
    FIELD,
    FIELD_CODES,
    HEADER_MEMBERS,
    INT32_MAX,
    INT32_MIN,
    JOB_MEMBERS,
    MAX_CATEGORY_NAME,
    MAX_PLACE_DESCRIPTION,
    MAX_PLACE_NAME,
    MAX_POSITION_NAME,
    SALARY_MEMBERS,
    ActorKind,
    Catalogue,
    FieldKind,
    JobField,
    Needed,
    Status,
)
from syncd.store import employers
from syncd.web import CODES

Schema = dict[str, Any]

#: Limits of docs/specification.md 8 that no rule has to check, because the service itself writes what they bound.
MAX_TYPE = MAX_PERIOD_NAME = MAX_ROUTING_NAME = 50
MAX_STATUS = 10
INT32: Schema = {"type": "integer", "format": "int32", "minimum": INT32_MIN, "maximum": INT32_MAX}
STATUS: Schema = {"type": "string", "enum": [status.value for status in Status], "maxLength": MAX_STATUS}
DATE: Schema = {"type": "string", "format": "date"}
ADDRESS: Schema = {"type": "string", "format": "uri"}
ACTIONS = ("created", "updated", "published", "archived", "closed", "reactivated", "refreshed", "deleted")


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def text(limit: int | None = None, **more: object) -> Schema:
    return {"type": "string", **({} if limit is None else {"maxLength": limit}), **more}


def nullable(schema: Schema) -> Schema:
    """``schema`` or null."""
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def whole(members: Schema, description: str = "") -> Schema:
    """An object that has all of ``members``."""
    about = {"description": description} if description else {}
    return {"type": "object", **about, "required": list(members), "properties": members}


def listed(schema: Schema, fewest: int | None = None, most: int | None = None) -> Schema:
    bounds = {"minItems": fewest, "maxItems": most}
    return {"type": "array", "items": schema, **{k: v for k, v in bounds.items() if v is not None}}


def answers(catalogue: Catalogue) -> dict[str, Schema]:
    """Every shape that the service answers with, by name."""
    job = {name: _READ_ONLY.get(name) or _value(FIELD[name]) for name in JOB_MEMBERS}
    entries = _entries(catalogue)
    return {
        "Employer": whole({"id": INT32, "name": text(employers.MAX_NAME)}),
        "Location": whole(
            {
                "id": INT32,
                "name": text(MAX_PLACE_NAME),
                "description": text(MAX_PLACE_DESCRIPTION, description='"City, ProvinceCode", or "City"'),
                "type": text(MAX_TYPE),
            }
        ),
        **entries,
        "Salary": whole(
            {member.name: _value(member) for member in SALARY_MEMBERS}, "Amounts are exact decimals."
        ),
        "Job": whole(job, "A whole job posting. The address that its routing type does not use is null."),
        "JobHeader": whole({name: job[name] for name in HEADER_MEMBERS}, "A job as lists show it."),
        "Paging": _paging(),
        **{f"{name}List": whole({"data": listed(ref(name))}) for name in entries},
        **{f"{name}List": whole({"data": listed(ref(name)), "paging": ref("Paging")}) for name in _PAGED},
        "HistoryEntry": _history(),
        "JobPosting": _posting(),
        "Problem": _problem(),
        "FieldProblem": whole(
            {
                "pointer": {
                    "type": "string",
                    "format": "json-pointer",
                    "description": "RFC 6901, into the body",
                },
                "code": {
                    "type": "string",
                    "enum": list(FIELD_CODES),
                    "description": "\n".join(f"* `{code}`: {why}" for code, why in FIELD_CODES.items()),
                },
                "detail": text(),
            },
            "One thing to be put right.",
        ),
    }


_PAGED = ("JobHeader", "Location", "HistoryEntry")


def _entries(catalogue: Catalogue) -> dict[str, Schema]:
    """The entries of the catalogues."""
    return {
        "Category": whole({"id": INT32, "name": text(MAX_CATEGORY_NAME)}),
        "PositionType": whole({"id": INT32, "name": text(MAX_POSITION_NAME)}),
        "SalaryPeriod": whole(
            {
                "id": {"type": "integer", "enum": list(catalogue.periods)},
                "name": text(MAX_PERIOD_NAME),
                "unit": text(MAX_PERIOD_NAME),
            }
        ),
        "ApplicantRoutingType": whole(
            {"id": {"type": "integer", "enum": list(catalogue.routing_types)}, "name": text(MAX_ROUTING_NAME)}
        ),
    }


def number(field: JobField) -> Schema:
    """A whole number."""
    return {"type": "integer", "minimum": field.least, "maximum": field.most}


def _text(field: JobField) -> Schema:
    return text(field.most, **({"minLength": 1} if field.needed is Needed.ALWAYS else {}))


#: A value that is there; ``_value`` adds null where a job may lack it.
_BY_KIND: Mapping[FieldKind, Callable[[JobField], Schema]] = {
    FieldKind.TEXT: _text,
    FieldKind.EMAIL: _text,
    FieldKind.URL: _text,
    FieldKind.HTML: lambda _field: text(contentMediaType="text/html"),
    FieldKind.NUMBER: number,
    FieldKind.AMOUNT: lambda _field: {"type": "number"},
    FieldKind.FLAG: lambda _field: {"type": "boolean"},
    FieldKind.DATE: lambda _field: DATE,
    FieldKind.STATUS: lambda _field: STATUS,
    FieldKind.CHOICE: lambda field: ref(SCHEMAS[field.catalogue or ""]),
    FieldKind.CHOICES: lambda field: listed(ref(SCHEMAS[field.catalogue or ""]), field.least, field.most),
    FieldKind.PLACES: lambda field: listed(ref("Location"), field.least, field.most),
    FieldKind.SALARY: lambda _field: ref("Salary"),
}
_READ_ONLY: Mapping[str, Schema] = {"id": INT32, "employer": ref("Employer"), "publishDate": DATE}


def _value(field: JobField) -> Schema:
    schema = _BY_KIND[field.kind](field)
    return {**(nullable(schema) if field.nullable else schema), "description": field.about}


def _paging() -> Schema:
    count = {"type": "integer", "minimum": 0}
    return whole(
        {
            "total": count,
            "page": {**count, "minimum": 1},
            "pages": {**count, "description": "0 if there is nothing"},
            "pageSize": {**count, "minimum": 1, "description": "the page size in effect"},
            "previous": {**nullable(ADDRESS), "description": "null on the first page"},
            "next": {**nullable(ADDRESS), "description": "null on the last page"},
        }
    )


def _history() -> Schema:
    who = whole(
        {
            "kind": {"type": "string", "enum": [kind.value for kind in ActorKind]},
            "id": {"type": ["integer", "null"], "description": "of the key or of the feed run"},
            "label": {"type": ["string", "null"], "description": "of the key, or the name of the feed"},
        },
        "`key`: an API key · `run`: a run of a feed · `refresh`: auto-refresh · `close`: the close date passed"
        " · `operator`: whoever runs the service",
    )
    change = whole(
        {
            "field": {"type": "string", "enum": list(CHANGEABLE)},
            "before": {"description": "as in a Job; null: there was none"},
            "after": {"description": "as in a Job; null: there is none"},
        }
    )
    return whole(
        {
            "id": {"type": "integer"},
            "at": {"type": "string", "format": "date-time"},
            "action": {"type": "string", "enum": list(ACTIONS)},
            "changedBy": who,
            "changes": listed(change),
        },
        "One change of a job.",
    )


def _posting() -> Schema:
    """schema.org defines it; here stands what is always there."""
    return {
        "type": "object",
        "description": "A schema.org JobPosting. A confidential one names no employer and no address.",
        "required": ["@context", "@type", "title", "identifier", "datePosted", "validThrough"],
        "properties": {
            "@context": {"const": "https://schema.org"},
            "@type": {"const": "JobPosting"},
            "title": text(),
            "datePosted": DATE,
            "validThrough": text(description="the end of the last live day, in the service's time zone"),
        },
        "additionalProperties": True,
    }


def _problem() -> Schema:
    shape = whole(
        {
            "type": {
                "type": "string",
                "format": "uri-reference",
                "description": "leads to a page that explains the code",
            },
            "title": text(),
            "status": {"type": "integer", "enum": sorted({status for status, _ in CODES.values()})},
            "detail": text(description="what is wrong with this very request, for people"),
            "code": {"type": "string", "enum": list(CODES), "description": "stable: branch on it"},
            "requestId": text(description="as in X-Request-Id and in the service's log"),
        },
        "RFC 9457. Some codes bring further members.",
    )
    shape["properties"] |= {
        "errors": listed(ref("FieldProblem"), 1),
        "id": {**INT32, "description": "`duplicate_reference`: the job that has the referenceId"},
        "from": {**STATUS, "description": "`illegal_transition`: the status that the job has"},
        "to": {**STATUS, "description": "`illegal_transition`: the status that was asked for"},
        "allowed": {**listed(STATUS), "description": "`illegal_transition`: where it may go"},
    }
    return shape
