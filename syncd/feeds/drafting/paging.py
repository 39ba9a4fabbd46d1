"""The pages of a list: how an answer leads to the next one, as far as the answer itself says it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from syncd.feeds.drafting.survey import Survey
from syncd.feeds.readers import EACH
from syncd.feeds.source import Pages

#: A page is in memory as a whole, so a longer answer is none; members deeper than this do not speak of the list.
_MAX_BYTES, _MAX_DEPTH = 16 << 20, 3
_ADDRESS = re.compile(r"https?://\S|[/?]\S")
#: Names of members, without case and signs: of the next page, of a count of records, of a count of pages, of a flag.
_NEXT = re.compile(r"(odata)?next(page)?(url|link|uri|href|token|cursor|offset)?")
_RECORDS = re.compile(r"total(found|count|results|records|items|hits|jobs|elements)?|numfound|recordstotal")
_PAGES = re.compile(r"(total|num)pages|pagecount|lastpage")
_MORE = re.compile(r"hasmore|hasnext(page)?|more(available|results)?")


class Paging(NamedTuple):
    """``pages`` of the source, None if the answer does not say how the list goes on; ``said``: the reason, in words."""

    pages: Pages | None
    said: str


def paging_of(path: Path, survey: Survey, *, linked: bool) -> Paging | None:
    """Return the sign of more pages in the answer in a file, None without one. ``linked``: its header Link has a next page."""
    if survey.format != "json":
        said = "the header Link names a next page, but only a list in JSON can be fetched in pages"
        return Paging(None, said) if linked else None
    if linked:
        return Paging(Pages(link=True), "the header Link names the next page")
    if survey.path in ("", EACH) or path.stat().st_size > _MAX_BYTES:
        return None
    try:
        answer = msgspec.json.decode(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except msgspec.MsgspecError:
        return None
    members = [*_members(answer, survey.path.removesuffix(f".{EACH}"))]
    for steps, value in members:
        named = _NEXT.fullmatch(_plain(steps[-1])) or any(_plain(step) == "next" for step in steps[:-1])
        if named and isinstance(value, str) and _ADDRESS.match(value) and not any("." in s for s in steps):
            return Paging(Pages(next=steps), f"{'.'.join(steps)} has the address of the next page")
    hints = (f"{'.'.join(steps)} {hint}" for steps, value in members if (hint := _hint(steps, value, survey)))
    hint = next(hints, None)
    return None if hint is None else Paging(None, f"{hint}, and the answer does not say how pages go on")


def _members(
    value: object, records: str, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield the members of objects around the records, with their paths."""
    if not isinstance(value, dict) or len(above) == _MAX_DEPTH or ".".join(above) == records:
        return
    for name, inner in value.items():
        yield (*above, name), inner
        yield from _members(inner, records, (*above, name))


def _hint(steps: tuple[str, ...], value: object, survey: Survey) -> str | None:
    """Return why a member speaks of more records than the answer has."""
    name = _plain(steps[-1])
    if isinstance(value, bool):
        return "is true" if value and _MORE.fullmatch(name) else None
    if isinstance(value, int) and _RECORDS.fullmatch(name):
        here = survey.records + survey.unreadable
        return f"is {value:,}, of which {here:,} are here" if value > here and not survey.more else None
    if isinstance(value, int) and _PAGES.fullmatch(name):
        return f"is {value:,}" if value > 1 else None
    is_next = isinstance(value, str | int) and value and _NEXT.fullmatch(name)
    return "names a next page, but is not an address" if is_next else None


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()
