"""A record by itself: mapped, checked by the API's own rules, and decided as if nobody had its referenceId.
Asks neither the store nor a clock, so it may be done anywhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, TypeGuard

from syncd.domain import rules
from syncd.domain.catalog import Catalog
from syncd.domain.flat import NewJob, flat
from syncd.domain.job import JobInput, Moment, Place
from syncd.domain.plan import Create, Ownership, decide_row, due
from syncd.domain.policy import Policy
from syncd.errors import Invalid, Problem
from syncd.feeds.mapping import MappedRow, Mapping, unknown_places
from syncd.feeds.readers import Format, Record
from syncd.sync.validation.packing import New, pack, pack_problems

_NOBODY = Ownership()
_NO_OBJECT = Problem("", "wrong_type", "a record must be an object")


class Kind(IntEnum):
    """What became of a record that was not known."""

    ROW = 1  # valid by itself
    REJECTED = 2
    RAGGED = 3  # rejected, and its id may stand in the wrong column


class Judged(NamedTuple):
    """A record after mapping and the rules for what was sent: ``sent`` or ``problems``, and its id where it
    is readable. ``unknown``: (field, value) of what no catalogue and no lookup has, and of what could be no
    place."""

    reference: str | None
    sent: JobInput | None
    problems: tuple[Problem, ...]
    warnings: tuple[tuple[str, str], ...]
    unknown: tuple[tuple[str, str], ...] = ()


class Outcome(NamedTuple):
    """What a record comes to, in values that any process can be told. ``body``: the packed row, or the packed
    problems. ``day``: the day (proleptic ordinal) for which it was decided what the row creates; 0: it was not,
    or it creates nothing. ``warnings`` and ``unknown``: see Judged."""

    kind: Kind
    reference: str | None
    body: bytes
    day: int
    warnings: tuple[tuple[str, str], ...]
    unknown: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Judge:
    """All that decides what a record comes to before the store is asked. ``feed_id`` and ``employer_id`` are
    the store's."""

    mapping: Mapping
    catalog: Catalog
    policy: Policy
    feed_id: int
    employer_id: int

    def outcomes(self, records: Iterable[Record], form: Format | None, now: Moment) -> list[Outcome]:
        """In the order of the records, each of which must hold only until the next is asked for.

        Each step for all of them: a processor is faster at what it has just done, by a seventh."""
        mapped, ragged = [], []
        for record in records:
            mapped.append(self.mapping.row(record, form))
            ragged.append(record.problem is not None)
        judged = [_checked(row, self.catalog) for row in mapped]
        news = [self._new(row.sent, now) if row.sent is not None else None for row in judged]
        return [_outcome(*found, now) for found in zip(judged, news, ragged, strict=True)]

    def _new(self, sent: JobInput, now: Moment) -> New | None:
        """The job that the row creates if nobody has its reference; None if that has to be asked again: it
        creates none, or more is to be remembered of it than its digest."""
        places = sent.fields.get("locations")
        if sent.id is not None or self.policy.on_api_edit == "keep" or not _unlocated(places):
            return None
        decision = decide_row(
            None,
            sent,
            now,
            employer_id=self.employer_id,
            feed_id=self.feed_id,
            ownership=_NOBODY,
            policy=self.policy,
        ).decision
        if not isinstance(decision, Create):
            return None
        return New(NewJob(flat(decision.job), places), due(sent, decision.job, self.policy, now))


def _unlocated(places: object) -> TypeGuard[tuple[Place, ...]]:
    return isinstance(places, tuple) and all(isinstance(place, Place) for place in places)


def _outcome(judged: Judged, new: New | None, ragged: bool, now: Moment) -> Outcome:
    if judged.sent is None or judged.reference is None:
        kind = Kind.RAGGED if ragged else Kind.REJECTED
        body = pack_problems(judged.problems)
        return Outcome(kind, judged.reference, body, 0, judged.warnings, judged.unknown)
    day = now.today.toordinal() if new is not None else 0
    return Outcome(Kind.ROW, judged.reference, pack(judged.sent, new), day, judged.warnings, judged.unknown)


def judge(mapping: Mapping, catalog: Catalog, record: Record, form: Format | None) -> Judged:
    """Maps a record and checks what it sends, by the API's own rules."""
    return _checked(mapping.row(record, form), catalog)


def _checked(mapped: MappedRow, catalog: Catalog) -> Judged:
    problems = mapped.problems
    if mapped.body is None:
        reference = _readable(mapped.reference_id)
        return Judged(reference, None, problems or (_NO_OBJECT,), mapped.warnings, mapped.unknown)
    try:
        sent = rules.check(mapped.body, catalog, reference_required=True)
    except Invalid as invalid:
        problems = _joined(problems, invalid.problems)
    if problems:
        unknown = mapped.unknown + unknown_places(problems)
        return Judged(_readable(mapped.reference_id), None, problems, mapped.warnings, unknown)
    return Judged(sent.reference_id, sent, (), mapped.warnings, mapped.unknown)


def _readable(reference: str | None) -> str | None:
    """The id that a rejected row names, where it could be the id of a job at all."""
    try:
        return rules.check_reference({"referenceId": reference})
    except Invalid:
        return None


def _joined(mapping: tuple[Problem, ...], rule: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """The mapping knows the file's own value: where it complains about a field, the rules need not do so
    again."""
    said = {p.pointer.split("/")[1] if p.pointer else "" for p in mapping}
    return mapping + tuple(p for p in rule if (p.pointer.split("/")[1] if p.pointer else "") not in said)
