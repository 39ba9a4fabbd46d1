"""``feed new``: from a survey and its guesses to the text of a feed's file, tried on the file itself.

The text is for a person: the findings, each guess with its reason, samples of every value, unknown values with their counts. It
loads as it is."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

from syncd.domain import FIELD, Catalogue, FeedLimits, check_body
from syncd.errors import ConfigError, FeedError, Invalid, Problem
from syncd.feeds.configuration import FeedConfig, FeedDefaults, parse_feed
from syncd.feeds.drafting.columns import Guess, comparable
from syncd.feeds.drafting.draft_text import YEARLY_ABOVE, DraftPlan, Findings, render
from syncd.feeds.drafting.guessing import doubted_addresses, guess_company, guess_fields, near_addresses
from syncd.feeds.drafting.survey import RECORDS, Survey, survey_file
from syncd.feeds.mapping import EMAIL_FIELD, ROUTING_FIELD, URL_FIELD, UnknownCounter
from syncd.feeds.mapping.presets import is_native, load_preset
from syncd.feeds.mapping.transforms import money
from syncd.feeds.readers import Record, open_reader

#: Without these a new job is refused; a mapping that lacks one is of no use.
NEEDED = ("referenceId", "title", "locations", "description", ROUTING_FIELD)
#: A plan that derives an id for a record without one is not the better one.
_COMPARED = NEEDED[1:]
_ADDRESSES = (URL_FIELD, EMAIL_FIELD)
#: For these a preset has a default, or most feeds have nothing. They are guessed only where the preset reads none of the file's
#: columns.
_OPTIONAL = ("categories", "positionType", "salary", "closeDate", "status")
_OVERRIDDEN = (*NEEDED, *_ADDRESSES, *_OPTIONAL)
#: The least score of a preset that is tried, and the most presets.
_MIN_SCORE, _MAX_TRIED = 0.4, 3
#: The most records that decide between plans. The unknown values of the chosen one are counted over all.
_MAX_DECIDING = 500
#: Pay of this much without a period is likely pay for a year.
_YEARLY = money.PeriodLimits(Decimal(0), Decimal(YEARLY_ABOVE))
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Draft:
    """``text`` is the file, ``config`` is loaded from it, ``preset`` is its base."""

    text: str
    config: FeedConfig
    preset: str | None
    survey: Survey


@dataclass(slots=True)
class Trial:
    """The outcome of a plan for the file.

    ``filled`` is field → records in which it has a value; ``good`` are the records that would go in, whatever their status,
    country and referenceId; ``unread_dates`` those whose closeDate is in no format of the mapping; ``without_period`` those
    whose pay has no period, ``yearly`` those of them with tens of thousands. ``failure`` says why it could not be read."""

    plan: DraftPlan
    read: int = 0
    good: int = 0
    long_references: int = 0
    unread_dates: int = 0
    filled: Counter[str] = field(default_factory=Counter)
    unknown: UnknownCounter = field(default_factory=UnknownCounter)
    without_period: int = 0
    yearly: int = 0
    pages: Counter[str] = field(default_factory=Counter)
    failure: str | None = None

    @property
    def worth(self) -> tuple[int, int]:
        """The records that would go in, then the values of the fields that a job needs."""
        return self.good, sum(self.filled[name] for name in _COMPARED)

    @property
    def has_one_page(self) -> bool:
        """Return whether all records lead to one address, which is then not that of a job."""
        return len(self.pages) == 1 and self.pages.total() == self.read > 1

    def add(self, body: Mapping[str, Any], problems: Sequence[Problem]) -> None:
        """Count one record. A plan is not better because it reads no status or no country."""
        faulty = {_field_of(problem) for problem in problems if problem.pointer}
        bad = {_field_of(problem) for problem in problems if problem.code != "outside_canada"}
        self.read += 1
        self.filled.update(faulty | {name for name, value in body.items() if value is not None})
        whole = all(body.get(name) is not None or name in faulty for name in _COMPARED)
        self.pages.update([str(body[URL_FIELD])] if body.get(URL_FIELD) else ())
        self.good += whole and not bad - {"status", "referenceId"}
        reference, close_date = body.get("referenceId"), body.get("closeDate")
        is_date = not isinstance(close_date, str) or _DATE.match(close_date) is not None
        self.unread_dates += "closeDate" in faulty or not is_date
        self.long_references += isinstance(reference, str) and len(reference) > FIELD["referenceId"].most

    def add_pay(self, warnings: Iterable[tuple[str, str]]) -> None:
        for code, detail in warnings:
            if code == "salary_no_period":
                self.without_period += 1
                self.yearly += money.parse(detail.partition(": ")[2].strip('"'), _YEARLY).usable


def employer_named_in(path: Path, limits: FeedLimits) -> str | None:
    """Return the employer that most records of the file name, None if there is none. Raise FeedError."""
    return guess_company(survey_file(path, limits).search())


class Drafter:
    """Drafts one feed. ``name`` is the feed's, ``employer`` the owner of the jobs; ``today`` is for the first line."""

    def __init__(
        self, path: Path, name: str, *, employer: str, catalogue: Catalogue, limits: FeedLimits, today: str
    ) -> None:
        self._path, self._limits = path, limits
        self._survey = survey_file(path, limits)
        columns = self._survey.search()
        self._guesses = guess_fields(columns)
        self._findings = Findings(
            name=name,
            employer=employer,
            file=path.name,
            today=today,
            survey=self._survey,
            catalogue=catalogue,
            presets=[(preset, score) for preset, score in self._survey.presets() if score >= _MIN_SCORE],
            near=near_addresses(columns),
            doubted=doubted_addresses(columns),
        )

    def draft(self) -> Draft:
        """Return the draft. Raise ConfigError for a name that no feed can have."""
        best = self._try(DraftPlan(native=True)) if is_native(self._survey.fields) else self._best()
        if best.failure is None and best.read >= _MAX_DECIDING:
            best = self._try(best.plan, RECORDS)
        lacking = [name for name in NEEDED if best.filled[name] * 2 < best.read]
        text = render(self._findings, best.plan, best.unknown.fields, lacking, best.yearly)
        config = self._load(text)
        return Draft(text, config, config.preset, self._survey)

    def _best(self) -> Trial:
        """Return the plan that brings most records in; of equal ones a preset, and of these the likeliest."""
        trials = [self._with_preset(name) for name, _ in self._findings.presets[:_MAX_TRIED]]
        trials.append(self._try(DraftPlan(fields=self._own_fields())))
        usable = [trial for trial in trials if trial.failure is None] or trials[-1:]
        return max(usable, key=lambda trial: trial.worth)

    def _with_preset(self, name: str) -> Trial:
        """Return the preset, with guesses in place of the fields that it does not find."""
        plain = self._try(DraftPlan(preset=name))
        if plain.failure is not None and self._survey.path:
            plain = self._try(DraftPlan(preset=name, records=self._survey.path))
        if plain.failure is not None:
            return plain
        mapped = load_preset(name).get("fields", {})
        fields = {
            guess.field: guess
            for guess in self._guesses.values()
            if guess.field in _OVERRIDDEN and self._is_better(guess, plain, mapped)
        }
        if plain.has_one_page and URL_FIELD not in fields:
            fields |= _without_page(plain.read, EMAIL_FIELD in mapped)
        return self._try(replace(plain.plan, fields=fields)) if fields else plain

    def _is_better(self, guess: Guess, plain: Trial, mapped: Mapping[str, Any]) -> bool:
        """Return whether the preset finds the field in less than half of the records, and the guess in more."""
        filled, mentioned = plain.filled[guess.field], self._mentioned(mapped.get(guess.field))
        if guess.field == "closeDate" and plain.unread_dates and mentioned:
            other_order = _order(guess.expression) not in (None, *_texts(mapped["closeDate"]))
            return bool(guess.lookup) or filled < plain.unread_dates * 2 or other_order
        if (
            guess.field == "positionType" and mentioned
        ):  # by a preset whose column has no types, where another has
            unknown = plain.unknown.fields.get(guess.field, Counter()).total()
            return unknown * 2 > plain.read and any(column.kinds["position"] for column in guess.columns)
        if guess.field == "status":  # every column that says that a job is not live counts
            read = {("@" in text, comparable(text)) for text in _texts(mapped.get("status"))}
            selectors = (column.selector for column in guess.columns)
            return any(("@" in text, comparable(text)) not in read for text in selectors)
        if guess.field == "salary" and plain.without_period * 2 > plain.read:
            return isinstance(guess.expression, dict) and "period" in guess.expression
        if guess.field in _OPTIONAL:
            return bool(guess.columns) and not mentioned
        if guess.field == "referenceId" and plain.long_references * 2 > plain.read:
            return True
        if guess.field in _ADDRESSES:
            return guess.field in mapped and not plain.filled[ROUTING_FIELD] and guess.share > 0.2
        return filled * 2 < plain.read and guess.share * plain.read > filled + 0.2 * plain.read

    def _mentioned(self, expression: object) -> bool:
        """Return whether a right-hand side names one of the file's columns, or an object or element of them."""
        names = {_first_step(selector) for selector in self._survey.columns}
        parts = (part for text in _texts(expression) for part in re.split(r"[{}]", text))
        return any(_first_step(part) in names for part in parts)

    def _own_fields(self) -> dict[str, Guess]:
        fields = dict(self._guesses)
        addresses = [name for name in _ADDRESSES if name in fields]
        if addresses:
            why = f"the first of {' and '.join(addresses)} that there is"
            fields[ROUTING_FIELD] = Guess(ROUTING_FIELD, {"prefer": addresses}, why)
        return fields

    def _try(self, plan: DraftPlan, most: int = _MAX_DECIDING) -> Trial:
        """Return the outcome of a plan for the file's first records."""
        trial = Trial(plan)
        try:
            config = self._load(render(self._findings, plan, {}))
            reader = open_reader(self._path, config.read, self._limits)
            for record in islice(self._unbroken(reader), most):
                row = config.mapping.row(record, reader.format)
                body = row.body or {}
                trial.add(body, [*row.problems, *self._refusals(body)])
                trial.unknown.add(row.unknown)
                trial.add_pay(row.warnings)
            if not trial.read and self._survey.records:
                trial.failure = "no records"
        except (FeedError, ConfigError) as error:
            trial.failure = str(error)
        return trial

    def _refusals(self, body: Mapping[str, Any]) -> Sequence[Problem]:
        """Return the problems for which the API would refuse a body."""
        try:
            check_body(body, self._findings.catalogue)
        except Invalid as invalid:
            return invalid.problems
        return []

    def _load(self, text: str) -> FeedConfig:
        return parse_feed(self._findings.name, text, self._findings.catalogue, FeedDefaults())

    def _unbroken(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the records up to where the file is broken, if the survey has seen that it is."""
        try:
            yield from records
        except FeedError:
            if self._survey.broken is None:
                raise


def _without_page(records: int, has_email: bool) -> dict[str, Guess]:
    """Return the fields that take an address away from a preset."""
    why = f"the address that the preset reads is the same in all {records:,} records; if people apply there, delete the line"
    routing: object = {"prefer": [EMAIL_FIELD]} if has_email else False
    return {
        URL_FIELD: Guess(URL_FIELD, False, why),
        ROUTING_FIELD: Guess(ROUTING_FIELD, routing, "goes with the line of applicationUrl"),
    }


def _field_of(problem: Problem) -> str:
    return problem.pointer.partition("/")[2].partition("/")[0]


def _first_step(selector: str) -> str:
    return comparable(re.split(r"[./\[]", selector.strip("./@"), maxsplit=1)[0])


def _order(expression: object) -> str | None:
    formats = expression.get("date", ()) if isinstance(expression, dict) else ()
    return next((name for name in formats if name in ("dmy", "mdy")), None)


def _texts(expression: object) -> Iterator[str]:
    """Yield every text in a right-hand side: selectors, and some others."""
    if isinstance(expression, str):
        yield expression
    elif isinstance(expression, list | Mapping):
        for part in expression.values() if isinstance(expression, Mapping) else expression:
            yield from _texts(part)
