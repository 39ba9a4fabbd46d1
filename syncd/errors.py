"""All exceptions that syncd raises on purpose, and ``Problem``, one fault of an input. Exceptions carry values; the edges (api,
console, cli, reports) make texts of them. ``syncd.web.problems`` has the HTTP status of each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

#: The most characters of a message or a pointer, and of a value at fault: a name in a file may have a million.
MAX_MESSAGE_CHARACTERS, MAX_VALUE_CHARACTERS = 500, 300
#: Code of a problem of a body → its fault in words. The codes are stable: clients branch on them.
FIELD_CODES: Mapping[str, str] = {
    "required": "It is needed, and is absent, null, empty or only white space.",
    "null_not_allowed": "It cannot be null.",
    "wrong_type": "It has the wrong JSON type.",
    "too_long": "It has more characters (Unicode code points) than are allowed.",
    "out_of_range": "The number is too small, too large, or has too many decimals.",
    "too_few": "The list has too few entries.",
    "too_many": "The list has too many entries.",
    "unknown_value": "There is no such status or catalogue entry.",
    "unknown_province": "What follows the comma is not a Canadian province or territory.",
    "unknown_field": "There is no such field.",
    "read_only_mismatch": "The id in the body is not that of the job addressed.",
    "invalid_date": "It is not an ISO 8601 date or date-time.",
    "date_order": "The close date has passed, and the job is to be active.",
    "invalid_email": "It is not one syntactically valid e-mail address.",
    "invalid_url": "It is not an http or https address to which a candidate can be sent.",
    "disallowed_html": "The description has a tag or an attribute that is not allowed.",
    "invalid_characters": "It has a character that is not allowed there.",
}


def shortened(text: str, most: int = MAX_MESSAGE_CHARACTERS) -> str:
    """Return the text; if it has more than ``most`` characters, its beginning, and how many it has."""
    if len(text) <= most:
        return text
    end = f"… ({len(text)} characters)"
    return text[: most - len(end)] + end


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of an input. ``pointer`` is an RFC 6901 JSON pointer into the body ("" is the whole body), ``code`` one
    of FIELD_CODES, and ``value`` the value at fault, where a report shows it: a scalar of JSON, or text. All are short."""

    pointer: str
    code: str
    detail: str
    value: object = None

    def __post_init__(self) -> None:
        if len(self.pointer) > MAX_MESSAGE_CHARACTERS:
            object.__setattr__(self, "pointer", shortened(self.pointer))
        if len(self.detail) > MAX_MESSAGE_CHARACTERS:
            object.__setattr__(self, "detail", shortened(self.detail))
        if self.value is not None and not isinstance(self.value, bool | int | float):
            object.__setattr__(self, "value", shortened(str(self.value), MAX_VALUE_CHARACTERS))


@lru_cache(4096, typed=True)
def shared_problem(pointer: str, code: str, detail: str, value: object = None) -> Problem:
    """Return a problem, for equal arguments the same one: all rows of a file may have it."""
    return Problem(pointer, code, detail, value)


class SyncdError(Exception):
    """The root: catch it at an edge, never in the middle."""


class ConfigError(SyncdError):
    """The configuration is wrong. ``faults`` has one line for each fault, file and key first."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))


class NotFound(SyncdError):
    """There is no job, feed, employer, key or run (``what``) with the name or id ``which``."""

    def __init__(self, what: str, which: object, hint: str = "") -> None:
        self.what, self.which, self.hint = what, which, hint
        super().__init__(f"no {what} {which!r}" + (f"; {hint}" if hint else ""))


class Invalid(SyncdError):
    """A body breaks the rules; ``problems`` has every fault."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{p.pointer or '/'}: {p.detail}" for p in self.problems))


class Conflict(SyncdError):
    """The state of the store forbids a well-formed request."""

    code = "conflict"


class DuplicateReference(Conflict):
    """Another job of the employer, ``job_id``, has this referenceId."""

    code = "duplicate_reference"

    def __init__(self, reference_id: str, job_id: int) -> None:
        self.reference_id, self.job_id = reference_id, job_id
        super().__init__(f"job {job_id} already has the referenceId {reference_id!r}")


class IllegalTransition(Conflict):
    """A transition that docs/specification.md 3 does not have: a job may not go from status ``source`` to
    ``target``; ``allowed`` says where it may go."""

    code = "illegal_transition"

    def __init__(self, source: str, target: str, allowed: tuple[str, ...]) -> None:
        self.source, self.target, self.allowed = source, target, allowed
        super().__init__(f"a job that is {source} cannot become {target}")


class PreconditionFailed(SyncdError):
    """The version that the client named in If-Match is not the current one."""


#: The codes of a file that cannot be used. They are stable.
FEED_ERROR_CODES = frozenset(
    "bad_archive bad_encoding bad_header empty_file fault file_changed forbidden_dtd limit_exceeded no_columns no_records_path"
    " not_a_feed not_well_formed truncated unknown_entity unreadable".split()
)


class FeedError(SyncdError):
    """A file that cannot be used. ``code``: one of FEED_ERROR_CODES; ``line`` and ``column`` count from 1, ``offset`` from 0."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        line: int | None = None,
        column: int | None = None,
        offset: int | None = None,
    ) -> None:
        self.code, self.detail = code, shortened(detail)
        self.line, self.column, self.offset = line, column, offset
        self.last_good: str | None = None
        super().__init__(self.detail)

    def where(self) -> str:
        """Return the place in words: "line 12, column 3", "byte 4711", or an empty text."""
        if self.line is not None:
            return f"line {self.line}" + (f", column {self.column}" if self.column is not None else "")
        return f"byte {self.offset}" if self.offset is not None else ""


class UnusableFolder(SyncdError):
    """A feed's folder, or something of syncd's own inside it, is not as syncd needs it. ``place`` is its path; ``why`` names
    the fault and its remedy. Only that feed has to wait."""

    def __init__(self, place: object, why: str) -> None:
        self.place, self.why = place, why
        super().__init__(f"{place} {why}")


class StoreError(SyncdError):
    """The store cannot serve."""


class StoreBusy(StoreError):
    """The store is locked by another process, or the disk is full: the same call may succeed later."""


class StoreOverloaded(StoreError):
    """Too many writes wait; the caller should try again shortly."""

    def __init__(self) -> None:
        super().__init__("too many writes are waiting")


class StoreClosed(StoreError):
    """The store is closed or closing."""


class StoreInUse(StoreError):
    """Another daemon owns the store at ``where``."""

    def __init__(self, where: str) -> None:
        super().__init__(f"another syncd process is using the store {where}; stop it first")


class StoreTooNew(StoreError):
    """A newer program has written the store."""
