"""The fields whose value is one entry of a catalogue, or a list of entries; and kinds of work as feeds write them."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from syncd.domain import JobField, name_key
from syncd.errors import Problem
from syncd.feeds.catalogue_values import EntryFinder
from syncd.feeds.faults import RowLog
from syncd.feeds.mapping.field_compilers import (
    DROPPED,
    FieldCompiler,
    FieldExpression,
    FieldFunction,
    first_few,
)
from syncd.feeds.mapping.selectors import Source
from syncd.feeds.mapping.sources import MappingContext, Meant
from syncd.feeds.mapping.status_fields import flag_words
from syncd.feeds.mapping.transforms import full_or_part, unit_of, with_unit
from syncd.feeds.text import spelled, ticked

FULL, PART, CONTRACT, TEMP, VOLUNTEER = 1, 2, 3, 4, 5
#: The most characters of a text that describes a kind of work.
_MAX_POSITION = 100
_FULL_TIME = r"full ?time|full|ft|f t|temps plein|plein temps|temps complet"
_PART_TIME = r"part ?timers?|part ?time|partime|half ?time|pt|p t|rpt|ppt|regpt|tpr|(?:temps|tps|t) partiel|partiel|mi temps"
#: Position type → the words for it.
_WORDS: dict[int, str] = {
    FULL: rf"{_FULL_TIME}|rft|pft|tcr|regft|permanente?s?|perm|regular|reg|regulier|reguliere"
    r"|indefinite|indeterminee?|duree indeterminee|cdi|indeterminate|continuing|employee|direct (?:hire|placement)|salarie",
    PART: rf"{_PART_TIME}|part|per diem|prn|job share",
    CONTRACT: r"contracts?|contractor|contractual|contractuel(?:le)?|contrat|fixed ?term|duree determinee|determinee?|cdd"
    r"|determinate|sessional|locum|secondment|vacataire"
    r"|term|freelancer?|self employed|independent|autonome|travailleur autonome|pigiste|(?:a la )?pige"
    r"|(?:per |par )?proje(?:c)?t",
    TEMP: r"temporary|temporaire|temp|tmp|tpt|tft|tpo|tct|seasonal|saisonni(?:er|ere)|summer|ete|students?|etudiante?|interns?"
    r"|internships?|stage|stagiaire|co ?op|apprentice|apprenticeship|apprentie?|alternance|trainee|casual|occasional"
    r"|occasionnel(?:le)?|relief|replacement|remplacement|surnumeraire|on call|sur appel|rappel"
    r"|auxiliary|auxiliaire|interim|interimaire"
    r"|(?:maternity|mat|parental) leave(?: cover(?:age)?)?|conge (?:(?:de )?maternite|parental)",
    VOLUNTEER: r"volunteer|volunteering|volontaire|benevole|benevolat|unpaid",
}
_FILLERS = (
    r"and|or|et|ou|a|an|the|de|d|du|un|une|to|hire|leading to|menant a|position|positions|poste|emploi|emplois|job|jobs"
    r"|work|employment|equivalent|basis|only|possibility of|salaried|hourly|affectation|assignment|mandat"
    r"|(?:up to |jusqu a )?(?:\d{1,2}|six|twelve|douze) (?:months?|mois|years?|yrs?|ans?)"
    r"|e|le|ne|ere|iere"  # of "Occasionnel(le)"
)
_WORD = re.compile(
    "|".join(f"(?P<k{kind}>{words})(?= |$)" for kind, words in _WORDS.items()) + rf"|(?:{_FILLERS})(?= |$)"
)
#: Between alternatives; a dash or "or" stands within the description of one job, too, and a comma in "22,5".
_LIST = re.compile(r"[;|]|(?<!\d),|,(?!\d)")
_HOURS = re.compile(rf"(?P<full>{_FULL_TIME})|(?P<part>{_WORDS[PART]})")
_ANY_HOURS = re.compile(rf"\b(?:{_HOURS.pattern})\b")
#: Part time and limits in time that unknown words do not make another thing ("Part time, long-term care" has no limit in time).
_SURELY_PART = re.compile(rf"(?<!\bno )(?<!\bnot )\b(?:{_PART_TIME})\b")
_SURELY = re.compile(
    r"\b(?:(?P<k5>volunteer|benevol(?:e|at)|unpaid)|(?P<k3>contract|contractuel(?:le)?|contrat|fixed term|duree determinee|cdd"
    r"|(?<!long )(?<!short )term)|(?P<k4>temporary|temporaire|temp|casual|occasionnel(?:le)?|seasonal|saisonni(?:er|ere)"
    r"|internship|stage|remplacement))\b"
)
_GLUED = re.compile(r"(?<=[a-z\u00e0-\u00ff])(?=[A-Z])")


def _choice(right: FieldExpression) -> FieldFunction:
    if "prefer" in right.options:  # the mapping decides it, once both addresses are known
        right.scope.keys(right.options, ("prefer",))
        return lambda node, log: None
    find = _finder(right.field, right.context)
    of_positions = right.field.catalogue == "position_types" and find.id_of("part time") == PART
    flags = of_positions and any(
        flag_positions(text) or unit_of(text) for text in _texts_in(right.expression)
    )
    source = _source(right, reads=_with_positions) if flags else _source(right)
    default = _constant_ids(right, find)
    noted = right.context.noted

    def choice(node: Any, log: RowLog) -> object:
        values = source(node)
        if flags:
            values = [value.meaning if isinstance(value, Meant) else value for value in values]
        if len(values) == 1 and (only := find.id_of(values[0])) is not None:
            return {"id": only}  # the usual case
        if of_positions:
            values = [part for value in values for part in _listed(value, find)]
        for i, value in enumerate(values):
            id = find.id_of(value)
            if id is not None:
                if of_positions and id == FULL and len(values) > 1 and _is_part_time(values[i:]):
                    id = PART
                if len(values) > 1 and (unknown := [each for each in values if find.id_of(each) is None]):
                    _dropped(unknown, unknown, find, [id], log)
                return {"id": id}
        if values and _dropped(values, values[:1], find, default, log):
            return DROPPED
        if noted is not None:  # the row has no value that anything knows
            noted.found = False
        return {"id": default[0]} if default else None

    return choice


@lru_cache(maxsize=1024)
def flag_positions(selector: str) -> tuple[int, dict[bool, str]] | None:
    """Return the position type after which a column or member is named (``fullTime``, ``is_part_time``, "Temporary?"), and the
    meanings of true and false in it; None for other names."""
    words = " ".join(flag_words(selector))
    kind = _described(words) if words else None
    if kind is None or _described(selector.rpartition("/")[0]) is not None:  # "Full/Part Time" is not a flag
        return None
    others = {FULL: "part time", PART: "full time"} if _HOURS.fullmatch(words) else {}
    return kind, {True: words} | ({False: others[kind]} if kind in others else {})


def _with_positions(text: str, source: Source) -> Source:
    """Return the source of a selector. A flag is the type of its name, or says nothing; hours are full or part time."""
    flags, unit = flag_positions(text), unit_of(text)
    if unit is not None:

        def described(value: object) -> object:
            number = spelled(value).replace(",", ".")  # a decimal comma would part a list
            words = with_unit(number, unit)
            return value if words == number else Meant.of(number, words)

        return lambda node: [described(value) for value in source(node)]
    if flags is None:
        return source

    def meant(value: object) -> list[object]:
        means = ticked(value)
        if not isinstance(means, bool):
            return [value]
        return [Meant.of(spelled(value), flags[1][means])] if means in flags[1] else []

    return lambda node: [means for value in source(node) for means in meant(value)]


def _texts_in(expression: object) -> Iterator[str]:
    if isinstance(expression, str):
        yield expression
    elif isinstance(expression, dict | list):
        for part in expression.values() if isinstance(expression, dict) else expression:
            yield from _texts_in(part)


def _listed(value: object, find: EntryFinder) -> list[object]:
    """Return the parts of a list ("Unheard of, Part-time") of which a part is known, but not the whole; else the value."""
    if not isinstance(value, str) or not _LIST.search(value) or find.id_of(value) is not None:
        return [value]
    parts: list[object] = [part.strip() for part in _LIST.split(value[:_MAX_POSITION]) if part.strip()]
    return parts if any(find.id_of(part) is not None for part in parts) else [value]


def _choices(right: FieldExpression) -> FieldFunction:
    """Return the function of all values that the catalogue knows, each once."""
    find, source = _finder(right.field, right.context), _source(right)
    default, most, noted = _constant_ids(right, find), right.most_items(), right.context.noted

    def choices(node: Any, log: RowLog) -> object:
        values = source(node)
        if len(values) == 1 and (only := find.id_of(values[0])) is not None:
            return [{"id": only}]  # the usual case
        named = [(value, find.id_of(value)) for value in values]
        unknown = [value for value, id in named if id is None]
        if unknown and _dropped(unknown, unknown, find, default, log):
            return DROPPED
        ids = dict.fromkeys(id for _, id in named if id is not None)
        if not ids and noted is not None:
            noted.found = False
        ids = ids or dict.fromkeys(default)
        return first_few([{"id": id} for id in ids], right.field.name, most, log) or None

    return choices


def _finder(field: JobField, context: MappingContext) -> EntryFinder:
    """Return the finder of a field. A position type may also be described in several words."""
    find = context.finders[field.name]
    if field.catalogue != "position_types":
        return find
    live = {id for id, entry in find.entries.items() if not entry.retired}

    def by_name(text: str) -> int | None:
        id = find.by_name(text)
        if id is None and (position := position_of(text)) in live:
            return position
        return id

    return replace(find, by_name=by_name)


def _is_part_time(values: list[object]) -> bool:
    """Return whether ``values``, of which the first means full time, are those of part-time work: "permanent" and "part time".
    The first of them that names the hours decides. An id names them."""
    for value in values:
        text = spelled(value)[:_MAX_POSITION]
        key = name_key(text)
        if key.isdecimal():
            return False
        if kind := full_or_part(text):
            return kind == "part"
        if match := _ANY_HOURS.search(key):
            return match.lastgroup == "part"
    return False


@lru_cache(maxsize=4096)
def position_of(text: str) -> int | None:
    """Return the id of the position type that a text of several words describes ("Permanent, temps partiel", "Term
    (Full-time)"); None if it has unknown words, and neither names part time nor has hours of work as numbers."""
    kind = _described(text)
    return _beside_unknown_words(text[:_MAX_POSITION]) if kind is None else kind


@lru_cache(maxsize=4096)
def _described(text: str) -> int | None:
    """Return the position type that a text describes with known words alone.

    A limit in time wins over the number of hours: a full-time contract is a contract, a part-time summer job is temporary.
    Of "full time or part time" the lesser is certain; a list with both ("fulltime, parttime, contract") has alternatives,
    and the first that is known counts. Words without a blank between them ("Permanent employmentFull time") are separated at
    their capitals."""
    parts = _LIST.split(text[:_MAX_POSITION])
    hours = [match.lastgroup for part in parts if (match := _HOURS.fullmatch(name_key(part)))]
    if "full" in hours and "part" in hours:
        return next((kind for part in parts if (kind := _position(part)) is not None), None)
    kind = _position(text)
    return _position(_GLUED.sub(" ", text)) if kind is None else kind


def _beside_unknown_words(text: str) -> int | None:
    """Return the type of a text of which not all words are known, by its hours: "Jour - Temps partiel", "Temporary, 20 hours per
    week". Full time in words is not enough for it. Of a list of which a part is known, the parts count."""
    hours = full_or_part(text)
    if hours is None and any(_described(part) is not None for part in _LIST.split(text)):
        return None
    key = name_key(_GLUED.sub(" ", text))
    if _SURELY_PART.search(key):
        hours = "part"
    if hours is None:
        return None
    limits = {match.lastgroup for match in _SURELY.finditer(key)}
    limited = next((int(kind[1:]) for kind in ("k5", "k3", "k4") if kind in limits), None)
    return limited or (PART if hours == "part" else FULL)


def _position(text: str) -> int | None:
    rest, kinds = name_key(text[:_MAX_POSITION]), list[int]()
    while rest:
        match = _WORD.match(rest)
        if match is None:
            return None
        kinds += [kind for kind in _WORDS if match[f"k{kind}"]]
        rest = rest[match.end() :].lstrip()
    if VOLUNTEER in kinds:
        return VOLUNTEER
    limited = [kind for kind in kinds if kind in (CONTRACT, TEMP)]
    return limited[0] if limited else max(kinds, default=None)


def _constant_ids(right: FieldExpression, find: EntryFinder) -> list[int]:
    """Return the ids of ``default``. A constant or a value of the lookup that the catalogue lacks is a fault of the file."""
    default = []
    for key in ("default", "value"):
        constant = right.options.get(key, [])
        for value in constant if isinstance(constant, list) else [constant]:
            id = find.id_of(value)
            if id is None:
                right.scope.at(key).fault(find.unknown(value))
            elif key == "default":
                default.append(id)
    name = right.options.get("lookup")
    for values in right.context.lookups.get(name, {}).values() if isinstance(name, str) else ():
        for value in values:
            if find.id_of(value) is None:
                right.scope.at("lookup").fault(f"[lookup.{name}]: {find.unknown(value)}")
    return default


def _dropped(
    unknown: list[object], noted: list[object], find: EntryFinder, default: list[int], log: RowLog
) -> bool:
    """Count the values that the catalogue lacks. With a default, log a warning that names those to be ``noted``; without
    one, log a problem, and return True."""
    log.unknown.extend((find.pointer.strip("/"), spelled(value)[:200]) for value in unknown)
    if default:
        code = f"unknown_{find.entry_word.replace(' ', '_')}"
        log.note(code, f"unknown {find.entry_word}: {', '.join(map(spelled, noted))[:200]}")
    else:
        value = unknown[0]
        log.problems.append(Problem(find.pointer, "unknown_value", find.unknown(value), value))
    return not default


def _source(right: FieldExpression, **context: Any) -> Source:
    """Return the source, which keeps "Construction/Skilled Trade" as one category if the catalogue or a lookup has it, even with
    ``split = "/"``, and "Permanent, 22,5 h/sem." as one position type."""
    by_name = right.context.finders[right.field.name].by_name
    of_positions = right.field.catalogue == "position_types"
    tables = tuple(right.context.lookups.values())

    def whole(text: str) -> bool:
        return len(text) <= 200 and (
            by_name(text) is not None
            or any(name_key(text) in table for table in tables)
            or (of_positions and full_or_part(text) is not None)
        )

    return right.source(whole=whole, **context)


CHOICE = FieldCompiler(_choice, ("default",))
CHOICES = FieldCompiler(_choices, ("too_many", "default"))
ROUTING = FieldCompiler(_choice, ("prefer", "default"))
