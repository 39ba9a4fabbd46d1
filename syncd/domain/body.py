"""The rules for a body by itself (docs/specification.md 2, 4.2 and 8; docs/api.md "Reading a body"), the same for requests
and for rows of feeds. ``decide`` checks the rules that only the merged job can break."""

from syncd.domain.catalogue import Catalogue
from syncd.domain.field_readers import MAX_PROBLEMS, READERS, unknown_field
from syncd.domain.job import JobInput, Moment
from syncd.domain.job_fields import READ_ONLY, check_job, in_body_order, member_of
from syncd.domain.lifecycle import new_job
from syncd.domain.scalar_readers import FAULT, Problems, wrong_type
from syncd.errors import Invalid, Problem

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
