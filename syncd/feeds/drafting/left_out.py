"""The columns that say of single records that they are not for the public, or closed, where a status does not say it.

``Visibility`` is Internal, ``isInternal`` true, ``Filled Date`` has a date, ``Openings Remaining`` is 0. A rule of ``[rows]``
leaves such records out."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from syncd.domain import name_key
from syncd.feeds.drafting.columns import (
    AGAINST,
    DATE_KINDS,
    LEFT_OUT,
    PAY_WORDS,
    Column,
    ColumnSearch,
    kinds_of,
    unwrapped,
)
from syncd.feeds.mapping import flag_statuses, status_word
from syncd.feeds.mapping.transforms import says_no_date
from syncd.feeds.text import ticked, words_of
from syncd.values import plural

_NOTE = re.compile(r"\([^()]*\)")
#: Words for postings that the public sees.
_SHOWN = LEFT_OUT["public"] | LEFT_OUT["shown"]
#: Words for the use of a posting, in the names of columns of yes and no.
_DONE = LEFT_OUT["internal"] | _SHOWN | LEFT_OUT["offered"] | LEFT_OUT["hides"]
#: Kinds that names do not have.
_OF_VALUES = frozenset(("url", "email", "html", "money", "place", *DATE_KINDS))
#: Any value.
_ANY = "*"
#: Words that a first file may lack.
_INTERNAL, _FLAGS = (
    ("Internal", "Internal only", "Interne"),
    (
        ("false", "no", "n", "non", "0"),
        ("true", "yes", "y", "oui", "o", "1", "x"),
    ),
)
#: The share of the values that has to be of one kind.
_MOST = 0.9


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A rule: ``records`` have one of these ``values`` in ``column``, and are left out if that is ``certain`` to be meant.
    ``flag``: the column of yes and no is named after "internal" or "public"."""

    column: Column
    values: tuple[str, ...]
    records: int
    certain: bool
    flag: str = ""

    @property
    def said(self) -> str:
        if self.values[0][0] == "{":
            return f"{self.column.selector} may be as many as {self.values[0][1:-1]}"
        usual = {text for texts in (*_FLAGS, _INTERNAL) for text in texts}
        there = [text for text in self.values if text in self.column.few or text not in usual]
        values = "a value" if self.values == (_ANY,) else " or ".join(there or self.values)
        records = plural(self.records, "record") if self.records else "none of these records"
        return f"{self.column.selector} has {values} in {records}"


def records_to_leave_out(columns: ColumnSearch, used: Collection[str], today: str) -> list[LeftOut]:
    """Return the rules, the certain ones first. ``used``: the selectors of the status and of the close date."""
    others = (column for column in columns.all if column.selector not in used)
    rules = [rule for column in others for rule in _rules(column, columns.records, today)]
    rules += [
        rule for column in columns.empty if column.selector not in used for rule in _rules_of_empty(column)
    ]
    if counts := columns_of_counts(columns):
        rules.append(LeftOut(counts[1], (f"{{{counts[0].selector}}}",), 0, certain=True))
    # beside "Post to website" a "Post to intranet" hides nothing
    if any(rule.flag == "public" for rule in rules):
        rules = [rule for rule in rules if rule.flag != "internal"]
    return sorted((rule for rule in rules if rule.records or rule.certain), key=lambda rule: not rule.certain)


def doubts_of(columns: ColumnSearch, today: str) -> list[str]:
    """Return a doubt about a file without a header, and about each column by which a posting begins after ``today``, its pay is
    not to be seen, or that has yes or a date for those that are public and nothing for others."""
    doubts = []
    values = [column.selector for column in columns.all if _is_value(column)]
    if len(values) > 1:
        doubts.append(
            f"{values[0]} does not name a column: the first line has a record, which would not be read"
        )
    for column in columns.all:
        words = _words(column)
        ahead = sum(day > today for day in column.days) if words & LEFT_OUT["starts"] else 0
        if ahead and not words & LEFT_OUT["ends"] and column.rank("closeDate") is None:
            doubts.append(
                f"{column.selector} is after today in {plural(ahead, 'record')}, but these would be live at once"
            )
        hides = bool(words & LEFT_OUT["hides"] or words & LEFT_OUT["hidden"])
        if (
            _words(column, 2) & PAY_WORDS["words"]
            and (hides or words & LEFT_OUT["shown"])
            and column.share("flag") > _MOST
            and (hidden := sum(_that_mean(column, hides).values()))
        ):
            doubts.append(
                f"{column.selector} hides the pay of {plural(hidden, 'record')}, but it would be public"
            )
        flag, blank = flag_statuses(column.selector), columns.records - column.filled
        public = (
            flag[True] == "active" if flag else not hides and bool(words & (_SHOWN | LEFT_OUT["offered"]))
        )
        named = any(word.startswith("publi") for word in words) and not words & LEFT_OUT["ends"]
        published = named and column.share(*DATE_KINDS) > _MOST
        public = public and sum(_that_mean(column, True).values()) == column.values
        if blank and column.filled and (public or published):
            doubts.append(
                f"{column.selector} has no value in {plural(blank, 'record')}, and these would go in"
            )
    return doubts


def doubts_of_close_date(columns: ColumnSearch) -> list[str]:
    """Return a doubt about each column that is named after the close date and has other texts, for a draft that reads none."""
    doubts = []
    for column in columns.named("closeDate", lambda c: True):
        texts = (text for text in (*column.samples, *column.few) if not says_no_date(text))
        odd = [
            text for text in texts if not any(kind.startswith(("date", "serial")) for kind in kinds_of(text))
        ]
        if odd:
            doubts.append(f'{column.selector} is not read as a close date, as it has "{odd[0][:60]}"')
    return doubts


def _is_value(column: Column) -> bool:
    """Return whether the name of a column looks like its values, as where a file has no header."""
    return any(column.share(kind) > _MOST for kind in _OF_VALUES & kinds_of(column.selector))


def columns_of_counts(columns: ColumnSearch) -> tuple[Column, Column] | None:
    """Return the columns of the number of positions and of those that are filled."""
    counts = [(column, _words(column)) for column in columns.all if column.share("number") > _MOST]
    filled = [column for column, words in counts if words & LEFT_OUT["filled"]]
    not_all = LEFT_OUT["filled"] | LEFT_OUT["remaining"]
    positions = [c for c, words in counts if words & LEFT_OUT["openings"] and not words & not_all]
    return (positions[0], filled[0]) if positions and filled else None


def _words(column: Column, steps: int = 1) -> set[str]:
    """Return the words of the last steps of the selector."""
    parts = re.split(r"[./@\[\]\"]", unwrapped(_NOTE.sub("", column.selector)).rstrip('"]'))
    return set(words_of(" ".join([part for part in parts if part][-steps:])))


def _that_mean(column: Column, means: bool) -> dict[str, int]:
    """Return the values of a flag that mean yes, or no, with their counts."""
    return {text: n for text, n in column.few.items() if ticked(text) is means}


def _rules(column: Column, records: int, today: str) -> Iterator[LeftOut]:
    words = _words(column)
    rest = words - LEFT_OUT["fillers"] or words & LEFT_OUT["offered"]
    hidden = LEFT_OUT["hidden"] if words & LEFT_OUT["only"] else frozenset[str]()  # "Employees only"
    rest -= LEFT_OUT["only"] if hidden & rest else set()
    of_work = words in ({"on", "site"}, {"sur", "site"}, {"live", "in"})
    if of_work or _words(column, 2) & PAY_WORDS["words"]:  # salary/@display
        return
    meanings = {text: _is_internal(text) for text in column.few}
    internal = {text: column.few[text] for text, is_internal in meanings.items() if is_internal}
    if internal or (meanings and column.different == len(meanings) and None not in meanings.values()):
        named, times = bool(words & LEFT_OUT["audience"]), sum(internal.values())
        about_others = any(word in column.parts for word in AGAINST["leftOut"])
        pair = None not in meanings.values() and 0 < times < column.values
        usual = [word for word in _INTERNAL if name_key(word) not in map(name_key, internal)] if named else []
        single = column.values == column.filled  # lists may have both
        yield LeftOut(column, (*internal, *usual), times, not about_others and single and (named or pair))
    elif column.share("flag") > _MOST and (of := rest & (_DONE | hidden)):
        inside = of <= LEFT_OUT["internal"] | hidden
        hides = inside or bool(of & LEFT_OUT["hides"])
        values = _that_mean(column, hides)
        flag = "internal" if inside and not words & LEFT_OUT["only"] else "" if hides else "public"
        if hides or rest == of:
            others = (*_FLAGS[hides], *(_INTERNAL if inside else ()))  # a later file may have these
            others = tuple(word for word in others if word not in map(str.casefold, values))
            yield LeftOut(column, (*values, *others), sum(values.values()), rest == of, flag)
    elif words & LEFT_OUT["openings"] and not words & LEFT_OUT["filled"] and column.share("number") > _MOST:
        remaining = bool(words & LEFT_OUT["remaining"])
        yield LeftOut(column, ("0",), column.few["0"], remaining and column.few["0"] < column.values)
    elif words & (LEFT_OUT["dates"] | LEFT_OUT["reasons"]) and column.rank("closeDate") is None:
        closing = _closing(rest)
        dates = column.share(*DATE_KINDS) > _MOST
        past = dates and max(column.days, default="") <= today
        reason = bool(words & LEFT_OUT["reasons"]) and not dates
        if closing and (dates or reason):
            certain = rest <= closing and (past or (reason and column.filled < records))
            yield LeftOut(column, (_ANY,), column.filled, certain)


def _rules_of_empty(column: Column) -> Iterator[LeftOut]:
    """Yield the rule of a column that has no value yet, as where nothing is on hold in a first file."""
    words, flag = _words(column), flag_statuses(column.selector)
    rest = words - LEFT_OUT["fillers"]
    values: tuple[str, ...] = ()
    if words & PAY_WORDS["words"] or any(word in column.parts for word in AGAINST["leftOut"]):
        return
    if flag or (rest and rest <= LEFT_OUT["internal"] | LEFT_OUT["hides"]):
        values = _FLAGS[flag is None or flag[True] != "active"]
    elif words & LEFT_OUT["audience"] and rest and rest <= LEFT_OUT["audience"] | {"type"}:
        values = _INTERNAL
    elif words & (LEFT_OUT["dates"] | LEFT_OUT["reasons"]) and column.rank("closeDate") is None:
        values = (_ANY,) if rest and rest <= _closing(rest) else ()
    if values:
        yield LeftOut(column, values, 0, certain=True)


def may_hide(name: str) -> bool:
    """Return whether a name is that of a column that says of postings that they are closed, or not for the public, or that they
    or their pay are abroad."""
    column = Column(name)
    fields = ("status", "closeDate", "confidential", "country", "currency")
    return any(column.rank(field) is not None for field in fields) or any(_rules_of_empty(column))


def _closing(words: set[str]) -> set[str]:
    """Return the words for the end of a posting. One for the people of the house ends nothing: "Internal posting date"."""
    ends = {word for word in words if status_word(word) == "archived" or word in LEFT_OUT["closing"]}
    return ends - LEFT_OUT["internal"]


def _is_internal(text: str) -> bool | None:
    """Return whether a value says that a posting is not for the public; None: it does not say for whom it is."""
    words = set(name_key(text).split()) - LEFT_OUT["fillers"]
    if not words or words - LEFT_OUT["internal"] - LEFT_OUT["hidden"] - _SHOWN:
        return None
    return not words & LEFT_OUT["public"] and not words <= LEFT_OUT["shown"]
