"""Lists that come in pages: the records of each page as JSON Lines, and the address of the next page."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Raw

from syncd.feeds.readers import ARRAYS, EACH, WITHIN, member_path
from syncd.sources.results import SourceError

#: Names of members that a message shows.
_MAX_NAMES = 8


class Page(NamedTuple):
    """The records of a page, each as one line, and the value that names the next page; None: this is the last one."""

    lines: list[bytes]
    next: str | None


def read_page(body: bytes, records: str | None, next_path: Sequence[str] | None) -> Page:
    """Return the records at ``records`` ([read] records; None: the whole page, or the first of the usual names), and the text
    at ``next_path``. Raise SourceError if the page is not JSON or has no list there."""
    root = _json(body)
    steps = _usual_steps(root) if records is None else member_path(records)
    lines = [_line(raw) for raw in _records(root, steps)]
    return Page(lines, None if next_path is None else address_at(root, next_path))


def read_record(body: bytes) -> bytes:
    """Return the one record of an answer as a line. Raise SourceError if it is not an object of JSON."""
    root = _json(body)
    if _object(root) is None:
        raise SourceError("it is not an object of JSON")
    return _line(root)


def _json(body: bytes) -> Raw:
    root = Raw(body.removeprefix(b"\xef\xbb\xbf"))
    try:
        msgspec.json.decode(root, type=Raw)
    except msgspec.MsgspecError as error:
        raise SourceError(f"it is not JSON ({error})") from None
    except RecursionError:
        raise SourceError("it is not JSON that can be read: it is nested too deeply") from None
    return root


def _line(raw: Raw) -> bytes:
    return bytes(raw).replace(b"\r", b" ").replace(b"\n", b" ") + b"\n"


def _usual_steps(root: Raw) -> Sequence[str]:
    members = _object(root)
    if members is None:
        return ()
    return [next((name for name in ARRAYS if _list(members.get(name)) is not None), ARRAYS[0])]


def _records(value: Raw, steps: Sequence[str], path: str = "") -> Iterator[Raw]:
    if not steps:
        elements = _list(value)
        if elements is None:
            raise SourceError(f"there is no list at {path or 'its root'}: see [read] records")
        yield from elements
        return
    step, *rest = steps
    members = _object(value)
    if step == WITHIN:
        for element in _records(value, (), path):
            if rest[0] in (_object(element) or ()):
                yield from _records(element, rest, f"{path}{WITHIN}")
    elif step == EACH and members is not None:
        yield from members.values()
    elif step == EACH:  # some programs write an empty object as an array
        yield from _records(value, (), path)
    elif members is None or step not in members:
        there = f"; it has {', '.join([*members][:_MAX_NAMES])}" if members else ""
        raise SourceError(f"there is no {f'{path}.{step}'.strip('.')}{there}: see [read] records")
    else:
        yield from _records(members[step], rest, f"{path}.{step}".strip("."))


def address_at(root: Raw | bytes, path: Sequence[str]) -> str | None:
    """Return the text at ``path``; None if it is absent, null, false or empty. Raise SourceError for anything else."""
    value: Raw | None = Raw(root)
    for step in path:
        value = (_object(value) or {}).get(step) if value is not None else None
    address = None if value is None else msgspec.json.decode(value)
    if address in (None, False, ""):
        return None
    if not isinstance(address, str):
        raise SourceError(f"{'.'.join(path)} is not an address: see pages")
    return address


def _object(value: Raw | None) -> dict[str, Raw] | None:
    try:
        return None if value is None else msgspec.json.decode(value, type=dict[str, Raw])
    except msgspec.MsgspecError:
        return None


def _list(value: Raw | None) -> list[Raw] | None:
    try:
        return None if value is None else msgspec.json.decode(value, type=list[Raw])
    except msgspec.MsgspecError:
        return None
