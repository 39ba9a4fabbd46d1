"""Plans of a drafted feed file, each tried on the file itself."""

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
from syncd.feeds.drafting.columns import Survey
from syncd.feeds.drafting.draft_text import DraftPlan, Findings, render
from syncd.feeds.drafting.survey import RECORDS
from syncd.feeds.mapping import ROUTING_FIELD, UnknownCounter
from syncd.feeds.readers import open_reader

#: Without these a new job is refused; a mapping that lacks one is of no use.
NEEDED = ("referenceId", "title", "locations", "description", ROUTING_FIELD)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
#: This many records decide between plans. What the chosen one does not know is counted over all.
_DECIDING = 500


@dataclass(slots=True)
class Trial:
    """What a plan makes of the file.

    ``given`` is field → records in which it has a value; ``whole`` are the records that have all that is needed;
    ``unread_dates`` those whose closeDate is in no format of the mapping. ``failure`` says why it could not be read."""

    plan: DraftPlan
    read: int = 0
    whole: int = 0
    long_references: int = 0
    unread_dates: int = 0
    given: Counter[str] = field(default_factory=Counter)
    unknown: UnknownCounter = field(default_factory=UnknownCounter)
    failure: str | None = None

    def add(self, body: Mapping[str, Any], faulty: set[str]) -> None:
        """Count one record. ``faulty`` are the fields with problems."""
        self.read += 1
        self.given.update(faulty | {name for name, value in body.items() if value is not None})
        self.whole += all(body.get(name) is not None or name in faulty for name in NEEDED)
        reference, close_date = body.get("referenceId"), body.get("closeDate")
        is_date = not isinstance(close_date, str) or _DATE.match(close_date) is not None
        self.unread_dates += "closeDate" in faulty or not is_date
        self.long_references += isinstance(reference, str) and len(reference) > FIELD["referenceId"].most


class DraftTrials:
    """Tries plans for one file."""

    def __init__(self, path: Path, findings: Findings, catalogue: Catalogue, limits: FeedLimits) -> None:
        self._path, self._findings, self._catalogue, self._limits = path, findings, catalogue, limits

    def of(self, plan: DraftPlan) -> Trial:
        """Return the trial of a plan over the first records."""
        return self._trial(plan, _DECIDING)

    def complete(self, trial: Trial) -> Trial:
        """Return the same trial over all records that were surveyed."""
        done = trial.failure is not None or trial.read < _DECIDING
        return trial if done else self._trial(trial.plan, RECORDS)

    def load(self, text: str) -> FeedConfig:
        """Return the configuration that the text of a feed file gives. Raise ConfigError."""
        return parse_feed(self._findings.name, text, self._catalogue, FeedDefaults())

    def _trial(self, plan: DraftPlan, most: int) -> Trial:
        trial = Trial(plan)
        try:
            config = self.load(render(self._findings, plan, {}))
            self._read(trial, config, most)
        except (FeedError, ConfigError) as error:
            trial.failure = str(error)
        return trial

    def _read(self, trial: Trial, config: FeedConfig, most: int) -> None:
        survey = self._findings.survey
        reader = open_reader(self._path, config.read, self._limits)
        for record in islice(_unbroken(reader, survey), most):
            row = config.mapping.row(record, reader.format)
            faulty = {problem.pointer.split("/")[1] for problem in row.problems if problem.pointer}
            trial.add(row.body or {}, faulty)
            trial.unknown.add(row.unknown)
        if not trial.read and survey.records:
            trial.failure = "no records"


def _unbroken(reader: Any, survey: Survey) -> Iterator[Any]:
    """The records up to where the file is broken, if the survey has seen that it is."""
    try:
        yield from reader
    except FeedError:
        if survey.broken is None:
            raise
