"""Readers of single values, as a JSON parser or a feed's mapping gives them.

A reader returns the typed value, or FAULT after it has added to ``problems``. Numbers arrive as int or Decimal; a float is
refused, because it has lost digits already. Of an address only the writing is checked."""

import re
from contextlib import suppress
from datetime import date
from decimal import Context, Decimal
from functools import lru_cache
from typing import Final, cast
from urllib.parse import urlsplit

from syncd.errors import Invalid, Problem


class Fault:
    """The type of FAULT."""


FAULT: Final = Fault()
Problems = list[Problem]

AMOUNT_BELOW = Decimal(10**12)
AMOUNT_DECIMALS = 4

_SHOWN = 200
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_FORBIDDEN_IN_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_CONTROL_BYTES = bytes(c for c in range(0x20) if c not in b"\t\n\r") + b"\x7f"
_CONTROL_LATIN = _CONTROL_BYTES + bytes(range(0x80, 0xA0))
_C1 = re.compile(b"\xc2[\x80-\x9f]")
_EXACT = Context(prec=40, traps=[])

_MAX_DATE = 64
_DATE = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9](?::(?:[0-5][0-9]|60)(?:[.,][0-9]{1,12})?)?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?)?"
)


def shown_value(value: object) -> object:
    """Return ``value`` as a report shows it: long text is cut, a list or an object is left out."""
    if isinstance(value, str):
        return value if len(value) <= _SHOWN else value[:_SHOWN] + "…"
    return value if isinstance(value, int | Decimal) else None


def refused(pointer: str, code: str, detail: str, problems: Problems, value: object = None) -> Fault:
    """Add a problem and return FAULT."""
    problems.append(Problem(pointer, code, detail, value))
    return FAULT


def wrong_type(pointer: str, value: object, expected: str, problems: Problems) -> Fault:
    """Add ``wrong_type``, or ``null_not_allowed`` for a null, and return FAULT."""
    if value is None:
        return refused(pointer, "null_not_allowed", f"null is not allowed; {expected} is needed", problems)
    detail = f"{expected} is needed, not {_json_type(value)}"
    return refused(pointer, "wrong_type", detail, problems, shown_value(value))


def _json_type(value: object) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | Decimal | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list | tuple) else "an object"


def read_line(pointer: str, value: object, most: int, problems: Problems) -> str | Fault | None:
    """Return a trimmed string of 1 to ``most`` code points without control characters; None for null and for white space."""
    if type(value) is not str:
        return None if value is None else wrong_type(pointer, value, "a string", problems)
    text = value.strip()
    if not text:
        return None
    if len(text) > most:
        detail = f"{len(text)} characters; at most {most} are allowed"
        return refused(pointer, "too_long", detail, problems, shown_value(text))
    if not text.isprintable() and (character := _FORBIDDEN.search(text)):
        return _invalid_character(pointer, character, problems)
    return text


def check_line(name: str, text: str, most: int) -> str:
    """Return a name that an operator gives, without surrounding and repeated white space. Raise Invalid unless it has at most
    ``most`` code points and no control characters."""
    text.encode()  # an argument of the command line need not be UTF-8: raises UnicodeEncodeError
    problems: Problems = []
    line = read_line(f"/{name}", " ".join(text.split()), most, problems)
    if problems:
        raise Invalid(problems)
    return line if isinstance(line, str) else ""


def read_text(pointer: str, value: object, problems: Problems) -> str | Fault | None:
    """Return a text of any length without control characters other than tab, LF and CR; None for null and for white space."""
    if type(value) is not str:
        return None if value is None else wrong_type(pointer, value, "a string", problems)
    if not value or value.isspace():
        return None
    if not _is_clean(value) and (character := _FORBIDDEN_IN_TEXT.search(value)):
        return _invalid_character(pointer, character, problems)
    return value


def _is_clean(text: str) -> bool:
    """Return whether ``text`` has no forbidden character. Bytes are searched several times faster than code points."""
    with suppress(UnicodeEncodeError):
        raw = text.encode("latin-1")  # one byte a character: three times as fast as UTF-8
        return len(raw.translate(None, _CONTROL_LATIN)) == len(raw)
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        return False
    if len(raw.translate(None, _CONTROL_BYTES)) != len(raw):
        return False
    return not (_C1.search(raw) or "\ufffe" in text or "\uffff" in text)


def _invalid_character(pointer: str, character: re.Match[str], problems: Problems) -> Fault:
    detail = f"offset {character.start()}: the character U+{ord(character[0]):04X} is not allowed"
    return refused(pointer, "invalid_characters", detail, problems)


def read_flag(pointer: str, value: object, problems: Problems) -> bool | Fault:
    """Return true or false; null is the default, which is false for every flag of a job."""
    if value is True:
        return True
    if value is False or value is None:
        return False
    return wrong_type(pointer, value, "true or false", problems)


def read_whole(pointer: str, value: object, least: int, most: int, problems: Problems) -> int | Fault:
    if type(value) is not int:
        return wrong_type(pointer, value, "a whole number", problems)
    if not least <= value <= most:
        return refused(pointer, "out_of_range", f"the number is not in {least} to {most}", problems)
    return value


def read_amount(pointer: str, value: object, problems: Problems) -> Decimal | Fault | None:
    """Return an exact amount, 0 <= amount < 10^12, of at most 4 decimals, without trailing zeros; None for null."""
    if type(value) is int:
        if 0 <= value < 10**12:
            return Decimal(value)
    elif isinstance(value, Decimal):
        if value.is_finite() and 0 <= value < AMOUNT_BELOW:
            plain = _plain_amount(value)
            if plain is not None:
                return plain
            detail = f"an amount has at most {AMOUNT_DECIMALS} decimals"
            return refused(pointer, "out_of_range", detail, problems)
    else:
        return None if value is None else wrong_type(pointer, value, "a number", problems)
    return refused(pointer, "out_of_range", "an amount is at least 0 and less than 10^12", problems)


@lru_cache(maxsize=4096)
def _plain_amount(value: Decimal) -> Decimal | None:
    """Return ``value`` without trailing zeros and without an exponent; None if it has too many decimals."""
    plain = value.copy_abs().normalize(_EXACT)
    exponent = cast("int", plain.as_tuple().exponent)
    if plain != value or exponent < -AMOUNT_DECIMALS:
        return None
    return plain.quantize(Decimal(1), context=_EXACT) if exponent > 0 else plain


def read_date(pointer: str, value: object, problems: Problems) -> date | Fault | None:
    """Return the calendar date of an ISO 8601 date or date-time, as written; None for null and the empty string."""
    if type(value) is not str:
        return None if value is None else wrong_type(pointer, value, "a date as a string", problems)
    if not value:
        return None
    parsed = _parse_date(value) if len(value) <= _MAX_DATE else None
    if parsed is None:
        detail = "not an ISO 8601 date (YYYY-MM-DD) or date-time"
        return refused(pointer, "invalid_date", detail, problems, shown_value(value))
    return parsed


@lru_cache(maxsize=4096)
def _parse_date(text: str) -> date | None:
    parts = _DATE.fullmatch(text)
    if parts is None:
        return None
    with suppress(ValueError):
        return date(int(parts[1]), int(parts[2]), int(parts[3]))
    return None


# -- addresses -------------------------------------------------------------------------------------------------

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
#: Nearly all addresses, accepted without a closer look.
_PLAIN_URL = re.compile(
    rf"[Hh][Tt][Tt][Pp][Ss]?://(?:{_LABEL}\.)*[A-Za-z](?:[A-Za-z0-9-]{{0,61}}[A-Za-z0-9])?"
    r"""(?:[/?#][A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%|]*)?"""
)
_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_HOST_LABEL = re.compile(r"[^\W_](?:[\w-]{0,61}[^\W_])?")
_NOT_IN_URL = re.compile(r"""[\s\\<>"^`{}]""")


@lru_cache(maxsize=8192)
def email_fault(address: str) -> str | None:
    """Return why ``address`` is not an e-mail address, or None. Only its syntax counts (``.test`` domains are valid)."""
    # Imported at the first use: the library takes longer to import than the rest of the domain.
    from email_validator import EmailNotValidError, validate_email  # noqa: PLC0415

    try:
        validate_email(address, check_deliverability=False, test_environment=True)
    except EmailNotValidError as error:
        return str(error)
    # The library's test mode accepts a bare "test" as a domain.
    return None if "." in address.rpartition("@")[2] else "The part after the @-sign needs a period."


def url_fault(url: str) -> str | None:
    """Return why ``url`` is not an address for candidates, or None: it must be http or https with a host, have no
    credentials, and nothing that a browser would have to correct."""
    if _PLAIN_URL.fullmatch(url):
        return None
    if not _SCHEME.match(url):
        return "the address must begin with http:// or https://"
    if character := _NOT_IN_URL.search(url):
        return f"the address cannot contain {character[0]!r}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "the host or the port cannot be read"
    if "@" in parts.netloc:
        return "the address must not have a user name or a password"
    if not host:
        return "the address has no host"
    if port == 0 or parts.netloc.endswith(":"):
        return "the port must be 1 to 65535"
    labels = host.removesuffix(".").split(".")
    is_host = len(host) <= 253 and all(_HOST_LABEL.fullmatch(label) for label in labels)
    return None if "[" in parts.netloc or is_host else f"{host[:100]!r} is not a host name"
