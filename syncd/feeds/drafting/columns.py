"""The columns of a file, the kinds of their values (a date, an address, HTML, money, a place), and the search for fields."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute
from functools import lru_cache
from importlib.resources import files
from itertools import chain

from syncd.domain import Catalogue, name_key, province_code
from syncd.feeds.mapping import compile_selector, position_of, status_word
from syncd.feeds.mapping.transforms import compile_dates
from syncd.feeds.readers import Format
from syncd.feeds.text import HOST, page_at, ticked, unescaped, words_of

#: The most samples of a column that are kept, and the most different values that are counted.
MAX_SAMPLES, MAX_DIFFERENT = 3, 20_000
#: The most alternatives for a field.
_MAX_ALTERNATIVES = 3
#: The most characters of a word for a status, and of a category.
_MAX_STATUS, _MAX_CATEGORY = 60, 80
_CATALOGUE = Catalogue.default()
#: The most different short texts without a digit that are kept of a column, and short values that are counted each.
_MAX_TEXTS, _MAX_FEW = 6, 12
#: The most dates that are kept of a column.
_MAX_DAYS = 200
_DIGIT = re.compile(r"\d")
_URL = re.compile(r"(?:https?://|www\.)\S+\Z", re.IGNORECASE)
_EMAIL = re.compile(r"(?:mailto:)?[^\s@<>\"?]+@[^\s@<>\"?]+\.[A-Za-z]{2,24}(?:\?.*)?\Z")
_HTML = re.compile(
    r"(?:<|&lt;)/?(?:p|br|div|ul|ol|li|b|strong|em|i|a|h[1-6]|span|table|font|u)\b[^<>]{0,500}(?:>|&gt;)",
    re.IGNORECASE,
)
_PATH = re.compile(r"/[^\s/]\S*\Z")
_CODE = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9][\w#-]{2,39}\Z")
_NUMBER = re.compile(r"-?(?:\d{1,15}|\d{1,3}(?:[ ,.'\u00a0\u202f]\d{3})+)(?:[.,]\d{1,4})?\Z")
_MONEY = re.compile(
    r"(?:[$€£]|\bCAD\b|\bUSD\b)\s?\d|\d\s?(?:\$|€|£)|"
    r"\d.{0,40}(?:/\s?(?:h|hr|hour|year|yr|an|mois|week|day)\b|\bper (?:hour|year|annum|month|week|day)\b"
    r"|\bde l'heure\b|\bpar (?:heure|an|mois|semaine|jour)\b|\bannually\b|\bhourly\b)",
    re.IGNORECASE,
)
_CITY_PROVINCE = re.compile(r"[^\d<>@,]{2,80},\s*([^,]{2,40})(?:,\s*(?:CA|Canada))?\Z")
_NOT_A_DATE = re.compile(r"\d+(?:\.\d+)?\Z")
#: Formats that can be read without knowing the feed, the surest first. ``dmy`` and ``mdy`` together: the order is unknown.
DATE_NAMES = ("iso", "rfc822", "ymd", "dmy", "mdy", "words")
DATE_KINDS = tuple(f"date:{name}" for name in DATE_NAMES)
#: For whole numbers, by their length.
_SERIALS = {5: "excel", 8: "iso", 10: "epoch", 13: "epoch_ms"}
_PARSERS = {name: compile_dates([name]) for name in (*DATE_NAMES, "excel", "epoch", "epoch_ms")}

#: The selector of the name of an element that is the value itself: of the first one in ``X``, of ``X`` if the record has it.
NAME_OF = re.compile(r"local-name\(([^()]+?)(/\*)?\)\Z")
#: Of several columns of a CSV that have one name: ``location[1]``.
_NUMBER_OF_SEVERAL = re.compile(r"(?<=.)\[\d+\]\Z")
#: The name of a facet in its selector: ``custom[label=Job type].value``.
_FACET = re.compile(r"\[@?[^\[\]=]+=\"?([^\[\]\"]+)\"?\][^\[\]]*\Z")
_NOTE = re.compile(r"\s*\([^()]*\)")
#: Last steps that only wrap a value: of MongoDB (``closing.$date.$numberLong``), of Firestore and DynamoDB, of programs that
#: turn XML into JSON, of WordPress; and the end of a name of Salesforce (``Job_Title__c``).
_WRAPPERS = re.compile(
    r"(?<=.)(?:[./@](?:\$\w+|[#_]+(?:text|cdata)|rendered|(?:boolean|double|integer|string|timestamp)Value|_seconds|BOOL|[NS])"
    r"|__p?[cr])+\Z"
)
#: The value of a property of Notion (``properties.Type.select.name``).
_PROPERTY = re.compile(
    r"\b(properties\.[^.]+)\.(?:\w+\.(?:plain_text|name|start)|checkbox|email|number|url|formula\.\w+)\Z"
)
#: Words that change nothing: "titre du poste" is "titreposte".
_EMPTY = frozenset("a au aux d de des du l la le les of the for your our".split())


def comparable(name: str) -> str:
    words = name_key(unescaped(name).replace("#", " number ")).split()
    return "".join(word for word in words if word not in _EMPTY) or "".join(words)


def _by_field(words: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {field: tuple(dict.fromkeys(map(comparable, names.split()))) for field, names in words.items()}


_WORDS = tomllib.loads(files(__package__).joinpath("field_names.toml").read_text("utf-8"))
#: Field → its names, the likeliest first; and words inside a name that are against it.
NAMES, AGAINST = _by_field(_WORDS["names"]), _by_field(_WORDS["against"])
#: Fields of a place, of which a record may have that of the employer, too.
_OF_OTHERS = ("city", "province", "postal")
_KNOWN = frozenset(name for names in NAMES.values() for name in names)
#: Words for a posting, which change nothing in a name; names that say nothing beside them; last steps that are the value of the
#: one above.
_CONTEXT, _VAGUE, _VALUES = (
    frozenset(_WORDS["words"][kind].split()) for kind in ("context", "vague", "values")
)
#: Words in the names of columns of pay, of columns that say that a record is not for the public, or closed, and of close dates.
PAY_WORDS, LEFT_OUT, CLOSING = (
    {kind: frozenset(words.split()) for kind, words in _WORDS[table].items()}
    for table in ("pay", "leftOut", "closing")
)
#: Words in the name of a column of amounts → the period of the pay.
PERIODS = {word: period for period, words in _WORDS["periods"].items() for word in words.split()}


@dataclass(slots=True)
class Column:
    """One place in the records.

    ``selector`` is written as in a mapping. ``filled`` is the number of records with a value there, ``values`` that of all
    values (a list has several); ``kinds`` counts their kinds. ``texts`` are some short values without a digit, ``few`` some
    with. ``longest`` and ``total`` are in characters; ``different`` is the number of different values, up to a limit; ``days``
    are the first dates, in ISO 8601; ``pages`` the first two pages at which addresses lead."""

    selector: str
    filled: int = 0
    values: int = 0
    kinds: Counter[str] = attribute(default_factory=Counter)
    samples: list[str] = attribute(default_factory=list)
    texts: Counter[str] = attribute(default_factory=Counter)
    few: Counter[str] = attribute(default_factory=Counter)
    longest: int = 0
    total: int = 0
    days: list[str] = attribute(default_factory=list)
    pages: set[str] = attribute(default_factory=set)
    _seen: set[int] = attribute(default_factory=set)

    @property
    def different(self) -> int:
        return len(self._seen)

    @property
    def average(self) -> float:
        return self.total / self.values if self.values else 0.0

    @property
    def plain_selector(self) -> str:
        """The selector of the element, where the column has its name."""
        named = NAME_OF.match(self.selector)
        return named[1] if named else self.selector

    @property
    def name_says_it(self) -> bool:
        """Return whether the column has the name of an element that is there or not (``<PartTime/>``)."""
        named = NAME_OF.match(self.selector)
        return named is not None and not named[2]

    @property
    def name(self) -> str:
        """The last step of the selector, as names are compared."""
        return _last_steps(self.selector)[0]

    @property
    def parts(self) -> str:
        """The last two steps of the selector together."""
        return _last_steps(self.selector)[1]

    @property
    def is_near(self) -> bool:
        """Return whether the name has more in it than is compared: ``_id`` is near to ``id``."""
        step = re.split(r"[./@]", self.selector)[-1]
        return not step.isalnum() or comparable(step) != self.name

    def rank(self, field: str) -> int | None:
        """Return the place of the column's name among the names of ``field``; None: it is not one of them."""
        known = NAMES[field]
        last = len(known) if field == "closeDate" and _ends(self.selector) else None
        return min((known.index(name) for name in _last_steps(self.selector) if name in known), default=last)

    def against(self, field: str) -> bool:
        """Return whether the name has a word against the field, of which it is not itself a name."""
        return any(word in self.parts for word in AGAINST[field]) and self.rank(field) is None

    def is_of_another(self, field: str) -> bool:
        """Return whether the name, or the step above it, has a word against the field: ``publisher/url``, ``company.url``."""
        name, both = _last_steps(self.selector)
        above = both.removesuffix(name)
        return self.against(field) or (
            both not in NAMES[field] and any(word in above for word in AGAINST[field])
        )

    def share(self, *kinds: str) -> float:
        """Return the share of the values that are of the commonest of these kinds."""
        return max((self.kinds[kind] for kind in kinds), default=0) / self.values if self.values else 0.0

    def add(self, text: str) -> None:
        self.values += 1
        self.total += len(text)
        self.longest = max(self.longest, len(text))
        kinds = kinds_of(text)
        self.kinds.update(kinds)
        if len(self.days) < _MAX_DAYS:
            forms = sorted(kind[5:] for kind in kinds if kind.startswith("date:"))
            self.days += [str(_PARSERS[form](text)) for form in forms[:1]]
        if len(self.pages) < 2 and kinds & {"url", "host"}:
            self.pages.add(page_at(text))
        fresh = len(self.texts) < _MAX_TEXTS and not _DIGIT.search(text)
        if len(text) <= 40 and (text in self.texts or fresh):
            self.texts[text] += 1
        if len(text) <= 40 and (text in self.few or len(self.few) < _MAX_FEW):
            self.few[text] += 1
        mark = hash(text)
        if mark not in self._seen:
            if len(self._seen) < MAX_DIFFERENT:
                self._seen.add(mark)
            if len(self.samples) < MAX_SAMPLES:
                self.samples.append(text[:2000])


def unwrapped(selector: str) -> str:
    """Return a selector without last steps that only wrap the value."""
    return _WRAPPERS.sub("", _PROPERTY.sub(r"\1", selector))


@lru_cache(maxsize=1024)
def _last_steps(selector: str) -> tuple[str, str]:
    """Return the last step and the last two together, as names are compared. A last step that is only the value of the one
    before it (``department.label``) counts as that one. An unknown name counts without a note in brackets ("Category
    (required)"), else without words for a posting (``_job_expires``, "External Apply URL")."""
    selector = _name_in(selector)
    steps = [step for step in re.split(r"[./@\[\]\"]+|\s:\s", selector) if step and step != "_source"]
    names = [comparable(step) for step in steps] or [""]
    last, both = names[-1], "".join(names[-2:])
    is_value = len(names) > 1 and last in _VALUES
    if both in _KNOWN or (last in _KNOWN and not is_value):
        return (both if is_value else last), both
    if is_value and (above := _last_steps("/".join(steps[:-1])))[0] in _KNOWN:
        return above
    bare = _NOTE.sub("", selector)
    if bare != selector and bare.strip():
        return _last_steps(bare)
    return _without_context(last) or last, both


def _name_in(selector: str) -> str:
    """Return the name of an element or a facet in its selector, or the selector without steps that only wrap the value."""
    if named := NAME_OF.match(selector):
        selector = named[1]
    if facet := _FACET.search(selector):
        selector = facet[1]
    return unwrapped(_NUMBER_OF_SEVERAL.sub("", selector))


@lru_cache(maxsize=1024)
def _ends(selector: str) -> bool:
    """Return whether a name says in several words that a posting ends: "publication_end_date", "Affiché jusqu'au"."""
    words = set(words_of(_NOTE.sub("", re.split(r"[./@]", _name_in(selector))[-1])))
    return len(words) > 1 and bool(words & CLOSING["ends"]) and words <= CLOSING["ends"] | CLOSING["beside"]


def _without_context(name: str) -> str | None:
    """Return the known name that is left of an unknown one without words for a posting."""
    if name in _KNOWN:
        return None if name in _VAGUE else name
    shorter = chain(map(name.removeprefix, _CONTEXT), map(name.removesuffix, _CONTEXT))
    return next((known for each in shorter if each != name and (known := _without_context(each))), None)


def is_field_name(selector: str) -> bool:
    """Return whether the last step of a selector, or its last two, are the name of some field."""
    return not _KNOWN.isdisjoint(_last_steps(selector))


def kinds_of(text: str) -> frozenset[str]:
    """Return those of ``email url host path html number code money province place status flag position category date:NAME
    serial:NAME`` that ``text`` looks like; none: it is plain text. ``code``: letters and digits together. ``position``: a kind
    of work. ``category``: one of the shipped ones. ``serial`` is a number that a date column could have."""
    if len(text) > 300:
        return frozenset({"html"}) if _HTML.search(text[:20_000]) else frozenset()
    return _kinds_of_short(text)


@lru_cache(maxsize=8192)
def _kinds_of_short(text: str) -> frozenset[str]:
    kinds = set()
    for name, pattern in (
        ("email", _EMAIL),
        ("url", _URL),
        ("path", _PATH),
        ("number", _NUMBER),
        ("code", _CODE),
    ):
        if pattern.match(text):
            kinds.add(name)
    if not kinds and HOST.match(text):
        kinds.add("host")
    if _HTML.search(text):
        kinds.add("html")
    if _MONEY.search(text) and not kinds & {"html", "url"}:
        kinds.add("money")
    if province_code(text) is not None:
        kinds.add("province")
    elif (place := _CITY_PROVINCE.match(text)) and province_code(place[1]) is not None:
        kinds.add("place")
    if position_of(text) is not None:
        kinds = kinds - {"money"} | {"position"}  # "20 hours/week" is not pay
    if len(text) <= _MAX_CATEGORY and _CATALOGUE.find("categories", text) is not None:
        kinds.add("category")
    if isinstance(ticked(text), bool):
        kinds.add("flag")
    elif len(text) <= _MAX_STATUS and status_word(text) is not None:
        kinds.add("status")
    return frozenset(kinds | _dates(text))


def _dates(text: str) -> set[str]:
    if len(text) > 100 or not any(char.isdigit() for char in text):
        return set()
    if _NOT_A_DATE.match(text):
        name = _SERIALS.get(len(text.partition(".")[0]))
        return {f"serial:{name}"} if name and _PARSERS[name](text) else set()
    names = {name for name in DATE_NAMES if _PARSERS[name](text)}
    return {f"date:{name}" for name in names - ({"ymd"} if "iso" in names else set())}


Fits = Callable[[Column], bool]
Order = Callable[[Column], tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Guess:
    """A guess at one field of a job.

    ``expression`` is the right-hand side in [fields], as TOML values; ``why`` the reason in words. It uses the ``columns`` and
    gives a value for this ``share`` of the records. ``lookup`` has the entries of ``[lookup.no_date]``, or
    of the lookup of its field, that it needs."""

    field: str
    expression: object
    why: str
    columns: tuple[Column, ...] = ()
    share: float = 1.0
    lookup: Mapping[str, str] = attribute(default_factory=dict)


class ColumnSearch:
    """The search for the columns of a field, by their names or the kinds of their values, among those that have values and that
    a mapping can name. ``empty`` are those that have none. ``records`` is at least 1."""

    def __init__(self, columns: Iterable[Column], form: Format, records: int) -> None:
        named = [column for column in columns if _selectable(column.selector, form)]
        self.all = [column for column in named if column.values]
        self.empty = [column for column in named if not column.values]
        self.records = max(1, records)

    def coded(self, field: str) -> str | None:
        """Return the selector of the column of the field's names if it has numbers alone; None too if another one has not."""
        columns = [column for column in self.all if column.rank(field) is not None]
        return columns[0].selector if columns and all(c.share("number") > 0.9 for c in columns) else None

    def named(self, field: str, fits: Fits) -> list[Column]:
        """Return columns of the field's names whose values fit, the likeliest first, of equals that which comes first in
        the records: one, or several if it lacks records."""
        columns = [column for column in self.all if column.rank(field) is not None and fits(column)]
        columns.sort(
            key=lambda c: (
                c.selector.startswith(".."),  # the record's own goes first
                field in _OF_OTHERS and c.is_of_another(field),
                c.rank(field),
                len(re.findall(r"[/.]", c.selector)),
                c.is_near,
                -c.filled,
            )
        )
        return columns[: _MAX_ALTERNATIVES if columns and columns[0].filled < self.records else 1]

    def alike(self, field: str, fits: Fits, order: Order) -> list[Column]:
        """Return the one column, if any, whose values alone fit; the first by ``order``."""
        columns = [c for c in self.all if fits(c) and not c.against(field)]
        return sorted(columns, key=order)[:1]

    def find(self, field: str, fits: Fits, looks: Fits, order: Order, words: str) -> tuple[list[Column], str]:
        """Return the columns of the field's names, else the one that looks like it, and the reason in words."""
        if columns := self.named(field, fits):
            return columns, "by its name"
        return self.alike(field, looks, order), f"by its values: {words}"

    def is_unique(self, column: Column) -> bool:
        filled = (
            column.filled >= self.records * 0.9 or column.filled == self.records - 1 > 1
        )  # a row may lack it
        return filled and column.different >= min(column.values, MAX_DIFFERENT) * 0.9

    def guess(self, field: str, used: Sequence[Column], expression: object, why: str) -> Guess:
        share = min(1.0, max((column.filled for column in used), default=0) / self.records)
        return Guess(field, expression, why, tuple(used), share)


def _selectable(selector: str, form: Format) -> bool:
    """Return whether a mapping can name it: JSON allows member names that no path has."""
    try:
        compile_selector(selector, form)
    except ValueError:
        return False
    return True


def one_or_list(columns: Sequence[Column]) -> object:
    selectors = [column.selector for column in columns]
    return selectors[0] if len(selectors) == 1 else selectors
