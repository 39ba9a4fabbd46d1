"""``feed new``: from a survey and its guesses to the text of a feed's file, tried on the file itself.

The text is for a person: the findings, each guess with its reason, samples of every value, unknown values with their counts. It
loads as it is."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

from syncd.domain import FIELD, OWN_BITS, Catalogue, FeedLimits, check_body
from syncd.errors import ConfigError, FeedError, Invalid, Problem
from syncd.feeds.configuration import FeedConfig, FeedDefaults, parse_feed
from syncd.feeds.drafting.columns import ColumnSearch, Guess
from syncd.feeds.drafting.draft_text import YEARLY_ABOVE, DraftPlan, Findings, render
from syncd.feeds.drafting.guessing import APPLYING, OF_PROGRAMS, guess_fields, is_cut, repeated_reference
from syncd.feeds.drafting.left_out import doubts_of, doubts_of_close_date
from syncd.feeds.drafting.structured_guesses import guess_status
from syncd.feeds.drafting.survey import RECORDS, Paging, Survey, paging_of, survey_file
from syncd.feeds.mapping import (
    EMAIL_FIELD,
    ROUTING_FIELD,
    TITLE_NOT_OPEN,
    URL_FIELD,
    MappedRow,
    UnknownCounter,
)
from syncd.feeds.mapping.presets import is_native, load_preset
from syncd.feeds.mapping.transforms import money
from syncd.feeds.readers import open_reader
from syncd.feeds.source import Source
from syncd.feeds.text import page_at
from syncd.values import plural

#: Without these a new job is refused; a mapping that lacks one is of no use.
NEEDED = ("referenceId", "title", "locations", "description", ROUTING_FIELD)
#: A plan that derives an id for a record without one is not the better one.
_COMPARED = NEEDED[1:]
_ADDRESSES = (URL_FIELD, EMAIL_FIELD)
#: For these a preset has a default, or most feeds have nothing. A guess counts where it finds more in the file.
_OPTIONAL = ("categories", "positionType", "salary", "closeDate", "status")
_OVERRIDDEN = (*NEEDED, *_ADDRESSES, *_OPTIONAL, "confidential")
#: The name of an address to apply at, which goes before one that may be the posting's own page.
_APPLY = re.compile("appl|postul|candidat")
#: The least score of a preset that is tried, and the most presets.
_MIN_SCORE, _MAX_TRIED = 0.4, 3
#: The most records that decide between plans. The unknown values of the chosen one are counted over all.
_MAX_DECIDING = 500
#: Pay of this much without a period is likely pay for a year.
_YEARLY = money.PeriodLimits(Decimal(0), Decimal(YEARLY_ABOVE))
#: The least share of the records in which a guess has to serve where the preset does not.
_LEAST_GAIN = 0.1


@dataclass(frozen=True, slots=True)
class Draft:
    """``text`` is the file, ``config`` is loaded from it, ``preset`` is its base. ``paging``: the sign
    of more pages in the answer of the address; ``remarks``: doubts about jobs that would go live."""

    text: str
    config: FeedConfig
    preset: str | None
    survey: Survey
    paging: Paging | None = None
    remarks: tuple[str, ...] = ()


@dataclass(slots=True)
class Trial:
    """The outcome of a plan for the file.

    ``filled`` is field → records in which it has a value, ``own`` → records in which the record itself gives it one, ``known`` →
    records in which that is known (of the status: it is not live); ``good`` are the records that would go in, whatever their
    status, country and referenceId; ``retitled`` those with the referenceId, but not the title, of an earlier one,
    ``elsewhere`` those that differ from it in their places alone; ``derived`` those whose
    referenceId is derived; ``yearly`` those with pay of tens of thousands without a
    period; ``assumed`` counts the places that nothing says are in Canada, ``not_open`` the titles that say
    that the posting is not open, ``cut`` the descriptions that are the beginning of
    longer ones. ``failure`` says why it could not be read."""

    plan: DraftPlan
    read: int = 0
    left_out: int = 0
    good: int = 0
    assumed: int = 0
    not_open: int = 0
    cut: int = 0
    long_references: int = 0
    filled: Counter[str] = field(default_factory=Counter)
    own: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    unknown: UnknownCounter = field(default_factory=UnknownCounter)
    postings: dict[str, Mapping[str, int]] = field(default_factory=dict)
    retitled: int = 0
    elsewhere: int = 0
    derived: int = 0
    yearly: int = 0
    pages: Counter[str] = field(default_factory=Counter)
    failure: str | None = None

    def add(self, row: MappedRow, catalogue: Catalogue) -> None:
        """Count one record. A plan is not better because it reads no status or no country."""
        if row.left_out is not None:
            self.left_out += 1
            return
        body, problems = row.body or {}, [*row.problems]
        try:
            check_body(body, catalogue)
        except Invalid as invalid:
            problems += invalid.problems
        faulty = {_field_of(problem) for problem in problems if problem.pointer}
        bad = {_field_of(problem) for problem in problems if problem.code != "outside_canada"}
        self.read += 1
        self.filled.update(faulty | {name for name, value in body.items() if value is not None})
        unknown = {name for name, _ in row.unknown} | faulty
        has = {name for name, bit in OWN_BITS.items() if row.own_values & bit}
        own = {name for name in has if body.get(name) is not None}
        self.own.update(own | unknown | (has & {"status"}))  # a lookup may take a word for a live job away
        self.known.update(own - unknown)
        self.known["status"] += "status" in faulty or body.get("status", "active") != "active"
        whole = all(body.get(name) is not None or name in faulty for name in _COMPARED)
        self.pages.update([page_at(str(body[URL_FIELD]))] if body.get(URL_FIELD) else ())
        self.good += whole and not bad - {"status", "referenceId"}
        self.cut += is_cut(str(body.get("description")))
        reference = row.reference_id or ""
        self.long_references += len(reference) > FIELD["referenceId"].most
        marks = {name: hash(str(value)) for name, value in body.items()}
        earlier = self.postings.setdefault(reference, marks) if reference else marks
        differ = {name for name in marks.keys() | earlier.keys() if marks.get(name) != earlier.get(name)}
        self.retitled += "title" in differ
        self.elsewhere += differ == {"locations"}
        self.unknown.add(row.unknown)
        for code, detail in row.warnings:
            self.derived += code == "derived_reference"
            self.assumed += code == "place_assumed"
            self.not_open += code == TITLE_NOT_OPEN
            if code == "salary_no_period":
                self.yearly += money.parse(detail.partition(": ")[2].strip('"'), _YEARLY).usable


def employer_named_in(path: Path, limits: FeedLimits) -> str | None:
    """Return the employer that most records of the file name, None if there is none. Raise FeedError."""
    columns = survey_file(path, limits).search()
    companies = columns.named("company", lambda column: column.average < 100 and column.different <= 3)
    return companies[0].samples[0] if companies and companies[0].filled * 2 > columns.records else None


class Drafter:
    """Drafts one feed. ``name`` is the feed's, ``employer`` the owner of the jobs; ``today`` is for the first line; ``source``:
    the one of its files, for the draft; ``linked``: the header Link of its answer names a next page; ``preset``: the one to use,
    None for that which fits best."""

    def __init__(
        self,
        path: Path,
        name: str,
        *,
        employer: str,
        catalogue: Catalogue,
        limits: FeedLimits,
        today: str,
        source: Source | None = None,
        linked: bool = False,
        preset: str | None = None,
    ) -> None:
        self._path, self._limits, self._preset = path, limits, preset
        self._survey = survey_file(path, limits)
        columns = self._survey.search()
        self._guesses = guess_fields(columns, today)
        self._findings = Findings(
            name=name,
            employer=employer,
            file=path.name,
            today=today,
            survey=self._survey,
            catalogue=catalogue,
            presets=[(preset, score) for preset, score in self._survey.presets() if score >= _MIN_SCORE],
            columns=columns,
            source=source,
            paging=paging_of(path, self._survey, source, linked=linked),
        )
        if (unread := guess_status(ColumnSearch(self._survey.unread.values(), self._survey.format, 1))) and (
            "status" not in self._guesses
        ):
            self._guesses["status"] = _draft_status(unread)
        guess, repeated = self._guesses.get("referenceId"), repeated_reference(columns)
        if repeated and (guess is None or "derive" in str(guess.expression)):
            trial = self._try(DraftPlan(fields=self._guesses | {"referenceId": repeated}))
            if not trial.retitled and len(trial.postings) < trial.read:
                self._guesses["referenceId"] = repeated

    def draft(self) -> Draft:
        """Return the draft. Raise ConfigError for a name that no feed can have."""
        native = self._preset is None and is_native(self._survey.fields)
        best = self._try(DraftPlan(native=True)) if native else self._best()
        if best.failure is None and best.read >= _MAX_DECIDING:
            best = self._try(best.plan, RECORDS)
        lacking = [name for name in NEEDED if best.filled[name] * 2 < best.read]
        elsewhere = 0 if best.retitled else best.elsewhere
        text = render(
            self._findings, best.plan, best.unknown.fields, lacking, yearly=best.yearly, elsewhere=elsewhere
        )
        config = self._load(text)
        rules = self._findings.left_out(best.plan)
        doubts = [
            f"{rule.said}, and these would go in: see [rows] in the draft"
            for rule in rules
            if not rule.certain
        ]
        if best.not_open:
            doubts.append(
                f"the title says in {plural(best.not_open, 'record')} that it is not open, and these would go in"
            )
        if not best.own["closeDate"]:
            doubts += doubts_of_close_date(self._findings.columns)
        doubts += doubts_of(self._findings.columns, self._findings.today)
        doubts += [
            f"{plural(count, 'more record')} at {place} would not be read"
            for place, count in self._survey.beside.items()
        ]
        doubts += [
            guess.why
            for name, guess in best.plan.fields.items()
            if not guess.columns and (name == "status" or self._is_coded(name))
        ]
        return Draft(text, config, config.preset, self._survey, self._findings.paging, (*doubts,))

    def _best(self) -> Trial:
        """Return the plan that brings most records in; of equal ones a preset, and of these the likeliest."""
        if self._preset is not None:
            return self._with_preset(self._preset)
        trials = [self._with_preset(name) for name, _ in self._findings.presets[:_MAX_TRIED]]
        trials.append(self._try(DraftPlan(fields=self._own_fields())))
        usable = [trial for trial in trials if trial.failure is None] or trials[-1:]
        return max(usable, key=lambda trial: (trial.good, sum(trial.filled[name] for name in _COMPARED)))

    def _with_preset(self, name: str) -> Trial:
        """Return the preset, with guesses in place of the fields that it does not find."""
        plain = self._try(DraftPlan(preset=name))
        if plain.failure is not None and self._survey.path:
            plain = self._try(DraftPlan(preset=name, records=self._survey.path))
        if plain.failure is not None:
            return plain
        mapped = load_preset(name).get("fields", {})
        guesses = (guess for guess in self._guesses.values() if guess.field in _OVERRIDDEN)
        fields = {guess.field: guess for guess in guesses if self._is_better(guess, plain, mapped)}
        status = self._guesses.get("status")
        if status and not status.columns and not plain.own["status"]:
            fields["status"] = status
        kinds = fields["positionType"].columns if "positionType" in fields else ()
        named = [c.selector for c in kinds if c.rank("status") is not None and not c.kinds["status"]]
        if status is None and named:
            why = f"{named[0]} has the types of work, so it does not say whether a posting is open"
            fields["status"] = Guess("status", False, why)
        # an address to which all records lead is not that of a job, nor is that of an API
        no_pages = len(plain.pages) == 1 or all(map(OF_PROGRAMS.match, plain.pages))
        if no_pages and plain.pages.total() == plain.read > 1 and URL_FIELD not in fields:
            fields |= _without_page(plain.read, EMAIL_FIELD in mapped)
        return self._try(replace(plain.plan, fields=fields)) if fields else plain

    def _is_better(self, guess: Guess, plain: Trial, mapped: Mapping[str, Any]) -> bool:
        """Return whether the guess serves more records than the field of the preset, or it alone reads the file."""
        name = guess.field
        if name == "confidential":
            return name not in mapped
        if name in _OPTIONAL:
            if not guess.columns:
                return self._is_coded(name)
            trial = self._try(replace(plain.plan, fields={name: guess}))
            if name == "closeDate" and not plain.known[name]:  # the guess says why its dates cannot be read
                return True
            if name == "status":  # one more record counts, and one more that says something
                return trial.own[name] > plain.own[name] or trial.known[name] > plain.known[name]
            if trial.own[name] and not plain.own[name]:
                return True
            known = trial.known[name]
            several = (
                name == "positionType" and len(guess.columns) > 1 and trial.known[name] >= plain.known[name]
            )
            if several and self._leaves(guess, plain):
                return True
            if name == "positionType":  # beside a known type the words of another column may be unknown
                known = max(known, int(plain.read * max(c.share("position") for c in guess.columns)))
            return trial.good > plain.good or known > plain.known[name] + plain.read * _LEAST_GAIN
        shared = plain.retitled > plain.read * _LEAST_GAIN
        if name == "referenceId" and (shared or plain.long_references * 2 > plain.read):
            return True
        if name == "referenceId" and plain.derived * 2 > plain.read:  # an id of the file's own is surer
            return "derive" not in str(guess.expression)
        if name == "locations" and plain.assumed:  # a province that the preset does not read
            trial = self._try(replace(plain.plan, fields={name: guess}))
            if trial.good >= plain.good and trial.assumed < plain.assumed:
                return True
        if name in _ADDRESSES and name in mapped:
            read = next(self._findings.read_by(mapped[name]), None)
            others = [read.name, *read.samples] if read else ["apply"]
            if APPLYING.search(guess.columns[0].name) and not any(map(APPLYING.search, others)):
                return True
        if name in _ADDRESSES:
            return name in mapped and not plain.filled[ROUTING_FIELD] and guess.share > 0.2
        if (
            name == "description" and plain.cut * 2 > plain.read
        ):  # an excerpt, where the guess has the whole text
            trial = self._try(replace(plain.plan, fields={name: guess}))
            return trial.good >= plain.good and trial.cut < plain.cut
        filled = plain.filled[name]
        return filled * 2 < plain.read and guess.share * plain.read > filled + 0.2 * plain.read

    def _leaves(self, guess: Guess, plain: Trial) -> bool:
        """Return whether the plan does not read a column of the guess: the hours alone make a temporary job permanent."""
        mapping = self._load(render(self._findings, plain.plan, {})).mapping
        return bool(mapping.unused([column.selector for column in guess.columns], self._survey.format))

    def _is_coded(self, name: str) -> bool:
        """Return whether a preset would take the numbers of the file's system for ids of the catalogue."""
        return name in ("categories", "positionType") and self._findings.columns.coded(name) is not None

    def _own_fields(self) -> dict[str, Guess]:
        fields = dict(self._guesses)
        addresses = [name for name in _ADDRESSES if name in fields]
        addresses.sort(
            key=lambda name: not any(_APPLY.search(column.name) for column in fields[name].columns)
        )
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
            for record in islice(reader, most):
                trial.add(config.mapping.row(record, reader.format), self._findings.catalogue)
            if not trial.read + trial.left_out and self._survey.records:
                trial.failure = "no records"
        except (FeedError, ConfigError) as error:
            if not trial.read or self._survey.broken is None:
                trial.failure = str(error)
        return trial

    def _load(self, text: str) -> FeedConfig:
        return parse_feed(self._findings.name, text, self._findings.catalogue, FeedDefaults())


def _draft_status(unread: Guess) -> Guess:
    """Return the status of records of which one stands above them, where no selector reads."""
    names = " and ".join(column.selector for column in unread.columns)
    why = f"{names} above the records cannot be read from them, and may say that they are closed: all are drafts, never live"
    return Guess("status", {"value": "draft"}, why)


def _without_page(records: int, has_email: bool) -> dict[str, Guess]:
    """Return the fields that take an address away from a preset."""
    why = f"the address of the preset leads to one page in all {records:,} records, or to an API; delete the line to take it"
    routing: object = {"prefer": [EMAIL_FIELD]} if has_email else False
    return {
        URL_FIELD: Guess(URL_FIELD, False, why),
        ROUTING_FIELD: Guess(ROUTING_FIELD, routing, "goes with the line of applicationUrl"),
    }


def _field_of(problem: Problem) -> str:
    return problem.pointer.partition("/")[2].partition("/")[0]
