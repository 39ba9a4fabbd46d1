"""Guesses at the fields of a job: by the names of a file's columns, then by their values.

Every guess has its reason in words, for a person to check. Nothing is used without being written into a feed's file first."""

import re
from collections.abc import Sequence
from dataclasses import replace

from syncd.domain import FIELD, name_key
from syncd.feeds.drafting.columns import (
    DATE_KINDS,
    Column,
    ColumnSearch,
    Guess,
    one_or_list,
)
from syncd.feeds.drafting.pay_guesses import guess_salary
from syncd.feeds.drafting.structured_guesses import (
    guess_close_date,
    guess_locations,
    guess_status,
)
from syncd.feeds.mapping import EMAIL_FIELD, URL_FIELD, flag_positions
from syncd.feeds.mapping.transforms import unit_of
from syncd.feeds.text import words_of

#: The begin or the end of the name of an id ("annonce" has a "no" in it, too).
_ID_LIKE = re.compile(
    r"(?:id|ref|num|code|key)|no(?:dossier|offre|poste|emploi|annonce|concours|affichage|avis|job|posting|position)"
    r"|.*(?:id|ref|num|number|code|key|no)\Z"
)
#: Names of which even a short text is a description.
_SURELY_DESCRIPTION = ("description", "jobdescription", "descriptionposte")
#: The average lengths of a title, of a description and of a sentence, in characters.
_MAX_TITLE, _MIN_DESCRIPTION, _MIN_SENTENCE = 200, 70, 15
_TITLE = re.compile(r"titl|titre|poste|posit|role|job|name|nom|emploi|intitul")
#: Fields whose columns are never titles, whatever their values.
_NEVER_TITLES = ("description", "city", "province", "country", "location", "company")
#: The end of a path to a text for people, which does not identify a job.
_LABEL = re.compile(r"[./@](?:label|name|text|descriptor|short_?name|display_?name)\Z", re.IGNORECASE)
_CUT = re.compile(r"(?:\.\.\.|\u2026|&hellip;|&#8230;)[\])]?\s*(?:</\w+>\s*)*\Z")
#: Words of columns with the hours of a job.
_HOURS = re.compile(r"time|temps|hour|horaire|schedule|regime|partiel")
#: Words of a name, and the meanings of letters in such a column.
_CODES = (
    (("full", "part"), {"F": "Full Time", "P": "Part Time"}),
    (("reg", "temp"), {"R": "Permanent", "T": "Temp"}),
    (("tp", "tc"), {"TP": "Part Time", "TC": "Full Time"}),
    (("plein", "partiel"), {"C": "Full Time", "P": "Part Time"}),
)
#: The most different values of a column of position types or categories that is known by them alone.
_MAX_ENTRIES = 50
_KINDS = {"position": "types", "category": "categories"}
#: The name of an address to apply at. One in the plural is that of a list of candidates.
APPLYING = re.compile("apply|application(?!s)|postuler|candidature(?!s)")
#: Values of an attribute "type" that are about its element, and never about a job.
_DATA_TYPES = frozenset(
    "array boolean cdata date datetime decimal email float html integer number string text url xhtml xml".split()
)
#: The address of an API: of a record as JSON, and not of its page.
OF_PROGRAMS = re.compile(r"https?://(?:api\.|[^/]+/(?:[^?#]*/)?(?:api|wp-json|odata)/)", re.IGNORECASE)
#: The member with the kind of a JSON-LD node, and the kind that is a job.
KIND, POSTING = "@type", "JobPosting"


def guess_fields(columns: ColumnSearch, today: str) -> dict[str, Guess]:
    status, title, locations = guess_status(columns), _guess_title(columns), guess_locations(columns)
    salary = guess_salary(columns)
    taken = [column for guess in (status, title, locations, salary) if guess for column in guess.columns]
    position = _guess_entry(columns, "positionType", "position", "Full Time", taken)
    made = (
        _guess_reference(columns),
        title,
        _guess_description(columns),
        guess_close_date(columns, today),
        locations,
        _guess_entry(columns, "categories", "category", "Other", [*taken, *position.columns]),
        position,
        salary,
        status,
        _guess_confidential(columns),
        _guess_address(columns, URL_FIELD, "url", "host"),
        _guess_address(columns, EMAIL_FIELD, "email"),
    )
    return {guess.field: guess for guess in made if guess is not None}


def _guess_reference(columns: ColumnSearch) -> Guess | None:
    """Return a column that is different in each record; without one, an id that is derived."""

    def usable(column: Column) -> bool:
        return _is_short(column) and not _LABEL.search(column.selector) and columns.is_unique(column)

    def looks(column: Column) -> bool:
        short = column.average <= 40 and _ID_LIKE.match(column.name) is not None
        return short and usable(column) and column.filled == columns.records > 1

    ids, why = columns.find("referenceId", usable, looks, lambda c: (c.longest,), "short")
    if not ids:
        why = "by its values: codes"
        ids = columns.alike(
            "referenceId",
            lambda c: usable(c) and c.share("code") > 0.9 and c.rank("title") is None,
            lambda c: (-c.filled,),
        )
    if not ids:
        return _guess_derived(columns)
    return columns.guess("referenceId", ids[:1], ids[0].selector, f"{why}; different in each record")


def _is_short(column: Column) -> bool:
    """Return whether the values are short enough for an id, and that of the job."""
    short = column.longest <= FIELD["referenceId"].most and not column.kinds["url"] + column.kinds["html"]
    return short and _is_of_job(column)


def _is_of_job(column: Column) -> bool:
    """Return whether an id is not that of something else (``workLocation.id``)."""
    return not column.is_of_another("referenceId") and column.share("place", "province") < 0.5


def repeated_reference(columns: ColumnSearch) -> Guess | None:
    """Return the column with the name of an id that several records share, as where each place of a posting has a record."""

    ids = columns.named("referenceId", lambda c: _is_short(c) and c.filled >= columns.records * 0.9)[:1]
    why = "by its name; records that share it have one title"
    return columns.guess("referenceId", ids, ids[0].selector, why) if ids else None


def _guess_derived(columns: ColumnSearch) -> Guess | None:
    """Return a digest of an id that is too long, or of values that identify the job and do not change."""
    named = (c for c in columns.all if c.rank("referenceId") is not None and _is_of_job(c))
    long = [c for c in named if columns.is_unique(c)]
    if long:
        long.sort(key=lambda c: (c.rank("referenceId"), c.selector))
        most = FIELD["referenceId"].most
        why = f"by its name; longer than {most} characters, so it is replaced by a digest"
        return columns.guess("referenceId", long[:1], {"from": long[0].selector, "too_long": "hash"}, why)
    used = [c for c in columns.all if c.share("url") > 0.9 and columns.is_unique(c)]
    used = [c for c in used if not c.against(URL_FIELD)][:1]
    if not used:
        guesses = (_guess_title(columns), guess_locations(columns))
        used = [column for guess in guesses if guess for column in guess.columns]
    selectors = list(dict.fromkeys(column.selector for column in used))
    if not selectors:
        return None
    why = "the file has no id that is different in each record, so one is derived from what should not change"
    return columns.guess("referenceId", used, {"derive": selectors}, why)


def _guess_title(columns: ColumnSearch) -> Guess | None:
    def fits(column: Column) -> bool:
        plain = column.share("url", "email", "number", "money", "position", "province") < 0.5
        plain = plain and (column.share("html") < 0.5 or column.average < _MIN_DESCRIPTION)
        return column.average < _MAX_TITLE and plain and column.share(*DATE_KINDS) < 0.5

    def looks(column: Column) -> bool:
        different = column.different * 4 > column.values and column.filled > columns.records * 0.8
        other = any(column.rank(field) is not None for field in _NEVER_TITLES)
        return different and 5 < column.average < 120 and fits(column) and not other

    def order(column: Column) -> tuple[float, ...]:
        return not _TITLE.search(column.name), -column.different

    titles, why = columns.named("title", lambda c: c.different > 1 and fits(c)), "by its name"
    if not titles:
        titles, why = columns.find("title", fits, looks, order, "short, different texts")
    if not titles:
        return None
    source = one_or_list(titles)
    if any(column.longest > FIELD["title"].most for column in titles):
        source = {"from": source, "too_long": "truncate"}
    return columns.guess("title", titles, source, why)


def is_cut(text: str) -> bool:
    """Return whether a text is the beginning of a longer one: "Prepares lunch and…"."""
    return _CUT.search(text[-_MIN_SENTENCE * 2 :]) is not None


def _guess_description(columns: ColumnSearch) -> Guess | None:
    def plain(column: Column) -> bool:
        return column.share("url", "path", "email", "number") < 0.5

    def fits(column: Column) -> bool:
        long = (column.average > 40 or column.share("html") > 0.3) and not all(map(is_cut, column.samples))
        return long and plain(column)

    def looks(column: Column) -> bool:
        long = column.average > _MIN_DESCRIPTION or column.share("html") > 0.5
        return long and column.filled > columns.records * 0.5 and fits(column)

    texts, why = columns.named("description", fits), "by its name"
    if not texts:
        texts = [c for c in columns.all if c.name in _SURELY_DESCRIPTION and not c.share("url", "email")][:1]
    if not texts:
        texts = columns.alike("description", looks, lambda c: (-c.average,))
        why = "by its values: the longest texts"
    if not texts:  # texts that are cut, or short ones under a name that has other uses, too
        texts = columns.named("description", lambda c: c.average > _MIN_SENTENCE and plain(c))
        why = "by its name"
    if not texts:
        return None
    if any(column.share("html") for column in texts):
        why += "; HTML, of which what the API allows is kept"
    return columns.guess("description", texts, {"from": one_or_list(texts), "html": "clean"}, why)


def _guess_entry(
    columns: ColumnSearch, field: str, kind: str, default: str, taken: Sequence[Column]
) -> Guess:
    """Return entries of a catalogue by the column's name, else by its values, which are of ``kind``; ``default`` where the file
    has none. ``taken``: columns of other fields."""

    def fits(column: Column) -> bool:
        plain = column.share("url", "email", "html", "number") < 0.5
        plain = plain and not column.name_says_it and not _is_data_type(column)
        return column.average < 80 and plain and column not in taken

    sources, why, several = columns.named(field, fits), "by its name", "from"
    both, flags = (
        _typed(columns, [c for c in columns.all if fits(c)]) if field == "positionType" else ([], [])
    )
    if len(both) == 1 and sources and sources[0] not in both and sources[0].kinds[kind]:
        both += sources[:1]
    if len(both) > 1 and not flags:
        why, sources, several = "by the names or values; the first known type, or the hours", both, "all"
    elif both and (_codes(both[0]) or unit_of(both[0].selector)) and not flags:
        why, sources = "by its name and values", both
    elif flags:
        why, sources = "by the names, which are those of types; yes and no", [*both, *flags]
        several = "all" if len(sources) > 1 else "from"
    elif not any(column.kinds[kind] for column in sources):
        by_values = columns.alike(
            field,
            lambda c: fits(c) and c.share(kind) > 0.5 and c.different <= _MAX_ENTRIES,
            lambda c: (-c.share(kind), -c.filled),
        )
        # whatever the name, a column of nothing but types is one: WordPress calls it a category
        by_values = (
            by_values
            or [c for c in columns.all if c.share("position") > 0.9 and not c.kinds["category"] and fits(c)][
                : kind == "position"
            ]
        )
        if by_values:
            sources, why = by_values, f"by its values: known {_KINDS[kind]}"
    if not sources:
        without = (
            "; no column has known types"
            if kind == "position"
            else "; no column has a name for them or known ones"
        )
        if coded := columns.coded(field):
            without = f"; {coded} has numbers, which are not ids of syncd: a lookup can say what they mean"
        return Guess(field, {"value": default}, f"{default} for all {columns.records:,}{without}")
    source = {several: one_or_list(sources), "split": [",", ";", "|"], "lookup": kind, "default": default}
    guess = columns.guess(field, sources, source, f"{why}; {default} where nothing fits")
    return replace(guess, lookup={code: kind for column in both for code, kind in _codes(column).items()})


def _typed(columns: ColumnSearch, fit: Sequence[Column]) -> tuple[list[Column], list[Column]]:
    """Return the columns of the position type: that of its kind, that of its hours, and flags where no column has the hours.
    "Regular" does not say how much, "Part time" not how long."""
    own = [c for c in fit if c.rank("positionType") is not None or not c.against("positionType")]
    known = [c for c in own if c.different <= _MAX_ENTRIES and c.share("position") > 0.5]
    typed = [c for c in fit if c in known or _codes(c)]
    typed.sort(key=lambda c: (c.rank("positionType") is None, c.rank("positionType") or 0))
    hours = [c for c in typed if _has_hours(c)][:1]
    flags = [] if hours else _type_flags(columns)
    if not hours and not flags:  # hours a week, or a share of full time
        hours = [c for c in columns.all if unit_of(c.selector) and c.share("number") > 0.5][:1]
    return [*[c for c in typed if not _has_hours(c)][:1], *hours], flags


def _guess_confidential(columns: ColumnSearch) -> Guess | None:
    """Return the column of yes and no that hides the name of the employer."""
    flags = columns.named("confidential", lambda c: c.share("flag") == 1)[:1]
    return (
        columns.guess("confidential", flags, flags[0].selector, "by its name; yes and no") if flags else None
    )


def _codes(column: Column) -> dict[str, str]:
    """Return the meanings of the letters in a column whose name has their words: F and P in "Full/Part Time"."""
    words = words_of(column.selector)
    for names, meanings in _CODES:
        named = all(any(word.startswith(name) for word in words) for name in names)
        if (
            named
            and len(column.few) == column.different
            and all(code.upper() in meanings for code in column.few)
        ):
            return {code: meanings[code.upper()] for code in column.few}
    return {}


def _type_flags(columns: ColumnSearch) -> list[Column]:
    """Return the columns of yes and no that are named after a position type: temporary before part time before full time."""
    named = [
        (kind[0], column)
        for column in columns.all
        if (column.share("flag") > 0.9 or column.name_says_it)
        and (kind := flag_positions(column.plain_selector))
    ]
    return [column for _, column in sorted(named, key=lambda pair: -pair[0])]


def _has_hours(column: Column) -> bool:
    return any(_HOURS.search(name_key(text)) for text in (column.name, *column.texts, *column.samples))


def _is_data_type(column: Column) -> bool:
    """Return whether an attribute ``type`` has the kind of its element (``<content type="xhtml">``, a node of JSON-LD)."""
    if not column.selector.casefold().endswith(KIND):
        return False
    if POSTING in column.texts or column.selector.endswith(f".{KIND}"):
        return True
    return all("/" in text or text.casefold() in _DATA_TYPES for text in column.samples)


def _guess_address(columns: ColumnSearch, field: str, kind: str, bare: str = "") -> Guess | None:
    """Return the address to apply at. ``bare`` is a kind that counts as well in a column of the right name."""
    addresses, why = columns.find(
        field,
        lambda c: c.kinds[kind] + c.kinds[bare] > 0.5 * c.values and not _doubt(c, columns, field),
        lambda c: c.share(kind) > 0.8 and not _doubt(c, columns, field),
        lambda c: (-c.filled, -c.different),
        f"{'web' if kind == 'url' else 'e-mail'} addresses",
    )
    if not any(APPLYING.search(column.name) for column in addresses[:1]):
        applying = [c for c in columns.all if APPLYING.search(c.name) and c.share(kind) > 0.8]
        applying = [c for c in applying if not _doubt(c, columns, field)][:1]
        addresses, why = applying or addresses, "by its name" if applying else why
    return columns.guess(field, addresses, one_or_list(addresses), why) if addresses else None


def doubted_addresses(columns: ColumnSearch) -> list[tuple[Column, str, str]]:
    """Return the columns of addresses that are not taken for those to apply at, each with its field and the reason."""
    fields = ((URL_FIELD, "url"), (EMAIL_FIELD, "email"))
    doubted = (
        (c, field, _doubt(c, columns, field))
        for field, kind in fields
        for c in columns.all
        if c.share(kind) > 0.5
    )
    return [(column, field, why) for column, field, why in doubted if why]


def _doubt(column: Column, columns: ColumnSearch, field: str) -> str:
    """Return the reason why an address is not that to apply at, or "". Many employers have one mailbox for applications."""
    if column.is_of_another(field):
        return "is named after something else"
    mailbox = field == EMAIL_FIELD and column.rank(field) is not None
    if column.different == 1 < columns.records and not mailbox:
        return f"is the same in all {column.filled:,} records that have it"
    if field == URL_FIELD and all(map(OF_PROGRAMS.match, column.samples)):
        return "is for programs, not for people"
    if len(column.pages) == 1 < columns.records and not mailbox:
        return f"leads to the same page in all {column.filled:,} records that have it"
    return ""
