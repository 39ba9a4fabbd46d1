"""Values of feeds for entries of a catalogue: the ids that they mean, and those that no catalogue and no lookup has, counted and
as lines for the feed's own file."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial

from syncd.domain import FIELDS, SALARY_MEMBERS, Catalogue, CatalogueEntry, UnknownValues, unescape
from syncd.errors import Problem
from syncd.feeds.text import spelled
from syncd.feeds.toml_text import key, text

#: No catalogue has a longer name, so a longer text is not looked up (and not remembered).
_MAX_NAME = 200
#: Catalogue → the name of one of its entries in messages.
_ENTRY_WORDS = {
    "categories": "category",
    "position_types": "position type",
    "periods": "salary period",
    "routing_types": "applicant routing type",
}
#: The names that the shipped presets give to the lookups of these fields.
USUAL = {"categories": "category", "positionType": "position", "locations": "location", "status": "status"}
#: The most different values of a field that are counted, and that are listed.
MAX_VALUES, MAX_LISTED = 10_000, 200
#: The most characters of a value that a lookup is for.
_MAX_VALUE = 200


@dataclass(frozen=True, slots=True)
class EntryFinder:
    """The search for entries of the catalogue that serves one field. ``entry_word`` is the name of an entry in messages;
    ``pointer`` is the JSON pointer of the field in a body. ``likely`` returns the name for which an unknown text is meant."""

    entry_word: str
    pointer: str
    by_name: Callable[[str], int | None]
    likely: Callable[[str], str | None]
    entries: Mapping[int, CatalogueEntry]

    def id_of(self, value: object) -> int | None:
        """Return the id that ``value`` means: an id of the catalogue, a name or a synonym. None: it is neither."""
        if value.__class__ is str:
            if len(value) > _MAX_NAME:
                return None
            named = self.by_name(value)
            if named is not None:
                return named
            text = value.strip()
            id = int(text) if text.isdecimal() and len(text) < 11 else 0
        elif isinstance(value, bool) or not isinstance(value, int | Decimal):
            return None
        else:
            id = int(value) if 0 < value < 2**31 and value == int(value) else 0
        return id if id in self.entries else None

    def id_by_name(self, name: str) -> int | None:
        """Return the id of the entry with this name or synonym. Digits are not taken for an id."""
        return self.by_name(name) if len(name) <= _MAX_NAME else None

    def unknown(self, value: object) -> str:
        """Return the message that ``value`` names no entry, with a similar name if there is one."""
        article = "an" if self.entry_word.startswith("a") else "a"
        name = spelled(value)
        near = self.likely(name) if len(name) <= _MAX_NAME else None
        hint = f"; did you mean {near}?" if near else ""
        return f"{name[:100]!r} is not {article} {self.entry_word} of the catalogue{hint}"


def finders(catalogue: Catalogue) -> dict[str, EntryFinder]:
    """Return the finders of ``catalogue`` by the field that they serve (``period`` is a member of the salary)."""
    by_field = {}
    for parent, fields in (("", FIELDS), ("/salary", SALARY_MEMBERS)):
        for field in fields:
            if name := field.catalogue:
                # feeds repeat the names that they have
                by_name = lru_cache(4096)(partial(_find, catalogue, name))
                likely = lru_cache(4096)(partial(catalogue.likely, name))
                pointer, word = f"{parent}/{field.name}", _ENTRY_WORDS[name]
                by_field[field.name] = EntryFinder(word, pointer, by_name, likely, catalogue.entries(name))
    return by_field


def _find(catalogue: Catalogue, entries: str, name: str) -> int | None:
    return catalogue.find(entries, unescape(name) if "&" in name else name)


class UnknownCounter:
    """``fields`` is field → unknown value → number of rows."""

    def __init__(self) -> None:
        self.fields: dict[str, Counter[str]] = {}

    def add(self, values: Iterable[tuple[str, str]]) -> None:
        """Count the unknown values of one row, (field, value), each once."""
        for name, value in dict.fromkeys(values):
            counts = self.fields.setdefault(name, Counter())
            if value in counts or len(counts) < MAX_VALUES:
                counts[value] += 1

    def listed(
        self, lookup_of: Callable[[str], str | None], existing: Collection[str], catalogue: Catalogue
    ) -> UnknownValues:
        """Return the most frequent values, also as TOML for ``[lookup.…]``. ``lookup_of`` returns the lookup that a field uses.
        ``existing`` are those that the feed's own file already has; they get no heading, since TOML does not allow a second
        one."""
        lines: list[str] = []
        for field, values in self.fields.items():
            name = lookup_of(field.split("/", maxsplit=1)[0])
            lines += [""] if lines else []
            if name is None:
                name = USUAL.get(field, field.rpartition("/")[2])
                lines.append(f'# {field} has no lookup yet: add lookup = "{name}" to it in [fields]')
            heading = f"[lookup.{key(name)}]"
            lines.append(f"# these go into {heading}, which the file has" if name in existing else heading)
            lines += lookup_lines(values, field, catalogue)
        by_field = {name: counts.most_common(MAX_LISTED) for name, counts in self.fields.items()}
        return UnknownValues(by_field, "\n".join(lines))


def unknown_places(problems: Iterable[Problem]) -> tuple[tuple[str, str], ...]:
    """Return (field, value) of the places among ``problems`` that cannot be read: a lookup translates them too."""
    return tuple(
        ("locations", problem.value)
        for problem in problems
        if problem.code in ("unknown_province", "unknown_value")
        and problem.pointer.startswith("/locations/")
        and isinstance(problem.value, str)
    )


def lookup_lines(values: Counter[str], field: str, catalogue: Catalogue) -> list[str]:
    """Return ``"value" = ""  # 12 rows`` for each value, the most frequent first, with the name that it may be meant for."""
    find = next((f for f in finders(catalogue).values() if f.pointer == f"/{field}"), None)
    fit = [(name, count) for name, count in values.most_common() if len(name) <= _MAX_VALUE]
    lines = []
    for name, count in fit[:MAX_LISTED]:
        near = find.likely(name) if find else None
        hint = f"; {near}?" if near else "; active, archived or draft?" if field == "status" else ""
        lines.append(f'{text(name)} = ""  # {count} row{"s" if count != 1 else ""}{hint}')
    if len(fit) > MAX_LISTED:
        lines.append(f"# … and {len(fit) - MAX_LISTED} more values")
    if longer := len(values) - len(fit):
        lines.append(f"# {longer} values are longer than {_MAX_VALUE} characters: no lookup is for them")
    return lines
