"""JSON values of a feed: exact numbers, no member twice, no half characters, nothing nested too deep."""

import json
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from sys import intern
from typing import Any, NoReturn

from syncd.domain import FeedLimits
from syncd.errors import Problem
from syncd.feeds.readers.records import too_long

#: The name under which a record that was a member of an object has its key.
KEY = "@key"
#: The name of the next value of an object, and the text around it.
_MEMBER = re.compile(r'[{,\s]*+("(?:[^"\\]|\\.)*+")\s*+:\s*+', re.DOTALL)
_NAME = re.compile(r'("(?:[^"\\]|\\.)*+")[ \t\r\n]*+:[ \t\r\n]*+', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


class RefusedValue(ValueError):
    """A value that is JSON in form, but not a record that can be read. ``code`` is a field code."""

    def __init__(self, code: str, detail: str) -> None:
        self.code, self.detail = code, detail
        super().__init__(detail)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = {intern(name): value for name, value in pairs}  # most records have the same names
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RefusedValue("invalid_json", f"the member {twice!r} occurs twice")
    return members


def _constant(name: str) -> NoReturn:
    raise RefusedValue("invalid_json", f"{name} is not a JSON number")


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise RefusedValue("out_of_range", f"the number {text[:40]} is out of range") from None


_strict = json.JSONDecoder(
    object_pairs_hook=_pairs,
    parse_float=_decimal,
    parse_int=lambda text: int(text) if len(text) <= 1000 else _decimal(text),
    parse_constant=_constant,
)
_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode


def end_of(text: str, at: int, *, keyed: bool) -> int:
    """Return where the value (``keyed``: the member) that begins at ``at`` ends, even if a record may not have it.

    Raise ValueError if it is not whole or not JSON, RecursionError if it is nested too deep."""
    if keyed:
        name = _NAME.match(text, at)
        if name is None:
            raise ValueError("no name of a member")
        at = name.end()
    return _scan(text, at)[1]


def record_value(
    raw: bytes, limits: FeedLimits, *, keyed: bool = False
) -> tuple[dict[str, Any] | None, Problem | None]:
    """Return the object that ``raw`` holds, or its problem as a record; of a record that is too long also the members that it
    begins with, but for objects and lists. ``keyed``: it is a member, whose name the object has as KEY unless it has one (a
    corrected record does). Raise ValueError where it is not JSON at all."""
    text, key = raw.decode(), None
    if keyed and (name := _NAME.match(text)):
        key, text = json.loads(name[1]), text[name.end() :]
    if (problem := too_long(len(raw), limits)) is not None:
        value = _beginning(text[: limits.record])
    else:
        try:
            value = _strict.decode(text)
            _check_depth(value, limits.depth)
        except RefusedValue as refusal:
            return None, Problem("", refusal.code, refusal.detail)
        except RecursionError:
            return None, Problem("", "too_deep", f"nested deeper than {limits.depth}")
        if not isinstance(value, dict):
            return None, Problem("", "wrong_type", "a record must be an object", value)
    if key is not None and value is not None:
        value.setdefault(KEY, key)
    if b"\\u" in raw and (half := _SURROGATE.search(json.dumps(value, ensure_ascii=False, default=str))):
        return None, Problem("", "invalid_characters", f"half of a surrogate pair: U+{ord(half[0]):04X}")
    return value, problem


def _beginning(text: str) -> dict[str, Any] | None:
    at, members = 0, dict[str, Any]()
    while (name := _MEMBER.match(text, at)) is not None:
        try:
            value, at = _strict.raw_decode(text, name.end())
            key = json.loads(name[1])
        except (ValueError, RecursionError):
            break
        if not isinstance(value, dict | list) and at < len(text):
            members.setdefault(key, value)
    return members or None


def _check_depth(value: Any, depth: int) -> None:
    """Raise RefusedValue below ``depth``."""
    if depth < 0:
        raise RefusedValue("too_deep", "nested too deeply")
    for item in value.values() if value.__class__ is dict else value if value.__class__ is list else ():
        if item.__class__ is dict or item.__class__ is list:
            _check_depth(item, depth - 1)
