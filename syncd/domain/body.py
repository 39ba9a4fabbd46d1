"""The rules for a body by itself (docs/specification.md 2, 4.2 and 8; docs/api.md "Reading a body"), the same for requests
and for rows of feeds. ``decide`` checks the rules that only the merged job can break.

There is a reader for each kind of field. It takes a value as it was sent, and returns it typed, or FAULT after it has added the
problems."""

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache, partial
from typing import Any

from syncd.domain.catalogue import SHOWN_MEMBERS, Catalogue
from syncd.domain.html import html_faults
from syncd.domain.job import JobInput, Moment, Place, Status
from syncd.domain.job_fields import (
    FIELDS,
    INT32_MAX,
    INT32_MIN,
    READ_ONLY,
    SALARY_MEMBERS,
    FieldKind,
    JobField,
    check_job,
    in_body_order,
    member_of,
    needed_value,
)
from syncd.domain.lifecycle import new_job
from syncd.domain.places import MAX_PLACE_DESCRIPTION, parse_place
from syncd.domain.scalar_readers import (
    FAULT,
    Fault,
    Problems,
    email_fault,
    read_amount,
    read_date,
    read_flag,
    read_line,
    read_text,
    read_whole,
    refused,
    shown_value,
    url_fault,
    wrong_type,
)
from syncd.domain.text import fold
from syncd.errors import Invalid, Problem

Reader = Callable[[object, Catalogue, Problems], object]

#: Reading a body stops after this many problems, so that a hostile one costs no more than an honest one.
MAX_PROBLEMS = 500
#: The members of a location that the service sets: they are accepted and ignored.
LOCATION_READ_ONLY = frozenset({"id", "name", "type"})
#: A list that is too long is read as far as this.
_READ_ENTRIES = 100
_STATUSES = {status.value: status for status in Status}


def unknown_field(parent: str, name: str, known: Collection[str], problems: Problems) -> None:
    """Add the problem of a member that is not ``known``: a typing error must not lose data silently. It names a known one
    that differs only in its writing."""
    if len(problems) > MAX_PROBLEMS:
        return
    pointer = f"{parent}/{name.replace('~', '~0').replace('/', '~1')}"
    detail = "there is no such field"
    if len(name) <= 64 and (meant := _SPELLINGS.get(_spelling(name))) in known:
        detail += f"; {meant} is meant?"
    problems.append(Problem(pointer, "unknown_field", detail))


def _spelling(name: str) -> str:
    return fold(name).replace("_", "").replace("-", "").replace(" ", "")


_SPELLINGS = {
    _spelling(name): name
    for name in (*(field.name for field in (*FIELDS, *SALARY_MEMBERS)), "description", "id")
}


def _line(
    field: JobField, pointer: str, code: str = "", fault_of: Callable[[str], str | None] | None = None
) -> Reader:
    """Return the reader of one line; ``fault_of`` returns another fault of it, reported as ``code``."""
    most, nullable = field.most, field.nullable
    needed = needed_value(field)

    def read(value: object, _: Catalogue, problems: Problems) -> object:
        text = read_line(pointer, value, most, problems)
        if text is None and not nullable:
            return refused(pointer, "required", needed, problems)
        if fault_of is not None and isinstance(text, str) and (fault := fault_of(text)):
            return refused(pointer, code, fault, problems, text)
        return text

    return read


def _html(field: JobField, pointer: str) -> Reader:
    def read(value: object, _: Catalogue, problems: Problems) -> object:
        text = read_text(pointer, value, problems)
        if not isinstance(text, str):
            return text
        faults = html_faults(text, MAX_PROBLEMS + 1)
        problems += [
            Problem(pointer, "disallowed_html", f"offset {fault.offset}: {fault.detail}") for fault in faults
        ]
        return FAULT if faults else text

    return read


def _number(field: JobField, pointer: str) -> Reader:
    def read(value: object, _: Catalogue, problems: Problems) -> object:
        if value is None and field.nullable:
            return None
        return read_whole(pointer, value, field.least, field.most, problems)

    return read


def _scalar(read: Callable[[str, object, Problems], object], _: JobField, pointer: str) -> Reader:
    return lambda value, _, problems: read(pointer, value, problems)


def _status(field: JobField, pointer: str) -> Reader:
    def read(value: object, _: Catalogue, problems: Problems) -> object:
        if not isinstance(value, str) or not value:
            return wrong_type(pointer, None if value == "" else value, "a status", problems)
        if value in _STATUSES:
            return _STATUSES[value]
        detail = "a status is active, archived or draft"
        return refused(pointer, "unknown_value", detail, problems, shown_value(value))

    return read


def _choice(field: JobField, pointer: str) -> Reader:
    name, nullable = field.catalogue, field.nullable
    shown = SHOWN_MEMBERS[name]

    def read(value: object, catalogue: Catalogue, problems: Problems) -> object:
        if value is None and nullable:
            return None
        return _entry_id(pointer, value, catalogue.entries(name), shown, problems)

    return read


def _choices(field: JobField, pointer: str) -> Reader:
    name, items_of, pointers = field.catalogue, _list(field, pointer), _pointers(pointer)
    shown = SHOWN_MEMBERS[name]

    def read(value: object, catalogue: Catalogue, problems: Problems) -> object:
        before, known = len(problems), catalogue.entries(name)
        items = items_of(value, problems)
        ids = [_entry_id(at, item, known, shown, problems) for at, item in zip(pointers, items, strict=False)]
        return tuple(dict.fromkeys(ids)) if len(problems) == before else FAULT

    return read


def _entry_id(
    pointer: str, value: object, known: Mapping[int, object], shown: Collection[str], problems: Problems
) -> int | Fault:
    """Return the id of an object that names an entry of a catalogue by it. ``shown`` members of answers are ignored."""
    if not isinstance(value, dict):
        return wrong_type(pointer, value, "an object with an id", problems)
    if len(value) == 1 and type(id := value.get("id")) is int and id in known:
        return id  # the usual case
    before = len(problems)
    for name in value:
        if name != "id" and name not in shown:
            unknown_field(pointer, name, ("id",), problems)
    if "id" not in value:
        return refused(f"{pointer}/id", "required", "the id is needed", problems)
    id = read_whole(f"{pointer}/id", value["id"], INT32_MIN, INT32_MAX, problems)
    if isinstance(id, int) and id not in known:
        problems.append(Problem(f"{pointer}/id", "unknown_value", f"there is no entry with the id {id}", id))
    return id if len(problems) == before else FAULT


def _list(field: JobField, pointer: str) -> Callable[[object, Problems], list[Any]]:
    """Return the reader of an array: its entries, the first of one that is too long, none of another value."""
    what, least, most = field.name, field.least, field.most

    def items_of(value: object, problems: Problems) -> list[Any]:
        if not isinstance(value, list):
            wrong_type(pointer, value, f"an array of {what}", problems)
            return []
        if least <= len(value) <= most:
            return value
        if len(value) < least:
            refused(pointer, "too_few", f"{least} to {most} {what} are needed", problems)
        else:
            refused(pointer, "too_many", f"{len(value)} {what}; at most {most} are allowed", problems)
        return value[:_READ_ENTRIES]

    return items_of


def _pointers(pointer: str) -> list[str]:
    """Return the pointers of the entries of an array that are read at most."""
    return [f"{pointer}/{index}" for index in range(_READ_ENTRIES)]


def _places(field: JobField, pointer: str) -> Reader:
    items_of, pointers = _list(field, pointer), _pointers(pointer)

    def read(value: object, _: Catalogue, problems: Problems) -> object:
        before, items = len(problems), items_of(value, problems)
        places = [_place(at, item, problems) for at, item in zip(pointers, items, strict=False)]
        return tuple(places) if len(problems) == before else FAULT

    return read


def _place(pointer: str, item: object, problems: Problems) -> Place | Fault:
    if not isinstance(item, dict):
        return wrong_type(pointer, item, "an object with a description", problems)
    if len(item) > 1 or "description" not in item:
        for name in item:
            if name != "description" and name not in LOCATION_READ_ONLY:
                unknown_field(pointer, name, ("description",), problems)
    text = item.get("description")
    # A longer text is either wrong or padded; remembering it would let a client fill the memory.
    known = _known_place(text) if type(text) is str and len(text) <= MAX_PLACE_DESCRIPTION else None
    return known or _read_place(f"{pointer}/description", text, problems)


@lru_cache(maxsize=16384)
def _known_place(text: str) -> Place | None:
    """Return the place that a text without any fault names, remembered, since feeds repeat their cities; else None."""
    place = _read_place("", text, [])
    return place if isinstance(place, Place) else None


def _read_place(pointer: str, value: object, problems: Problems) -> Place | Fault:
    text = read_line(pointer, value, MAX_PLACE_DESCRIPTION, problems)
    if text is None:
        detail = 'a location needs a description: "City, ProvinceCode"'
        return refused(pointer, "required", detail, problems)
    if isinstance(text, Fault):
        return text
    place, faults = parse_place(text)
    problems += [Problem(pointer, code, detail, shown_value(text)) for code, detail in faults]
    return FAULT if faults else place


def _salary(field: JobField, pointer: str) -> Reader:
    """Return the reader of a salary, as a dict of the members that were sent."""
    readers = {member.name: reader_of(member, pointer) for member in SALARY_MEMBERS}

    def read(value: object, catalogue: Catalogue, problems: Problems) -> object:
        if not isinstance(value, dict):
            return None if value is None else wrong_type(pointer, value, "an object", problems)
        before = len(problems)
        members: dict[str, object] = {}
        for name, member in value.items():
            reader = readers.get(name)
            if reader is None:
                unknown_field(pointer, name, readers, problems)
            else:
                members[name] = reader(member, catalogue, problems)
        return members if len(problems) == before else FAULT

    return read


_BY_KIND: Mapping[FieldKind, Callable[[JobField, str], Reader]] = {
    FieldKind.TEXT: _line,
    FieldKind.EMAIL: partial(_line, code="invalid_email", fault_of=email_fault),
    FieldKind.URL: partial(_line, code="invalid_url", fault_of=url_fault),
    FieldKind.HTML: _html,
    FieldKind.NUMBER: _number,
    FieldKind.AMOUNT: partial(_scalar, read_amount),
    FieldKind.FLAG: partial(_scalar, read_flag),
    FieldKind.DATE: partial(_scalar, read_date),
    FieldKind.STATUS: _status,
    FieldKind.CHOICE: _choice,
    FieldKind.CHOICES: _choices,
    FieldKind.PLACES: _places,
    FieldKind.SALARY: _salary,
}


def reader_of(field: JobField, parent: str = "") -> Reader:
    """Return the reader of a field; ``parent`` is the pointer of the object that the field is a member of."""
    return _BY_KIND[field.kind](field, f"{parent}/{field.name}")


#: Wire name → reader.
READERS: Mapping[str, Reader] = {field.name: reader_of(field) for field in FIELDS}


# -- a whole body ------------------------------------------------------------------------------------------------

_NO_REFERENCE = Problem("/referenceId", "required", "a referenceId is needed to say which job is meant")
#: For a referenceId, which names no entry.
_NO_CATALOGUE = Catalogue({}, {}, {}, {})


def check_body(
    body: object,
    catalogue: Catalogue,
    *,
    creating: Moment | None = None,
    reference_required: bool = False,
    addressed: int | None = None,
) -> JobInput:
    """Return the fields that ``body`` sends, checked and typed, with Places as locations. Raise Invalid with every problem, in
    the order of the body.

    ``creating``: the body is to make a new job now; a faulty one has a problem for each missing field too (``decide``
    finds those of a faultless one). ``reference_required``: it must have a usable referenceId (docs/specification.md
    4.4). ``addressed``: the id of the job that it is to update."""
    if not isinstance(body, dict):
        raise Invalid([Problem("", "wrong_type", "the body must be a JSON object")])
    problems: Problems = []
    fields: dict[str, object] = {}
    for name, value in body.items():
        reader = READERS.get(name)
        if reader is not None:
            read = reader(value, catalogue, problems)
            if read is not FAULT:
                fields[name] = read
        elif name not in READ_ONLY:
            unknown_field("", name, READERS, problems)
        if len(problems) > MAX_PROBLEMS:
            raise Invalid(_capped(problems))
    job_id = body.get("id")
    if creating is not None:  # no job is addressed: read-only
        job_id = None
    if job_id is not None and type(job_id) is not int:
        wrong_type("/id", job_id, "a whole number", problems)
        job_id = None
    if addressed is not None and (mismatch := other_job(job_id, addressed)):
        problems.append(mismatch)
    lacks_reference = reference_required and fields.get("referenceId") is None
    if lacks_reference and all(member_of(problem) != "referenceId" for problem in problems):
        problems.append(_NO_REFERENCE)
    if problems:
        if creating is not None:  # a member that has a problem already gets no second one
            faulty = {member_of(problem) for problem in problems}
            merged = check_job(new_job(fields, creating, 0), fields, creating.today)
            problems += [problem for problem in merged if member_of(problem) not in faulty]
        raise Invalid(_capped(in_body_order(problems, body)))
    return JobInput(fields, job_id)


def check_reference(body: object) -> str:
    """Return the referenceId of the body of ``DELETE {base_url}/jobs``; the other fields of a job are ignored. Raise Invalid
    with every problem."""
    if isinstance(body, dict):
        ignored = {*READERS, *READ_ONLY} - {"referenceId"}
        body = {name: value for name, value in body.items() if name not in ignored}
    return check_body(body, _NO_CATALOGUE, reference_required=True).reference_id or ""


def other_job(sent_id: int | None, job_id: int | None) -> Problem | None:
    """Return the problem of an id in a body that is not ``job_id``, the job addressed (None: one to be created)."""
    if sent_id is None or sent_id == job_id:
        return None
    addressed = "a new one" if job_id is None else f"job {job_id}"
    detail = f"the body is about job {sent_id}, the request about {addressed}"
    return Problem("/id", "read_only_mismatch", detail, sent_id)


def _capped(problems: Problems) -> Problems:
    if len(problems) <= MAX_PROBLEMS:
        return problems
    next_one = problems[MAX_PROBLEMS]
    detail = f"and more: only the first {MAX_PROBLEMS} problems are listed"
    return [*problems[:MAX_PROBLEMS], Problem(next_one.pointer, next_one.code, detail)]
