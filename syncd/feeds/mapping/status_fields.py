"""The status of a job, by the words that feeds have for it, and by flags that are named after such a word."""

import re
import tomllib
from collections.abc import Hashable, Mapping
from functools import lru_cache
from importlib.resources import files

from syncd.domain import name_key
from syncd.errors import Problem
from syncd.feeds.faults import RowLog
from syncd.feeds.mapping.field_compilers import DROPPED, FieldCompiler, FieldExpression, FieldFunction
from syncd.feeds.mapping.selectors import Node, Source
from syncd.feeds.mapping.sources import Meant
from syncd.feeds.text import boolean, spelled, ticked, words_of

#: Status → the ``words`` and ``phrases`` of feeds for it: from the farthest from live to live.
_WORDS = tomllib.loads(files(__package__).joinpath("status_words.toml").read_text("utf-8"))
#: Word of feeds for a status → the status.
STATUSES = {
    " ".join(word.split()): status
    for status, of in _WORDS.items()
    for word in (*of["words"].split(), *of["phrases"].split(","))
}
#: The warning for a live posting whose title says that it is not open.
TITLE_NOT_OPEN = "title_not_open"
#: Whatever follows these, the posting is not out yet.
_PENDING = ("pending ", "awaiting ", "waiting for ", "en attente ")
#: Words for those who see a posting; words beside them that change nothing; and a step before a posting is out, which says
#: nothing beside a status ("Open (Approved)").
_INSIDE = frozenset("internal internally interne internes intranet".split())
_OUTSIDE = frozenset("external externally externe externes public publicly publique publiquement".split())
_AUDIENCE = _INSIDE | _OUTSIDE
_BESIDE = frozenset(
    "and et or ou only seulement uniquement to for a au aux pour reserve reservee candidates candidats applicants".split()
)
_APPROVED = frozenset(("approved", "approuve", "approuvee", ""))
#: Without accents "Fermé" is "Ferme bientôt" (closes soon), too: what follows them counts.
_OF_TWO_MEANINGS = ("ferme", "expire", "complete")
#: The end of "ouvert(e)", "publié·e", "Fermé/e", "actif(ve)".
_BOTH_GENDERS = re.compile(r"(?<=[^\W\d_])[(·./-](?:e|i?ve)\b\)?", re.IGNORECASE)
#: Between two words for one status ("Closed - Filled", "Ouvert / Open").
_BETWEEN = re.compile(r"[/|,;:()\[\]]|\s(?:[-\u2013\u2014&]|and|et)\s", re.IGNORECASE)
#: A number before the word: "010 Open".
_CODE = re.compile(r"\s*\d{1,4}(?:\s*[-.:)]\s*|\s+)(?=\D)")
#: A note beside the name of a flag: "(O/N)", "Y/N".
_NOTES = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\b(?:y/n|o/n|yes/no|oui/non)\b", re.IGNORECASE)
#: The name of a flag that asks for a posting: "To publish", "À afficher".
_INTENDED = re.compile(
    r"(?:ready |pret )?(?:to|a) (?:be )?(?:publish(?:ed)?|post(?:ed)?|publier|afficher|diffuser)"
)
#: The name of a facet: ``custom[label=Is open].value``.
_FACET = re.compile(r"\[@?[\w.:-]+\s*=\s*[\"']?([^\[\]\"']+)[\"']?\s*\]")
#: Words that change nothing, in a status ("Concours fermé") and in the name of a flag; and others in the name of a flag.
_NOUNS = frozenset(
    "is has been currently est job position posting poste offre annonce requisition vacancy opening competition emploi concours"
    " affichage recrutement dotation process processus le la l the this still toujours already deja encore".split()
)
_FILLERS = _NOUNS | frozenset("flag y n o oui non yes no bool boolean value checkbox c".split())
#: The marks around a note in a title ("Cook (FILLED)", "POURVU - Cuisinier"), and the first words of such notes. "Clerk - Frozen"
#: and "Aide - Ferme" have none.
_SET_APART = re.compile(r"[()\[\]{}*|:/!]|(?:^|\s)[-\u2013\u2014]+|[-\u2013\u2014]+(?:\s|$)")
_NOTES_OF_TITLES = frozenset(
    "filled closed pourvu pourvue comble comblee ferme fermee annule annulee cancelled canceled expired draft brouillon on en do"
    " ne no not internal interne employees employes expire expiree termine terminee clos".split()
)
#: The longest text that is compared.
_MAX_TEXT = 100


def status_of(value: object) -> str | None:
    """Return the status that a value means, None if it is none of the known words."""
    if isinstance(value, Meant):
        return value.meaning
    if isinstance(means := boolean(value), bool):
        return "active" if means else "archived"
    return status_word(spelled(value)[:_MAX_TEXT])


@lru_cache(maxsize=4096)
def status_word(text: str) -> str | None:
    """Return the status that a text is a word for. Of several words, the one that is farthest from live counts, and others beside
    it change nothing ("Cancelled - budget", "Filled by an agency"); live is only what has no other word. A posting that only
    people of the house see is archived ("Posted internally")."""
    text = _BOTH_GENDERS.sub("", _CODE.sub("", text))
    key = name_key(text)
    words = [word for word in key.split() if word not in _NOUNS]
    if status := STATUSES.get(key) or STATUSES.get(" ".join(words)):
        return status
    if key.startswith(_PENDING):
        return "draft"
    if words and words[0] not in _OF_TWO_MEANINGS and STATUSES.get(words[0]) == "archived":
        return "archived"
    if not _AUDIENCE.isdisjoint(words):
        rest = [word for word in words if word not in _AUDIENCE and word not in _BESIDE]
        status = status_word(" ".join(rest)) if rest else "active"
        return "archived" if status == "active" and _OUTSIDE.isdisjoint(words) else status
    parts = {STATUSES.get(part) for raw in _BETWEEN.split(text) if (part := name_key(raw)) not in _APPROVED}
    return next(
        (status for status in _WORDS if status in parts and ("active" not in parts or len(parts) == 1)), None
    )


@lru_cache(maxsize=4096)
def status_in_title(title: str) -> str | None:
    """Return the status of a note in a title by which the posting is not live ("Cook (FILLED)", "DRAFT: Cook")."""
    for part in _SET_APART.split(title):
        words = [word for word in name_key(part).split() if word not in _NOUNS]
        is_note = words and words[0] in _NOTES_OF_TITLES and (words != ["ferme"] or "é" in part.lower())
        if is_note and (status := STATUSES.get(" ".join(words), "active")) != "active":
            return status
    return None


def note_title(body: Mapping[str, object], log: RowLog) -> None:
    """Note a live posting whose title says that it is not."""
    if isinstance(title := body.get("title"), str) and body.get("status", "active") == "active":
        title = title[: 3 * _MAX_TEXT]  # the cache keeps it
        if status_in_title(title):
            log.note(
                TITLE_NOT_OPEN, f"it would be live, and its title says that it is not open: {title[:100]}"
            )


@lru_cache(maxsize=4096)
def flag_statuses(selector: str) -> dict[bool, str] | None:
    """Return the meanings of true and false in a column or member that is named after a status (``isOpen``, ``is_filled``,
    "Pourvu (O/N)"); None for other names."""
    words = flag_words(selector)
    status = STATUSES.get(" ".join(words)) or STATUSES.get(name_key(selector))
    if status is None or status_word(_NOTES.sub("", selector).rpartition("/")[0]):  # "Open/Closed" is none
        return None
    if _INTENDED.fullmatch(" ".join(words)):
        return {True: "active", False: "draft"}
    if status != "active":
        return {True: status, False: "active"}
    return {True: status, False: "draft" if words[0].startswith("publi") else "archived"}


def flag_words(selector: str) -> list[str]:
    """Return the words after which a flag is named: "part", "time" of ``job/isPartTime``."""
    facet = _FACET.search(selector)
    steps = re.split(r"[/.@:]", _NOTES.sub("", facet[1] if facet else selector))
    named = ([word for word in words_of(step) if word not in _FILLERS] for step in steps[::-1])
    return next(filter(None, named), [])


def _with_meanings(text: str, source: Source) -> Source:
    """Return the source of a selector with the meanings of its values as statuses."""
    flags = flag_statuses(text)

    @lru_cache(maxsize=256, typed=True)  # a feed has few words for a status
    def meant(value: Hashable) -> object:
        means = ticked(value) if flags else boolean(value)
        status = flags[means] if flags and isinstance(means, bool) else status_of(value)
        return value if status is None else Meant.of(spelled(value), status)

    return lambda node: list(map(meant, source(node)))


def _status(right: FieldExpression) -> FieldFunction:
    """Return the function of a status by its words. Of several values (``all``) the one that is farthest from live counts.
    Other words are counted as unknown values, and reject the row, or with ``unknown`` are not sent, or make a draft."""
    name, source = right.field.name, right.source(reads=_with_meanings)
    right.check_constants(lambda value: status_of(value) is not None, "active, archived or draft")
    lookup = right.options.get("lookup")
    for text, values in right.context.lookups.get(lookup, {}).items() if isinstance(lookup, str) else ():
        if unfit := [value for value in values if status_of(value) is None]:
            detail = f"[lookup.{lookup}]: {text} must become active, archived or draft, not {unfit[0]!r}"
            right.scope.at("lookup").fault(detail)
    instead = right.choice("unknown", "reject", "ignore", "draft")

    def status(node: Node, log: RowLog) -> object:
        known, values = set(), source(node)
        if not values:
            return None
        if len(values) > 1:  # a posting for both is for the public
            words = [name_key(spelled(value)) for value in values]
            inside = _INSIDE if not _OUTSIDE.isdisjoint(words) else ()
            values = [value for value, word in zip(values, words, strict=True) if word not in inside]
        for value in values:
            means = status_of(value)
            if means is None:
                text = spelled(value)
                log.unknown.append((name, text[:200]))
                if instead == "reject":
                    detail = f"{text[:100]!r} is not known as active, archived or draft; a lookup can say which it is"
                    log.problems.append(Problem(f"/{name}", "unknown_value", detail, value))
                    return DROPPED
                outcome = "not sent" if instead == "ignore" else "so the job is a draft"
                log.note("unknown_status", f"unknown status, {outcome}: {text[:100]}")
                means = None if instead == "ignore" else "draft"
            known.add(means)
        return next((status for status in _WORDS if status in known), None)

    return status


STATUS = FieldCompiler(_status, ("unknown",))
