"""The jobs that are live: a small model of one feed, which knows no bytes (docs/reconciliation.md "The law")."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from syncd.domain import Threshold
from tests.sync.histories.postings import Posting

MAX_ARCHIVE, MAX_OLDER = Threshold(25, 5), Threshold(10, 4)


@dataclass(slots=True)
class Expected:
    """A job. ``archived``: when a run of the feed archived it and nobody had approved that."""

    posting: Posting
    live: bool
    misses: int = 0
    archived: datetime | None = None


@dataclass(slots=True)
class Effects:
    """The jobs that a delivery changes. ``gone``: jobs that it archives; ``waiting``: those that ``grace`` spares."""

    written: list[Posting] = field(default_factory=list)
    drafts: list[Posting] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    gone: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    #: Jobs that it changes, and those whose close date it may renew.
    changed: int = 0
    undated: int = 0


@dataclass
class Model:
    """A feed's jobs, by reference."""

    grace: int = 1
    jobs: dict[str, Expected] = field(default_factory=dict)

    def live(self) -> dict[str, Posting]:
        return {reference: job.posting for reference, job in self.jobs.items() if job.live}

    def close(self, today: date) -> None:
        """End the jobs whose last live day is over."""
        for job in self.jobs.values():
            if job.live and _over(job.posting, today):
                job.live = False

    def foresee(
        self, postings: Iterable[Posting], today: date, *, rejected: Collection[str] = (), whole: bool = True
    ) -> Effects:
        """Return what a file of these postings does. The rows of the ``rejected`` ones are named alone. A file that is not
        ``whole`` has corrected rows."""
        effects = Effects()
        for posting in {posting.reference: posting for posting in postings}.values():
            job = self.jobs.get(posting.reference)
            effects.named.add(posting.reference)
            if posting.reference in rejected:
                continue
            ends = posting.status == "closed" or (posting.status == "open" and _over(posting, today))
            if (ends or posting.status == "draft") and job is not None and job.live:
                effects.gone.append(posting.reference)
            elif posting.status == "draft" and job is None:
                effects.drafts.append(posting)
            elif not ends and posting.status == "open":
                effects.written.append(posting)
                changed = job is not None and (not job.live or job.posting != posting)
                effects.changed += changed
                effects.undated += not changed and posting.close is None
        for reference, job in self.jobs.items() if whole else ():
            if job.live and reference not in effects.named:
                spared = job.misses + 1 < self.grace
                (effects.waiting if spared else effects.gone).append(reference)
        return effects

    def holds_archive(self, effects: Effects, now: datetime) -> bool:
        """Return whether the guard has to ask before these jobs are archived."""
        active, going = sum(job.live for job in self.jobs.values()), len(effects.gone)
        since = now - timedelta(hours=24)
        recent = sum(
            not job.live and job.archived is not None and job.archived >= since for job in self.jobs.values()
        )
        return going > 0 and (MAX_ARCHIVE.crossed(going + recent, active + recent) or going >= active)

    def holds_older(self, effects: Effects, rows: int, *, renewed: bool) -> bool:
        changed = effects.changed + (effects.undated if renewed else 0)
        return bool(effects.gone) or MAX_OLDER.crossed(changed, rows)

    def apply(self, effects: Effects, now: datetime, *, approved: bool) -> None:
        for reference in effects.gone:
            job = self.jobs[reference]
            job.live, job.archived, job.misses = False, None if approved else now, 0
        for posting in effects.written:
            self.jobs[posting.reference] = Expected(posting, live=True)
        for posting in effects.drafts:
            self.jobs[posting.reference] = Expected(posting, live=False)
        for reference in effects.named & self.jobs.keys():
            self.jobs[reference].misses = 0
        for reference in effects.waiting:
            self.jobs[reference].misses += 1


def _over(posting: Posting, today: date) -> bool:
    return posting.close is not None and posting.close < today


def bad_rows(postings: Sequence[Posting]) -> int:
    return max(2, len(postings) // 50)
