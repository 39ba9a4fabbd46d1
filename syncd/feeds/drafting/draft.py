"""``feed new``: from a survey and its guesses to the text of a feed's file, tried on the file itself.

The text is for a person: what was found, what was guessed and why, samples of every value, what the
catalogues do not know with counts. It loads as it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from syncd.domain import FIELD, Catalogue, FeedLimits
from syncd.errors import ConfigError, FeedError
from syncd.feeds.configuration import FeedConfig, FeedDefaults, parse_feed
from syncd.feeds.drafting.draft_text import Parts, render
from syncd.feeds.drafting.field_names import blind
from syncd.feeds.drafting.guessing import Guess, Guesser
from syncd.feeds.drafting.preset_match import find_preset, is_native
from syncd.feeds.drafting.survey import RECORDS, Survey, survey
from syncd.feeds.mapping import EMAIL_FIELD, ROUTING_FIELD, URL_FIELD, UnknownCounter
from syncd.feeds.mapping.presets import load_preset
from syncd.feeds.readers import open_reader

#: Without these a new job is refused; a mapping that lacks one is no use.
NEEDED = ("referenceId", "title", "locations", "description", ROUTING_FIELD)
#: For these a preset has a default, or most feeds have nothing: that there is no value tells nothing. They are
#: guessed only where the preset looks at none of the file's columns.
_OPTIONAL = ("categories", "positionType", "salary", "closeDate")
_ADDRESSES = (URL_FIELD, EMAIL_FIELD)
_OVERRIDDEN = (*NEEDED, *_ADDRESSES, *_OPTIONAL)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
#: A preset that scores less is not tried, and so many are.
_LEAST, _TRIED = 0.4, 3
#: So many records decide between mappings; what the chosen one does not know is counted over all.
_DECIDING = 500


@dataclass(slots=True)
class Trial:
    """What a draft makes of the file. ``given``: field → records in which it has a value; ``whole``: records
    that have all that is needed; ``unread_dates``: records whose closeDate is in no format of the mapping;
    ``failure``: why it could not be read."""

    text: str
    read: int = 0
    whole: int = 0
    long_references: int = 0
    unread_dates: int = 0
    given: Counter[str] = field(default_factory=Counter)
    unknown: UnknownCounter = field(default_factory=UnknownCounter)
    failure: str | None = None
    config: FeedConfig | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """``text`` is the file; ``config`` what it loads to; ``preset`` the one it starts from; ``fields`` those
    that the file maps itself."""

    text: str
    config: FeedConfig
    preset: str | None
    survey: Survey
    fields: Mapping[str, Guess]


class Drafter:
    """Drafts one feed. ``name`` is the feed's, ``employer`` whoever the jobs belong to (None: as the file
    has it), ``today`` stands in the first line."""

    def __init__(
        self,
        path: Path,
        name: str,
        *,
        employer: str | None,
        catalogue: Catalogue,
        limits: FeedLimits,
        today: str,
    ) -> None:
        self._path, self._name, self._catalogue, self._limits = path, name, catalogue, limits
        self._survey = survey(path, limits)
        guesser = Guesser(self._survey)
        self._guesses = guesser.guesses()
        self._employer = employer or guesser.company() or f"Employer of {name}"
        self._parts = Parts(name, self._employer, path.name, today, self._survey, self._guesses, catalogue)
        self._parts.near = guesser.near_addresses()

    def draft(self) -> Draft:
        """Raises ConfigError for a name that no feed can have."""
        best = self._complete(self._native() or self._best())
        lacking = [name for name in NEEDED if best.given[name] * 2 < best.read]
        text = render(
            self._parts,
            preset=self._preset_of(best),
            unknown=best.unknown.fields,
            lacking=lacking,
            **self._choices(best),
        )
        config = self._load(text)
        return Draft(text, config, config.preset, self._survey, self._choices(best)["fields"])

    def _complete(self, trial: Trial) -> Trial:
        """The same trial over all that was surveyed."""
        if trial.config is None or trial.failure is not None or trial.read < _DECIDING:
            return trial
        whole = Trial(trial.text, config=trial.config)
        self._choice[id(whole)] = self._choice[id(trial)]
        self._try(whole, trial.config, RECORDS)
        return whole

    # -- choosing

    def _native(self) -> Trial | None:
        if not is_native(self._survey.evidence()):
            return None
        self._choice: dict[int, dict[str, Any]] = {}
        return self._tried(native=True)

    def _best(self) -> Trial:
        """The mapping of which most records come out whole; a preset is preferred to guesses, a likelier one
        to another."""
        self._choice = {}
        scores = [(name, score) for name, score in find_preset(self._survey.evidence()) if score >= _LEAST]
        self._parts.presets = scores
        trials = [self._with_preset(name) for name, _ in scores[:_TRIED]]
        trials.append(self._tried(fields=self._own_fields()))
        usable = [trial for trial in trials if trial.failure is None] or trials[-1:]
        best = usable[0]
        for trial in usable[1:]:
            if best.whole * 2 < best.read and trial.whole > best.whole + 0.2 * max(trial.read, best.read):
                best = trial
        return best

    def _with_preset(self, name: str) -> Trial:
        """The preset, with what was guessed in place of what it does not find."""
        records = None
        plain = self._tried(preset=name)
        if plain.failure is not None and self._survey.path:
            records = self._survey.path
            plain = self._tried(preset=name, records=records)
        if plain.failure is not None:
            return plain
        mapped = load_preset(name).get("fields", {})
        fields = {
            guess.field: guess
            for guess in self._guesses.values()
            if guess.field in _OVERRIDDEN and self._better(guess, plain, mapped)
        }
        if not fields:
            return plain
        return self._tried(preset=name, records=records, fields=fields)

    def _better(self, guess: Guess, plain: Trial, mapped: Mapping[str, Any]) -> bool:
        """Whether the preset finds the field in less than half of the records, and the guess in more."""
        given, mentioned = plain.given[guess.field], self._mentioned(mapped.get(guess.field))
        if guess.field == "closeDate" and plain.unread_dates and mentioned:
            return (
                bool(guess.lookup)
                or given < plain.unread_dates * 2
                or _order(guess.expression)
                not in (
                    None,
                    *_texts(mapped["closeDate"]),
                )
            )
        if guess.field in _OPTIONAL:
            return bool(guess.columns) and not mentioned
        if guess.field == "referenceId" and plain.long_references * 2 > plain.read:
            return True
        if guess.field in _ADDRESSES:
            return guess.field in mapped and not plain.given[ROUTING_FIELD] and guess.share > 0.2
        return given * 2 < plain.read and guess.share * plain.read > given + 0.2 * plain.read

    def _mentioned(self, expression: object) -> bool:
        """Whether one of the file's columns, or what they are parts of, is named in a right-hand side."""
        names = {_first(selector) for selector in self._survey.columns}
        return any(_first(part) in names for text in _texts(expression) for part in re.split(r"[{}]", text))

    def _own_fields(self) -> dict[str, Guess]:
        fields = dict(self._guesses)
        addresses = [name for name in _ADDRESSES if name in fields]
        if addresses:
            why = f"the first of {' and '.join(addresses)} that there is"
            fields[ROUTING_FIELD] = Guess(ROUTING_FIELD, {"prefer": addresses}, why)
        return fields

    # -- trying

    def _tried(self, **choices: Any) -> Trial:
        chosen: dict[str, Any] = {"native": False, "preset": None, "records": None, "fields": {}} | choices
        trial = Trial(render(self._parts, unknown={}, **chosen))
        self._choice[id(trial)] = chosen
        try:
            trial.config = self._load(trial.text)
            self._try(trial, trial.config, _DECIDING)
        except (FeedError, ConfigError) as error:
            trial.failure = str(error)
        return trial

    def _load(self, text: str) -> FeedConfig:
        return parse_feed(self._name, text, self._catalogue, FeedDefaults())

    def _try(self, trial: Trial, config: FeedConfig, most: int) -> None:
        reader = open_reader(self._path, config.read, self._limits)
        for record in islice(_unbroken(reader, self._survey), most):
            row = config.mapping.row(record, reader.format)
            trial.read += 1
            trial.unknown.add(row.unknown)
            body = row.body or {}
            faulty = {problem.pointer.split("/")[1] for problem in row.problems if problem.pointer}
            trial.given.update(faulty | {name for name, value in body.items() if value is not None})
            trial.whole += all(body.get(name) is not None or name in faulty for name in NEEDED)
            reference = body.get("referenceId")
            trial.unread_dates += "closeDate" in faulty or not _is_date(body.get("closeDate"))
            trial.long_references += isinstance(reference, str) and len(reference) > (
                FIELD["referenceId"].most or 0
            )
        if not trial.read and self._survey.records:
            trial.failure = "no records"

    def _choices(self, trial: Trial) -> dict[str, Any]:
        return {name: value for name, value in self._choice[id(trial)].items() if name != "preset"}

    def _preset_of(self, trial: Trial) -> str | None:
        found: str | None = self._choice[id(trial)]["preset"]
        return found


def _first(selector: str) -> str:
    """The first step of a path."""
    return blind(re.split(r"[./\[]", selector.strip("./@"), maxsplit=1)[0])


def _order(expression: object) -> str | None:
    """The order of day and month that a guessed date has, if it was told."""
    formats = expression.get("date", ()) if isinstance(expression, dict) else ()
    return next((name for name in formats if name in ("dmy", "mdy")), None)


def _texts(expression: object) -> Iterator[str]:
    """Every text in a right-hand side: selectors, and some that are none."""
    if isinstance(expression, str):
        yield expression
    elif isinstance(expression, list | Mapping):
        for part in expression.values() if isinstance(expression, Mapping) else expression:
            yield from _texts(part)


def _is_date(value: object) -> bool:
    return not isinstance(value, str) or _DATE.match(value) is not None


def _unbroken(reader: Any, found: Survey) -> Iterator[Any]:
    """The records up to where the file is broken, if the survey has seen that it is."""
    try:
        yield from reader
    except FeedError:
        if found.broken is None:
            raise
