"""The query of a list and the paging object that answers it (docs/specification.md 2.8 and 4.7)."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from syncd.domain import Status
from syncd.web import Refusal

DEFAULT_PAGE_SIZE = 10
#: Characters of a Link header; many clients take lines of 8 KiB at most.
MAX_LINK = 6_000
MAX_PAGE_SIZE = 100
#: The parameters of a list of jobs; other lists have fewer.
PARAMETERS = frozenset({"q", "status", "pageSize", "page"})
#: Parameters of one query, unknown ones too.
MAX_FIELDS = 100
_INTEGER = re.compile(r"-?[0-9]{1,10}")
_INT32_MAX = 2**31 - 1
#: Entries of the index that are skipped for a page near the front: 1,000 take about as long as one job to render.
_NEAR = 1_000


@dataclass(frozen=True, slots=True)
class ListQuery:
    """``page`` counts from 1; ``page_size`` is the one in effect, 1 to 100; ``q`` None is no filter."""

    q: str | None = None
    status: Status | None = None
    page_size: int = DEFAULT_PAGE_SIZE
    page: int = 1

    @classmethod
    def parse(cls, raw: str, names: Set[str] = PARAMETERS) -> ListQuery:
        """Those in ``names``, from the raw query string. ``invalid_parameter`` for a repeated or unusable one; unknown ones are
        ignored."""
        values = _values(raw, names)
        return cls(
            q=values.get("q") or None,
            status=_status(values.get("status", "")),
            page_size=min(_positive(values, "pageSize", DEFAULT_PAGE_SIZE), MAX_PAGE_SIZE),
            page=_positive(values, "page", 1),
        )

    @property
    def quick(self) -> bool:
        """Whether the page is found within some tens of microseconds, however many jobs there are."""
        return not self.q and self.page * self.page_size <= _NEAR

    def string(self, page: int) -> str:
        """The query string that asks the same for another page."""
        filters = {"q": self.q, "status": self.status and self.status.value}
        given = {name: value for name, value in filters.items() if value}
        return urlencode({**given, "pageSize": self.page_size, "page": page})


def paging(query: ListQuery, total: int, address: str) -> dict[str, object]:
    """The paging object; ``address`` is that of the list itself. Beyond the last page, ``previous`` is the
    last one."""
    pages = -(-total // query.page_size)
    before = max(1, min(query.page - 1, pages))
    return {
        "total": total,
        "page": query.page,
        "pages": pages,
        "pageSize": query.page_size,
        "previous": f"{address}?{query.string(before)}" if query.page > 1 else None,
        "next": f"{address}?{query.string(query.page + 1)}" if query.page < pages else None,
    }


def links(query: ListQuery, total: int, address: str) -> dict[str, str]:
    """The Link header (RFC 8288): the first and last page, and the neighbours that there are. Left out if a long ``q``
    would make it longer than clients take; the paging object has the same addresses."""
    pages = -(-total // query.page_size)
    places = {"first": 1, "last": max(pages, 1)}
    if query.page > 1:
        places["prev"] = max(1, min(query.page - 1, pages))
    if query.page < pages:
        places["next"] = query.page + 1
    value = ", ".join(f'<{address}?{query.string(page)}>; rel="{name}"' for name, page in places.items())
    return {"Link": value} if len(value) <= MAX_LINK else {}


def _values(raw: str, names: Set[str]) -> dict[str, str]:
    try:
        pairs = parse_qsl(raw, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except UnicodeDecodeError:
        raise _invalid("the query is not UTF-8") from None
    except ValueError:
        raise _invalid(f"the query has more than {MAX_FIELDS} parameters") from None
    known = [(name, value) for name, value in pairs if name in names]
    values = dict(known)
    if len(values) != len(known):
        twice = {name: None for place, (name, _) in enumerate(known) if name in dict(known[:place])}
        raise _invalid(f"{', '.join(twice)} is there more than once")
    return values


def _positive(values: dict[str, str], name: str, default: int) -> int:
    """An Int32 from 1; empty counts as absent."""
    text = values.get(name, "")
    if not text:
        return default
    if not _INTEGER.fullmatch(text) or not 1 <= int(text) <= _INT32_MAX:
        raise _invalid(f"{name} has to be a whole number from 1 to {_INT32_MAX}")
    return int(text)


def _status(text: str) -> Status | None:
    if not text:
        return None
    try:
        return Status(text)
    except ValueError:
        raise _invalid(f"status has to be one of {', '.join(Status)}") from None


def _invalid(detail: str) -> Refusal:
    return Refusal("invalid_parameter", detail)
