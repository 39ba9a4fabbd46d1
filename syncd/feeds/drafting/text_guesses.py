"""Guesses at the id, the title and the description."""

from __future__ import annotations

import re

from syncd.domain import FIELD
from syncd.feeds.drafting.column_search import ColumnSearch
from syncd.feeds.drafting.columns import Column
from syncd.feeds.drafting.date_guesses import date_share
from syncd.feeds.drafting.field_names import ID_LIKE, SURELY_DESCRIPTION
from syncd.feeds.drafting.guess import Guess, one_or_list
from syncd.feeds.drafting.place_guesses import guess_locations
from syncd.feeds.mapping import URL_FIELD

#: A longer text is not a title.
_LONG = 200
#: The longest column of a file is a description if its texts have this length.
_TEXT = 70
_TITLE = re.compile(r"titl|titre|poste|posit|role|job|name|nom|emploi|intitul")


def guess_reference(columns: ColumnSearch) -> Guess | None:
    """A column that is different in each record; without one, an id that is derived."""

    def usable(column: Column) -> bool:
        short = column.longest <= FIELD["referenceId"].most
        return short and columns.is_unique(column) and not column.kinds["url"] and not column.kinds["html"]

    found = columns.named("referenceId", usable)[:1]
    why = "by its name; different in each record"
    if not found:
        found = columns.alike(
            "referenceId",
            lambda c: (
                usable(c)
                and c.filled == columns.records > 1
                and c.average <= 40
                and ID_LIKE.match(columns.name(c)) is not None
            ),
            lambda c: (c.longest, c.selector),
        )
        why = "by its values: short, different in each record"
    return columns.guess("referenceId", found, found[0].selector, why) if found else _guess_derived(columns)


def _guess_derived(columns: ColumnSearch) -> Guess | None:
    """A digest of an id that is too long, or of what identifies the job and does not change."""
    long = [c for c in columns.all if columns.rank(c, "referenceId") is not None and columns.is_unique(c)]
    if long:
        long.sort(key=lambda c: (columns.rank(c, "referenceId"), c.selector))
        most = FIELD["referenceId"].most
        why = f"by its name; longer than {most} characters, so it is replaced by a digest"
        return columns.guess("referenceId", long[:1], {"from": long[0].selector, "too_long": "hash"}, why)
    used = [c for c in columns.all if c.share("url") > 0.9 and columns.is_unique(c)]
    used = [c for c in used if not columns.against(c, URL_FIELD)][:1]
    if not used:
        guesses = (guess_title(columns), guess_locations(columns))
        used = [column for guess in guesses if guess for column in guess.columns]
    selectors = list(dict.fromkeys(column.selector for column in used))
    if not selectors:
        return None
    why = "the file has no id that is different in each record, so one is derived from what should not change"
    return columns.guess("referenceId", used, {"derive": selectors}, why)


def guess_title(columns: ColumnSearch) -> Guess | None:
    """The column with a title's name, else the one with short, different texts."""

    def fits(column: Column) -> bool:
        plain = column.share("url", "email", "number", "html", "money") < 0.5
        return column.average < _LONG and plain and date_share(column) < 0.5

    found = columns.named("title", fits)
    why = "by its name"
    if not found:
        found = columns.alike(
            "title",
            lambda c: (
                fits(c)
                and 5 < c.average < 120
                and c.filled > columns.records * 0.8
                and c.different * 4 > c.values
            ),
            lambda c: (not _TITLE.search(columns.name(c)), -c.different, c.selector),
        )
        why = "by its values: short, different texts"
    if not found:
        return None
    source = one_or_list(found)
    if any(column.longest > FIELD["title"].most for column in found):
        source = {"from": source, "too_long": "truncate"}
    return columns.guess("title", found, source, why)


def guess_description(columns: ColumnSearch) -> Guess | None:
    """The columns with a description's name, else the one with the longest texts."""

    def fits(column: Column) -> bool:
        long = column.average > 40 or column.share("html") > 0.3
        return long and column.share("url", "email", "number") < 0.5

    found = columns.named("description", fits)
    if not found:
        sure = columns.called(SURELY_DESCRIPTION)
        found = [c for c in sure if not c.share("url", "email")][:1]
    why = "by its name"
    if not found:
        found = columns.alike(
            "description",
            lambda c: (
                fits(c) and (c.average > _TEXT or c.share("html") > 0.5) and c.filled > columns.records * 0.5
            ),
            lambda c: (-c.average, c.selector),
        )
        why = "by its values: the longest texts"
    if not found:
        return None
    if any(column.share("html") for column in found):
        why += "; HTML, of which what the API allows is kept"
    return columns.guess("description", found, {"from": one_or_list(found), "html": "clean"}, why)
