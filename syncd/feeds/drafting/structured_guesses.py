"""Guesses at the fields that have a grammar of their own: the close date, the locations and the status."""

import re
from collections import Counter
from dataclasses import replace
from datetime import date

from syncd.domain import name_key
from syncd.feeds.drafting.columns import (
    AGAINST,
    DATE_KINDS,
    DATE_NAMES,
    LEFT_OUT,
    NAMES,
    Column,
    ColumnSearch,
    Guess,
)
from syncd.feeds.drafting.left_out import columns_of_counts
from syncd.feeds.mapping import flag_statuses, status_word
from syncd.feeds.mapping.transforms import compile_dates
from syncd.feeds.text import boolean, is_formula_error, words_of

_MAX_TEXT = 200
#: The most different values of a status, and the most columns that say it together.
_MAX_STATUSES, _MAX_STATUS_COLUMNS = 30, 4
#: Names and words that are of use for other things as well ("stage" is also an internship).
_VAGUE_NAMES = frozenset(("state", "etat", "stage", "etape", "phase"))
_VAGUE_WORDS = frozenset(
    "online live en ligne private prive privee future preview planned complete completed hidden visible listed enabled disabled"
    " hired public publique internal interne external externe upcoming".split()
) | {"en ligne"}
_APPROVED = {"approved": "active", "approuve": "active", "approuvee": "active", "waiting": "draft"}
_NOTE = re.compile(r"\([^()]*\)")
_PLACES = ("city", "province", "location", "country")
#: Names of the last day of the work itself, not of the posting (``contract/end_date``).
_END_OF_WORK = re.compile(r"(?:contrac?t|assignment|mandat)\w*(?:end|fin|to|until|expir)")
#: Formats with the day or the month first. A mapping has at most one of them.
_ORDERS = ("dmy", "mdy")
_DATES = {order: compile_dates([order]) for order in ("ymd", *_ORDERS)}


def guess_close_date(columns: ColumnSearch, today: str) -> Guess | None:
    """Return the column of dates with such a name, else one of which most dates are after ``today``."""

    def ahead(column: Column) -> int:
        return sum(day > today for day in column.days)

    def looks(column: Column) -> bool:
        most = ahead(column) * 2 > max(len(column.days), column.values // 2)
        return most and bool(_formats(column, columns, today)) and not _END_OF_WORK.search(column.parts)

    dates, why = columns.find(
        "closeDate",
        lambda c: bool(_formats(c, columns, today)) and not _END_OF_WORK.search(c.parts),
        looks,
        lambda c: (-ahead(c),),
        "most dates lie ahead",
    )
    if not dates:
        return None
    del dates[1:]
    formats = _formats(dates[0], columns, today)
    why += f"; dates as {', '.join(formats)}"
    if "numbers" in formats:
        why += ": day or month may come first, and the file does not show which; write dmy or mdy in place of numbers"
    expression: dict[str, object] = {"from": dates[0].selector}
    if formats != ["iso"]:
        expression["date"] = formats
    plain = dict.fromkeys(_words_for_no_date(dates[0]), "")
    if plain:
        expression["lookup"] = "no_date"
    guess = columns.guess("closeDate", dates, expression if len(expression) > 1 else dates[0].selector, why)
    return replace(guess, lookup=plain)


def _formats(column: Column, columns: ColumnSearch, today: str) -> list[str]:
    """Return the formats in which nine of ten values can be read; none: the column has no dates."""
    kinds = column.kinds
    if kinds["date:iso"]:  # beside these, dates without hyphens are of the same format
        kinds = kinds + Counter({"date:iso": kinds["serial:iso"]})
    serials = ("epoch_ms", "epoch", "excel", "iso")
    dates = column.values - sum(_words_for_no_date(column).values())
    whole = [name for name in serials if kinds[f"serial:{name}"] > 0.9 * dates]
    if whole:
        return whole
    names = [name for name in DATE_NAMES if kinds[f"date:{name}"]]
    numbered = kinds["serial:excel"]  # cells of a spreadsheet beside texts
    if not names or sum(kinds[f"date:{name}"] for name in names) + numbered < 0.9 * dates:
        return []
    if "ymd" in names and (first := _year_first(column, today)) is not None:
        names = [name for name in names if name not in (_ORDERS if first else ("ymd",))]
    if any(order in names for order in _ORDERS):
        in_file = sum((c.kinds for c in columns.all), Counter[str]())
        order = _day_or_month_first(kinds) or _day_or_month_first(in_file) or "numbers"
        names = [*(name for name in names if name not in _ORDERS), order]
    return [*sorted(names, key=lambda name: -kinds[f"date:{name}"]), *(["excel"] if numbered else [])]


def _year_first(column: Column, today: str) -> bool | None:
    """Return whether years of two digits come first ("27-03-15") or last ("15/03/27"): most dates are nearer to ``today`` so.
    None: no date can be read both ways."""
    votes = Counter[bool]()
    for text in column.few:
        days = {order: day for order in ("ymd", *_ORDERS) if (day := _DATES[order](text))}
        if "ymd" in days and len(days) > 1:
            votes[min(days, key=lambda order: abs(_ordinal(days[order]) - _ordinal(today))) == "ymd"] += 1
    return votes[True] > votes[False] if votes else None


def _ordinal(day: str) -> int:
    return date.fromisoformat(day).toordinal()


def _day_or_month_first(kinds: Counter[str]) -> str | None:
    dmy, mdy = (kinds[f"date:{order}"] for order in _ORDERS)
    return None if dmy == mdy else "dmy" if dmy > mdy else "mdy"


def _words_for_no_date(column: Column) -> Counter[str]:
    """Return the words in a column of dates ("Not specified"), if they are few, but for failed formulas ("#REF!")."""
    words = Counter({word: count for word, count in column.texts.items() if not is_formula_error(word)})
    return words if 0 < len(words) < 5 and column.texts.total() < column.values else Counter()


def guess_locations(columns: ColumnSearch) -> Guess | None:
    """Return city and province, or one column with the place, or both as alternatives."""
    city = columns.named("city", lambda c: c.average < 80)
    province = columns.named(
        "province",
        lambda c: c.share("province") > 0.3 or (c.average < 40 and c.kinds["status"] * 2 <= c.values),
    )
    place = columns.named("location", lambda c: c.average < _MAX_TEXT and c.share("province") <= 0.5)
    if place:  # a place in one column, and its province in another that is named after a place as well
        province = province or columns.named("location", lambda c: c.share("province") > 0.5)
    else:
        place = columns.named("location", lambda c: c.average < _MAX_TEXT)
    two = not city and place and province and place[0] is not province[0]
    if two and place[0].share("place") <= 0.3 < province[0].share("province"):
        city = place[:1]
    place = [c for c in place if not city or c is not city[0]]
    country = columns.named("country", lambda c: c.average < 40)[:1]
    sources: list[object] = []
    two = city and province and province[0] is not city[0]
    if two and "{" not in city[0].selector + province[0].selector:  # a template can name both
        sources.append(_city_and_province(city[0], province[0]))
    # a city alone says less than "City, Province" beside it
    whole = [c for c in place if not sources and c.share("place") > 0.3]
    sources += [c.selector for c in whole[:1] or city[:1]]
    if not city or city[0].filled < columns.records:
        sources += [c.selector for c in place if c not in whole[:1]]
    used = [*city[:1], *province[:1], *place]
    if not sources:
        used = columns.alike("location", lambda c: c.share("place") > 0.3, lambda c: (-c.share("place"),))
        sources = [c.selector for c in used]
    if not sources:
        return None
    source = sources if len(sources) > 1 else sources[0]
    expression: dict[str, object] = {"from": source, "lookup": "location"}
    if country:
        expression["country"] = country[0].selector
    if postal := columns.named("postal", lambda c: c.average < 20):
        expression["postal"] = postal[0].selector
    entries, mark, name = _parted(city[0].selector) if city else ("", "", "")
    within = f"{entries}{mark}"
    first = sources[0]
    if isinstance(first, dict) and "each" in first and country and country[0].selector.startswith(within):
        # the country is that of each entry
        inner = {
            key: text.removeprefix(within)
            for key in ("country", "postal")
            if (text := str(expression.get(key))).startswith(within)
        }
        sources = [{"template": first["template"]}, name]
        expression = {"each": entries, "from": sources, "lookup": "location", **inner}
    why = "by the names" if len(sources) > 1 else "by its name or values"
    return columns.guess("locations", used, expression, why)


def guess_status(columns: ColumnSearch) -> Guess | None:
    """Return the columns of the status by their names and values, else one by its values, else one by its name alone. Of
    several the one that is farthest from live counts."""
    # not that of something else ("company.active", "contractType.active")
    others = AGAINST["status"]
    own = [c for c in columns.all if not any(word in c.parts for word in others) and not _is_of_a_field(c)]
    if counts := columns_of_counts(columns):
        own = [c for c in own if c is not counts[1]]
    fit = [c for c in own if c.different <= _MAX_STATUSES]
    named = [c for c in fit if _is_named_status(c)]
    named.sort(key=lambda c: (c.rank("status") is None, c.rank("status") or 0, _depth(c), c.selector))
    by_values = [c for c in fit if c not in named and _has_statuses(c)]
    used, why = [*named, *by_values][:_MAX_STATUS_COLUMNS], "by its name and values"
    if not named:
        used, why = by_values[:1], "by its values: words for open and closed"
    if all(flag_statuses(column.selector) is not None for column in used):
        others = ("position", "province", "url", "email", "html", "money", *DATE_KINDS)
        alone = columns.named("status", lambda c: c.average <= 40 and c.share(*others) <= 0.5)
        alone = [c for c in alone if c in fit and c.name not in _VAGUE_NAMES]
        used, why = [*alone[:1], *used], "by its name; most of its words are unknown"
    coded = [(c, meanings) for c in own if (meanings := _actions(c) or _letters(c) or _approvals(c))][:1]
    used = [*used, *(column for column, _ in coded if column not in used)]
    if not used:
        return None
    if len(used) > 1:
        why = "by the names; of several the one that is farthest from live counts"
    source: dict[str, object] = {"from": used[0].selector}
    if len(used) > 1:
        source = {"all": [column.selector for column in used]}
    guess = columns.guess("status", used, source | {"lookup": "status"}, why)
    return replace(guess, lookup=coded[0][1]) if coded else guess


def _depth(column: Column) -> int:
    return len(re.findall(r"[/.]", column.selector))


def _is_of_a_field(column: Column) -> bool:
    """Return whether a status is that of an entry of a catalogue, of a place or of one of several openings."""
    above = Column(_parted(column.selector)[0])
    if column.values > column.filled and not LEFT_OUT["openings"].isdisjoint(words_of(above.selector)):
        return True
    return any(above.rank(field) is not None for field in ("positionType", "categories", "salary", *_PLACES))


def _approvals(column: Column) -> dict[str, str]:
    """Return "approved" as active, in a column that is named after an approval."""
    named = "approv" in column.name or "moderation" in column.name or "approbation" in column.name
    words = {text: status_word(text) or _APPROVED.get(name_key(text)) for text in column.few}
    known = {text: status for text, status in words.items() if status}
    return known if named and len(known) == column.different and "active" in known.values() else {}


def _actions(column: Column) -> dict[str, str]:
    """Return the statuses that the words of a column such as ``action`` mean, if it has no others: "add", "delete"."""
    words = words_of(column.name)
    keys = {name_key(text): text for text in column.few}
    if len(keys) < column.different or not keys.keys() <= LEFT_OUT["kept"] | LEFT_OUT["deleted"]:
        return {}
    if LEFT_OUT["actions"].isdisjoint(words):
        return {}
    meanings = {text: "archived" if key in LEFT_OUT["deleted"] else "active" for key, text in keys.items()}
    return meanings | ({} if "archived" in meanings.values() else {"delete": "archived"})


def _letters(column: Column) -> dict[str, str]:
    """Return the statuses that the values mean whose words are the name of the column: O and F in "Ouvert/Fermé"."""
    words = [part.strip() for part in _NOTE.sub("", column.selector).split("/")]
    letters = {part[:1].casefold(): status for part in words if (status := status_word(part))}
    if len(letters) < 2 or len(letters) < len(words) or column.different > len(column.few):
        return {}
    yes_no = {text: "active" if boolean(text) is True else "archived" for text in column.few}
    known = all(text.casefold() in letters for text in column.few)
    return (
        {text: letters[text.casefold()] for text in column.few}
        if known
        else yes_no
        if column.share("flag") == 1
        else {}
    )


def _is_named_status(column: Column) -> bool:
    flag = flag_statuses(column.selector) is not None
    ranked = column.rank("status") is not None
    if not ranked and column.kinds["status"]:  # the words of "status.title"
        ranked = column.parts.removesuffix(column.name) in NAMES["status"]
    if not ranked and not flag:
        return False
    vague = column.name in _VAGUE_NAMES
    flags = column.kinds["flag"] if flag or not vague else 0
    vague = vague and column.kinds["province"] > 0
    one_known = column.kinds["status"] > 0 and ranked and not vague
    return one_known or (column.kinds["status"] + flags) * 2 > column.values


def _has_statuses(column: Column) -> bool:
    """Return whether most values are words that are used for little else than the status of a posting."""
    words = {text: count for text, count in column.texts.items() if status_word(text)}
    return (
        sum(count for text, count in words.items() if name_key(text) not in _VAGUE_WORDS) * 2 > column.values
    )


def _city_and_province(city: Column, province: Column) -> dict[str, object]:
    """Return one text of both, or one for each entry of a list that has both."""
    parent, mark, name = _parted(city.selector)
    other, _, below = _parted(province.selector)
    if mark and parent == other and city.values > city.filled:
        return {"each": parent, "template": f"{{{name}}}, {{{below}}}"}
    return {"template": f"{{{city.selector}}}, {{{province.selector}}}"}


def _parted(selector: str) -> tuple[str, str, str]:
    if '"' in selector or "@" in selector:
        return "", "", selector
    return selector.rpartition("/" if "/" in selector else ".")
