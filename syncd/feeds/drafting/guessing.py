"""Which of a file's values are which field of a job: by their names, then by what they look like.

Every guess has its reason in words, since a person is to judge it. Nothing here is used without being
written into a feed's file first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as attribute

from syncd.domain import FIELD, name_key
from syncd.feeds.drafting.column_facts import city_and_province, is_data_type, lacks_province
from syncd.feeds.drafting.column_search import MOST, Columns
from syncd.feeds.drafting.field_names import ID_LIKE, PERIODS, SURELY_DESCRIPTION
from syncd.feeds.drafting.survey import Column, Survey
from syncd.feeds.drafting.value_kinds import DATE_NAMES
from syncd.feeds.mapping import STATUSES
from syncd.feeds.mapping.transforms import DATE_FORMATS, parse

#: Text of this length is no name, title or place.
_LONG = 200
#: And of this, in the longest column of a file, a description.
_TEXT = 70


@dataclass(frozen=True, slots=True)
class Guess:
    """``expression`` as TOML values for [fields]; ``why`` in words; ``columns`` that it uses; ``share`` of the
    records for which it gives a value; ``lookup``: entries of ``[lookup.no_date]`` that it needs."""

    field: str
    expression: object
    why: str
    columns: tuple[Column, ...] = ()
    share: float = 1.0
    lookup: Mapping[str, str] = attribute(default_factory=dict)


class Guesser:
    """Guesses the fields of one survey."""

    def __init__(self, survey: Survey) -> None:
        self._columns = Columns(survey)
        self._records = self._columns.records

    def guesses(self) -> dict[str, Guess]:
        """By field, in the order in which a person would read them."""
        made = (
            self._reference(),
            self._title(),
            self._description(),
            self._close_date(),
            self._locations(),
            self._catalogue("categories", "category", "Other"),
            self._catalogue("positionType", "position", "Full Time"),
            self._salary(),
            self._status(),
            self._addresses("applicationUrl", "url", "host"),
            self._addresses("applicationEmail", "email"),
        )
        return {guess.field: guess for guess in made if guess is not None}

    def company(self) -> str | None:
        """The employer's name as the file has it, if it has one in most records."""
        found = self._columns.named("company", lambda column: column.average < 100 and column.different <= 3)
        return found[0].samples[0] if found and found[0].filled * 2 > self._records else None

    def near_addresses(self) -> list[Column]:
        """What is called like an address to apply at, but is none."""
        return self._columns.named("applicationUrl", lambda c: c.share("url", "host", "email") <= 0.5)

    def _made(self, field: str, columns: list[Column], expression: object, why: str) -> Guess:
        return Guess(field, expression, why, tuple(columns), self._columns.share(columns))

    # -- fields

    def _reference(self) -> Guess | None:
        def usable(column: Column) -> bool:
            return (
                column.longest <= FIELD["referenceId"].most
                and self._unique(column)
                and not column.kinds["url"]
                and not column.kinds["html"]
            )

        found = self._columns.named("referenceId", usable)
        if found:
            return self._made(
                "referenceId", found[:1], found[0].selector, "by its name; different in each record"
            )
        found = self._columns.alike(
            "referenceId",
            lambda c: (
                usable(c)
                and c.filled == self._records > 1
                and c.average <= 40
                and ID_LIKE.match(self._columns.name(c)) is not None
            ),
            lambda c: (c.longest, c.selector),
        )
        if found:
            return self._made(
                "referenceId", found, found[0].selector, "by its values: short, different in each record"
            )
        return self._derived()

    def _unique(self, column: Column) -> bool:
        return column.different >= min(column.values, 20_000) * 0.9 and (
            column.filled >= self._records * 0.9
            or column.filled == self._records - 1 > 1  # a row may lack it
        )

    def _derived(self) -> Guess | None:
        """No id that could be one: a digest of a long one, or of what identifies the job and does not
        change."""
        long = [
            c
            for c in self._columns.all
            if self._columns.rank(c, "referenceId") is not None and self._unique(c)
        ]
        if long:
            long.sort(key=lambda c: (self._columns.rank(c, "referenceId"), c.selector))
            why = (
                f"by its name; longer than {FIELD['referenceId'].most} characters, so a digest stands for it"
            )
            return self._made("referenceId", long[:1], {"from": long[0].selector, "too_long": "hash"}, why)
        columns = [c for c in self._columns.all if c.share("url") > 0.9 and self._unique(c)]
        columns = [c for c in columns if not self._columns.against(c, "applicationUrl")][:1]
        if not columns:
            columns = [c for guess in (self._title(), self._locations()) if guess for c in guess.columns]
        selectors = list(dict.fromkeys(c.selector for c in columns))
        if not selectors:
            return None
        why = "the file has no id that is different in each record, so one is derived from what should not change"
        return self._made("referenceId", columns, {"derive": selectors}, why)

    def _title(self) -> Guess | None:
        def fits(column: Column) -> bool:
            return (
                column.average < _LONG
                and column.share("url", "email", "number", "html", "money") < 0.5
                and self._date_share(column) < 0.5
            )

        found = self._columns.named("title", fits)
        why = "by its name"
        if not found:
            words = re.compile(r"titl|titre|poste|posit|role|job|name|nom|emploi|intitul")
            found = self._columns.alike(
                "title",
                lambda c: (
                    fits(c)
                    and 5 < c.average < 120
                    and c.filled > self._records * 0.8
                    and c.different * 4 > c.values
                ),
                lambda c: (not words.search(self._columns.name(c)), -c.different, c.selector),
            )
            why = "by its values: short, different texts"
        if not found:
            return None
        cut = any(column.longest > FIELD["title"].most for column in found)
        source = _one_or_list(found)
        return self._made("title", found, {"from": source, "too_long": "truncate"} if cut else source, why)

    def _description(self) -> Guess | None:
        def fits(column: Column) -> bool:
            return column.share("url", "email", "number") < 0.5 and (
                column.average > 40 or column.share("html") > 0.3
            )

        found = self._columns.named("description", fits)[:MOST]
        if not found:
            sure = self._columns.called(SURELY_DESCRIPTION)
            found = [c for c in sure if not c.share("url", "email")][:1]
        why = "by its name"
        if not found:
            found = self._columns.alike(
                "description",
                lambda c: (
                    fits(c)
                    and (c.average > _TEXT or c.share("html") > 0.5)
                    and c.filled > self._records * 0.5
                ),
                lambda c: (-c.average, c.selector),
            )
            why = "by its values: the longest texts"
        if not found:
            return None
        if any(column.share("html") for column in found):
            why += "; HTML, of which what the API allows is kept"
        return self._made("description", found, {"from": _one_or_list(found), "html": "clean"}, why)

    def _date_share(self, column: Column) -> float:
        return column.share(*(f"date:{name}" for name in DATE_NAMES))

    def _formats(self, column: Column, *, serials: bool = False) -> list[str]:
        """The formats in which nine of ten values can be read; none: it has no dates."""
        kinds = column.kinds
        if serials:
            whole = [
                name
                for name in ("epoch_ms", "epoch", "excel")
                if kinds[f"serial:{name}"] > 0.9 * column.values
            ]
            if whole:
                return whole
        names = [name for name in DATE_NAMES if kinds[f"date:{name}"]]
        plain = _no_dates(column)
        if (
            sum(kinds[f"date:{name}"] for name in names) < 0.9 * (column.values - sum(plain.values()))
            or not names
        ):
            return []
        return _ordered(names, kinds, self._order())

    def _order(self) -> str | None:
        """Day or month first, as the rest of the file has it."""
        totals = {order: sum(c.kinds[f"date:{order}"] for c in self._columns.all) for order in ("dmy", "mdy")}
        if totals["dmy"] == totals["mdy"]:
            return None
        return max(totals, key=lambda order: totals[order])

    def _close_date(self) -> Guess | None:
        found = self._columns.named("closeDate", lambda c: bool(self._formats(c, serials=True)))[:1]
        if not found or self._columns.against(found[0], "closeDate"):
            return None
        formats = self._formats(found[0], serials=True)
        why = f"by its name; dates as {', '.join(formats)}"
        if "numbers" in formats:
            why += ": day or month may come first, nothing tells; dmy or mdy in place of numbers says it"
        expression: dict[str, object] = {"from": found[0].selector}
        if formats != ["iso"]:
            expression["date"] = formats
        plain = dict.fromkeys(_no_dates(found[0]), "")
        if plain:
            expression["lookup"] = "no_date"
        guess = self._made("closeDate", found, expression if len(expression) > 1 else found[0].selector, why)
        return replace(guess, lookup=plain)

    def _locations(self) -> Guess | None:
        city = self._columns.named("city", lambda c: c.average < 80)
        province = self._columns.named("province", lambda c: c.share("province") > 0.3 or c.average < 40)
        place = self._columns.named(
            "location", lambda c: c.average < _LONG and not self._columns.against(c, "location")
        )
        if not city and lacks_province(place, province):
            city = place[:1]
        place = [c for c in place if not city or c is not city[0]]
        country = self._columns.named("country", lambda c: c.average < 40)[:1]
        sources: list[object] = []
        if (
            city
            and province
            and province[0] is not city[0]
            and "{" not in city[0].selector + province[0].selector
        ):
            sources.append(city_and_province(city[0], province[0], each=not country))
        # a city alone says less than "City, Province" beside it
        told = [c for c in place if not sources and c.share("place") > 0.3]
        sources += [c.selector for c in told[:1] or city[:1]]
        if not city or city[0].filled < self._records:
            sources += [c.selector for c in place if c not in told[:1]]
        columns = [*city[:1], *province[:1], *place]
        if not sources:
            columns = self._columns.alike(
                "location", lambda c: c.share("place") > 0.3, lambda c: (-c.share("place"), c.selector)
            )
            sources = [c.selector for c in columns]
        if not sources:
            return None
        expression: dict[str, object] = {
            "from": sources if len(sources) > 1 else sources[0],
            "lookup": "location",
        }
        if country:
            expression["country"] = country[0].selector
        return self._made(
            "locations", columns, expression, "by the names" if len(sources) > 1 else "by its name or values"
        )

    def _catalogue(self, name: str, lookup: str, default: str) -> Guess:
        def fits(column: Column) -> bool:
            plain = column.share("url", "email", "html", "number") < 0.5
            return column.average < 80 and plain and not is_data_type(column)

        found = [c for c in self._columns.named(name, fits) if not self._columns.against(c, name)]
        if not found:
            return Guess(name, {"value": default}, f"nothing in the file says so; {default} for all")
        source: dict[str, object] = {"from": _one_or_list(found)}
        marks = [
            mark for mark in (",", ";", "|") if any(mark in sample for c in found for sample in c.samples)
        ]
        if marks:
            source["split"] = marks
        source |= {"lookup": lookup, "default": default}
        return self._made(name, found, source, f"by its name; {default} where nothing fits")

    def _salary(self) -> Guess | None:
        low = self._columns.named("amount", lambda c: c.share("number", "money") > 0.3)[:1]
        high = self._columns.named("maxAmount", lambda c: c.share("number", "money") > 0.3)[:1]
        text = self._columns.named(
            "salary", lambda c: c.average < _LONG and not self._columns.against(c, "salary")
        )
        if not text and not low:
            text = self._columns.alike(
                "salary", lambda c: c.share("money") > 0.5 and c.average < 60, lambda c: c.selector
            )
        expression: dict[str, object] = {}
        used = [*low, *high]
        if low:
            expression["amount"] = low[0].selector
            for part, columns in (
                ("maxAmount", high),
                ("period", self._columns.named("period", lambda c: c.average < 30)[:1]),
                ("currency", self._columns.named("currency", lambda c: c.average < 10)[:1]),
            ):
                if columns:
                    expression[part] = columns[0].selector
                    used += columns
        if low and "period" not in expression and (period := _period_in(low[0])):
            expression["period"] = {"value": period}
        if text and not (low and text[0] in low):
            expression["text"] = _pay_text(text)
            used += text
        if not expression:
            return None
        return self._made("salary", used, expression, "by the names" if low else "by its name or values")

    def _status(self) -> Guess | None:
        """Only where every value seen is known to be one."""

        def fits(column: Column) -> bool:
            return column.different <= SAMPLED and all(
                name_key(sample) in STATUSES for sample in column.samples
            )

        found = self._columns.named("status", lambda c: c.values > 0 and fits(c))[:1]
        if not found or found[0].filled < self._records * 0.9:
            return None
        return self._made("status", found, found[0].selector, "by its name and values")

    def _addresses(self, name: str, kind: str, bare: str = "") -> Guess | None:
        """``bare``: a kind that counts as well in a column of the right name."""
        found = [
            c
            for c in self._columns.named(name, lambda c: c.kinds[kind] + c.kinds[bare] > 0.5 * c.values)
            if not self._columns.against(c, name)
        ]
        why = "by its name"
        if not found:
            found = self._columns.alike(
                name, lambda c: c.share(kind) > 0.8, lambda c: (-c.filled, -c.different, c.selector)
            )
            why = f"by its values: {'web' if kind == 'url' else 'e-mail'} addresses"
        return self._made(name, found, _one_or_list(found), why) if found else None


#: A column of statuses has no more different values than are sampled, so that all of them were seen.
SAMPLED = 3


def _no_dates(column: Column) -> Counter[str]:
    """Words in a column of dates ("Not specified"), if they are few."""
    return column.texts if 0 < len(column.texts) < 5 and column.texts.total() < column.values else Counter()


def _ordered(names: Sequence[str], kinds: dict[str, int], usual: str | None) -> list[str]:
    """Formats, those of most values first; day-first and month-first are never both there."""
    both = [name for name in ("dmy", "mdy") if name in names]
    kept = [name for name in names if name not in both]
    if both:
        counts = {name: kinds[f"date:{name}"] for name in both}
        best = max(both, key=lambda name: counts[name])
        decided = len(both) == 1 or len(set(counts.values())) > 1
        chosen = best if decided else usual
        kept.append(chosen or ("numbers" if "numbers" in DATE_FORMATS else "dmy"))
    return sorted(kept, key=lambda name: -kinds.get(f"date:{name}", 0))


def _pay_text(columns: list[Column]) -> object:
    """The columns; where the only one says by its name alone what the amounts are for, with that."""
    period = _period_in(columns[0])
    told = any(parse(sample).usable for sample in columns[0].samples)
    if len(columns) > 1 or period is None or told or "{" in columns[0].selector:
        return _one_or_list(columns)
    return {"template": f"{{{columns[0].selector}}} per {period}"}


def _period_in(column: Column) -> str | None:
    """What the column's name says that its amounts are for: "Hourly Rate"."""
    words = name_key(column.selector).split()
    return next((PERIODS[word] for word in words if word in PERIODS), None)


def _one_or_list(columns: list[Column]) -> object:
    selectors = [column.selector for column in columns]
    return selectors[0] if len(selectors) == 1 else selectors
