"""The schemas of answers (JSON Schema 2020-12), from the table of fields and the limits of the domain."""

from collections.abc import Callable, Mapping
from typing import Any

from syncd import domain
from syncd.api.payloads import SCHEMAS
from syncd.domain import FieldKind, JobField, Needed, Status
from syncd.errors import FIELD_CODES
from syncd.store import employers
from syncd.web import CODES

Schema = dict[str, Any]

#: Limits of docs/specification.md 8 that no rule checks, because the service itself writes these values.
MAX_TYPE = MAX_PERIOD_NAME = MAX_ROUTING_NAME = 50
MAX_STATUS = 10
INT32: Schema = {"type": "integer", "format": "int32"}
DATE: Schema = {"type": "string", "format": "date"}
ADDRESS: Schema = {"type": "string", "format": "uri"}
_PAGED = ("JobHeader", "Location")


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def text(limit: int | None = None, **more: object) -> Schema:
    return {"type": "string", **({} if limit is None else {"maxLength": limit}), **more}


def number(least: int, most: int) -> Schema:
    return {**INT32, "minimum": least, "maximum": most}


def nullable(schema: Schema) -> Schema:
    if "type" in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"oneOf": [schema, {"type": "null"}]}


def optional(field: JobField, schema: Schema) -> Schema:
    """Return ``schema``, or null too if the field may lack a value."""
    return nullable(schema) if field.nullable else schema


def whole(description: str = "", /, **members: Schema) -> Schema:
    about = {"description": description} if description else {}
    return {"type": "object", **about, "required": list(members), "properties": members}


def listed(schema: Schema, fewest: int | None = None, most: int | None = None) -> Schema:
    bounds = {"minItems": fewest, "maxItems": most}
    return {"type": "array", "items": schema} | {name: n for name, n in bounds.items() if n is not None}


def answers() -> dict[str, Schema]:
    read_only = {"id": INT32, "employer": ref("Employer"), "publishDate": DATE}
    job = {name: read_only.get(name) or value_schema(domain.FIELD[name]) for name in domain.JOB_MEMBERS}
    entries = {
        "Category": whole(id=INT32, name=text(domain.MAX_CATEGORY_NAME)),
        "PositionType": whole(id=INT32, name=text(domain.MAX_POSITION_NAME)),
        "SalaryPeriod": whole(id=INT32, name=text(MAX_PERIOD_NAME), unit=text(MAX_PERIOD_NAME)),
        "ApplicantRoutingType": whole(id=INT32, name=text(MAX_ROUTING_NAME)),
    }
    return {
        "JobStatus": text(MAX_STATUS, enum=[status.value for status in Status]),
        "Employer": whole(id=INT32, name=text(employers.MAX_NAME)),
        "Location": whole(
            id=INT32,
            name=text(domain.MAX_PLACE_NAME),
            description=text(domain.MAX_PLACE_DESCRIPTION, description='"City, ProvinceCode", or "City"'),
            type=text(MAX_TYPE),
        ),
        **entries,
        "Salary": whole(
            "Amounts are exact decimals.",
            **{member.name: value_schema(member) for member in domain.SALARY_MEMBERS},
        ),
        "Job": whole("A whole job posting. The address that its routing type does not use is null.", **job),
        "JobHeader": whole("A job as lists show it.", **{name: job[name] for name in domain.HEADER_MEMBERS}),
        "Paging": _paging(),
        **{f"{name}List": whole(data=listed(ref(name))) for name in entries},
        **{f"{name}List": whole(data=listed(ref(name)), paging=ref("Paging")) for name in _PAGED},
        "Problem": _problem(),
        "FieldProblem": whole(
            "One fault of a body.",
            pointer=text(format="json-pointer", description="RFC 6901, into the body"),
            code=text(description="\n".join(f"* `{code}`: {why}" for code, why in FIELD_CODES.items())),
            detail=text(),
        ),
    }


def _text(field: JobField) -> Schema:
    return text(field.most, **({"minLength": 1} if field.needed is Needed.ALWAYS else {}))


_BY_KIND: Mapping[FieldKind, Callable[[JobField], Schema]] = {
    FieldKind.TEXT: _text,
    FieldKind.EMAIL: _text,
    FieldKind.URL: _text,
    FieldKind.HTML: lambda _field: text(contentMediaType="text/html"),
    FieldKind.NUMBER: lambda field: number(field.least, field.most),
    FieldKind.AMOUNT: lambda _field: {"type": "number"},
    FieldKind.FLAG: lambda _field: {"type": "boolean"},
    FieldKind.DATE: lambda _field: DATE,
    FieldKind.STATUS: lambda _field: ref("JobStatus"),
    FieldKind.CHOICE: lambda field: ref(SCHEMAS[field.catalogue]),
    FieldKind.CHOICES: lambda field: listed(ref(SCHEMAS[field.catalogue]), field.least, field.most),
    FieldKind.PLACES: lambda field: listed(ref("Location"), field.least, field.most),
    FieldKind.SALARY: lambda _field: ref("Salary"),
}


def value_schema(field: JobField) -> Schema:
    return {**optional(field, _BY_KIND[field.kind](field)), "description": field.about}


def _paging() -> Schema:
    count, from_one = {**INT32, "minimum": 0}, {**INT32, "minimum": 1}
    return whole(
        total=count,
        page=from_one,
        pages={**count, "description": "0 if there is nothing"},
        pageSize={**from_one, "description": "the page size in effect"},
        previous={**nullable(ADDRESS), "description": "null on the first page"},
        next={**nullable(ADDRESS), "description": "null on the last page"},
    )


def _problem() -> Schema:
    shape = whole(
        "RFC 9457. Some codes have further members.",
        type=text(format="uri-reference", description="leads to the documentation of the API"),
        title=text(),
        status={**INT32, "description": "that of the answer"},
        detail=text(description="what is wrong with this request, for people"),
        code=text(
            description=f"stable: branch on it, with a branch for new ones. {', '.join(f'`{code}`' for code in CODES)}"
        ),
        requestId=text(description="as in X-Request-Id and in the service's log"),
    )
    shape["properties"] |= {
        "errors": listed(ref("FieldProblem"), 1),
        "id": {**INT32, "description": "`duplicate_reference`: the job that has the referenceId"},
        "from": {**ref("JobStatus"), "description": "`illegal_transition`: the status of the job"},
        "to": {**ref("JobStatus"), "description": "`illegal_transition`: the status that was sent"},
        "allowed": {
            **listed(ref("JobStatus")),
            "description": "`illegal_transition`: the statuses that the job can get",
        },
    }
    return shape
