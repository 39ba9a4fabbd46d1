"""JSON values of a feed: exact numbers, no member twice, nothing nested too deep; the fast way only where
it proves the same.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

import msgspec

from syncd.domain.policy import Limits
from syncd.errors import FeedError, Problem

_SPACED_COLON = re.compile(rb'"[ \t\r\n]+:')
_SURROGATE = re.compile("[\ud800-\udfff]")
_fast = msgspec.json.Decoder(float_hook=Decimal)


class Refused(ValueError):
    """A value that is JSON in form but no record that could be read; ``code`` is a field code."""

    def __init__(self, code: str, detail: str) -> None:
        self.code, self.detail = code, detail
        super().__init__(detail)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Refused("invalid_json", f"the member {twice!r} stands there twice")
    return found


def _constant(name: str) -> NoReturn:
    raise Refused("invalid_json", f"{name} is not a JSON number")


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise Refused("out_of_range", f"the number {text[:40]} is out of range") from None


def _integer(text: str) -> int | Decimal:
    return int(text) if len(text) <= 1000 else _decimal(text)


_strict = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_float=_decimal, parse_int=_integer, parse_constant=_constant
)
#: Finds where a value ends, whatever is wrong inside it.
scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode


def record_value(raw: bytes, limits: Limits) -> tuple[dict[str, Any] | None, Problem | None]:
    """The object that ``raw`` holds, or what is wrong with it as a record. Raises ValueError where it is
    not JSON at all.
    """
    if len(raw) > limits.record:
        detail = f"the record is longer than {limits.record} bytes"
        return None, Problem("", "too_long", detail, len(raw))
    try:
        value = _decode(raw, limits.depth)
    except Refused as refusal:
        return None, Problem("", refusal.code, refusal.detail)
    except RecursionError:
        return None, Problem("", "too_deep", f"nested deeper than {limits.depth}")
    if not isinstance(value, dict):
        return None, Problem("", "wrong_type", "a record must be an object", value)
    return value, None


def _decode(raw: bytes, depth: int) -> Any:
    try:
        value = _fast.decode(raw)
    except (msgspec.MsgspecError, InvalidOperation):
        value = None  # a lone surrogate, an endless number, or no JSON: the strict way says which
    else:
        if _SPACED_COLON.search(raw) is None and raw.count(b'":') == _members(value, depth):
            return value
    value = _strict.decode(raw.decode())
    _members(value, depth)
    if b"\\u" in raw and (found := _SURROGATE.search(json.dumps(value, ensure_ascii=False, default=str))):
        raise Refused("invalid_characters", f"half of a surrogate pair: U+{ord(found[0]):04X}")
    return value


def _members(value: Any, depth: int) -> int:
    """How many members all objects in ``value`` have together. Raises Refused below ``depth``."""
    if depth < 0:
        raise Refused("too_deep", "nested too deep")
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


def text_before_cut(buf: bytes) -> str:
    """``buf`` as text but for a character that its end cuts in two. Raises UnicodeDecodeError."""
    return codecs.utf_8_decode(buf, "strict", False)[0]
