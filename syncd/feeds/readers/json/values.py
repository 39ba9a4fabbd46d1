"""JSON values of a feed: exact numbers, no member twice, nothing nested too deep.

The fast way is taken only where it proves to give the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

import msgspec

from syncd.domain import FeedLimits
from syncd.errors import FeedError, Problem
from syncd.feeds.readers.records import ERRORS, too_long

#: The mark of a rejected record as JSON text.
ERRORS_NAME = f'"{ERRORS}"'.encode()
#: The errors of ijson for a number that int() or Decimal() refuses. Its last event has no value then, and to look at that would
#: end the process.
UNREADABLE_NUMBER = (SystemError, InvalidOperation)
_name_ends = re.compile(rb'"[ \t\r\n]*:').findall
#: What comes before the next value of an object.
_MEMBER = re.compile(r'[{,\s]*+("(?:[^"\\]|\\.)*+")\s*+:\s*+', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_decode: Callable[[bytes], Any] = msgspec.json.Decoder(float_hook=Decimal).decode


class RefusedValue(ValueError):
    """A value that is JSON in form, but not a record that can be read. ``code`` is a field code."""

    def __init__(self, code: str, detail: str) -> None:
        self.code, self.detail = code, detail
        super().__init__(detail)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RefusedValue("invalid_json", f"the member {twice!r} occurs twice")
    return found


def _constant(name: str) -> NoReturn:
    raise RefusedValue("invalid_json", f"{name} is not a JSON number")


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise RefusedValue("out_of_range", f"the number {text[:40]} is out of range") from None


def _integer(text: str) -> int | Decimal:
    return int(text) if len(text) <= 1000 else _decimal(text)


_strict = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_float=_decimal, parse_int=_integer, parse_constant=_constant
)
#: Finds where a value ends, whatever is wrong inside it.
scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode


def objects(raws: list[bytes], limits: FeedLimits) -> list[dict[str, Any]] | None:
    """Return all of ``raws``, each one JSON value, decoded in one go; None if any of them needs the care of ``record_value``."""
    if max(map(len, raws), default=0) > limits.record:
        return None
    text = b"[%b]" % b",".join(raws)
    try:
        values: list[Any] = _decode(text)
        if all(type(value) is dict for value in values) and _each_member_once(values, text, limits.depth):
            return values
    except (msgspec.MsgspecError, InvalidOperation, RefusedValue, RecursionError):
        pass
    return None


def _each_member_once(values: list[Any], text: bytes, depth: int) -> bool:
    """Whether it is certain that no member occurs twice in ``text`` (of two, ``values`` has only the last).

    A string takes at least two quotes, and a member one end of a name. Where the text has no more of them than the values
    account for, nothing was dropped. Raise RefusedValue below ``depth``."""
    names = texts = 0
    for value in values:
        kinds = list(map(type, value.values()))
        if dict in kinds or list in kinds:
            return len(_name_ends(text)) == sum(_members(value, depth) for value in values)
        names += len(kinds)
        texts += kinds.count(str)
    return text.count(b'"') == 2 * (names + texts) or len(_name_ends(text)) == names


def record_value(raw: bytes, limits: FeedLimits) -> tuple[dict[str, Any] | None, Problem | None]:
    """Return the object that ``raw`` holds, or what is wrong with it as a record; of a record that is too long also the
    members that it begins with. Raise ValueError where it is not JSON at all."""
    if (problem := too_long(len(raw), limits)) is not None:
        return _beginning(raw[: limits.record]), problem
    try:
        value = _value(raw, limits.depth)
    except RefusedValue as refusal:
        return None, Problem("", refusal.code, refusal.detail)
    except RecursionError:
        return None, Problem("", "too_deep", f"nested deeper than {limits.depth}")
    if not isinstance(value, dict):
        return None, Problem("", "wrong_type", "a record must be an object", value)
    return value, None


def _beginning(raw: bytes) -> dict[str, Any] | None:
    """Return the members at the start of an object that are neither objects nor lists, up to where it is cut off, if any."""
    text, at, found = raw.decode("utf-8", "ignore"), 0, dict[str, Any]()
    while (name := _MEMBER.match(text, at)) is not None:
        try:
            value, at = _strict.raw_decode(text, name.end())
            key = json.loads(name[1])
        except (ValueError, RecursionError):
            break
        if not isinstance(value, dict | list) and at < len(text):
            found.setdefault(key, value)
    return found or None


def _value(raw: bytes, depth: int) -> Any:
    try:
        value = _decode(raw)
        if type(value) is not dict or _each_member_once([value], raw, depth):
            return value
    except (msgspec.MsgspecError, InvalidOperation):
        pass  # a lone surrogate, an endless number, or no JSON: the strict way says which
    value = _strict.decode(raw.decode())
    _members(value, depth)
    if b"\\u" in raw:
        refuse_surrogate(json.dumps(value, ensure_ascii=False, default=str))
    return value


def refuse_surrogate(text: str) -> None:
    """Raise RefusedValue for text that no encoding can have."""
    if found := _SURROGATE.search(text):
        raise RefusedValue("invalid_characters", f"half of a surrogate pair: U+{ord(found[0]):04X}")


def _members(value: Any, depth: int) -> int:
    """How many members all objects in ``value`` have together. Raise RefusedValue below ``depth``."""
    if depth < 0:
        raise RefusedValue("too_deep", "nested too deeply")
    count = 0
    if type(value) is dict:
        count = len(value)
        value = value.values()
    elif type(value) is not list:
        return 0
    for item in value:
        if type(item) is dict or type(item) is list:
            count += _members(item, depth - 1)
    return count


def bad_text(error: UnicodeDecodeError, offset: int, line: int | None = None) -> FeedError:
    byte = error.object[error.start]
    return FeedError("bad_encoding", f"not UTF-8: byte 0x{byte:02X}", offset=offset + error.start, line=line)
