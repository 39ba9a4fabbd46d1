"""Warnings about a whole file in which too little is odd for a hold (docs/reconciliation.md "When a run stops short")."""

from functools import partial

from syncd.domain import MAX_REPAID, MIN_UNSAID, PlanCounts, Threshold
from syncd.store import runs
from syncd.sync.run.context import FileRun
from syncd.values import plural

#: A system that exports up to a limit has one of these: 50, 100, 200, 250, 500, 1,000 …
MIN_ROUND, _ROUND = 50, ("1", "2", "25", "5")
#: From more jobs on that get one value, or lose one, the run warns.
MANY_ALIKE = Threshold(10, 5)


def warn_of_round_count(this: FileRun, read: int, lacking: int) -> None:
    """Warn if the newest files all had the same round number of records, and jobs are missing from this one."""
    if not lacking or read < MIN_ROUND or str(read).rstrip("0") not in _ROUND:
        return
    if this.store.read(partial(runs.last_reads, feed_id=this.feed.id, most=2)) == [read, read]:
        detail = (
            f"this file and the two before it have {read:,} records each, and {plural(lacking, 'active job')}"
            " of the feed not among them: is the file cut at a limit of the system that exports it?"
        )
        this.warnings.add_first("round_count", detail)


def warn_of_values(this: FileRun, tally: PlanCounts) -> None:
    """Warn of one value for many jobs, of values or texts that many lose, and of jobs that are live, or not confidential, for
    lack of a value."""
    policy = this.feed.config.policy
    texts = {"half of their text, their paragraphs or their end": tally.shrunk}
    for code, numbers, whole, limit, would in (
        (
            "uniform",
            tally.uniform,
            tally.named_active,
            policy.max_emptied,
            "active jobs get one and the same",
        ),
        (
            "emptied",
            tally.emptied,
            tally.compared,
            policy.max_emptied,
            "rows have lost a value that they had:",
        ),
        ("shrunk", texts, tally.described, policy.max_shrunk, "descriptions lose"),
    ):
        for what, number in numbers.items():
            if MANY_ALIKE.crossed(number, whole) and not limit.crossed(number, whole):
                this.warnings.add_first(code, f"{number} of {whole} {would} {what}")
    for what, number in tally.unsaid.items():
        if number < MIN_UNSAID:
            detail = f"jobs are live by rows without a {what}, which nearly all jobs of the feed have"
            this.warnings.add_first("no_status", f"{number} {detail}")
    if tally.revealed and not MAX_REPAID.crossed(tally.revealed, tally.named_active):
        detail = "active jobs are confidential no longer: the name of the employer is shown"
        this.warnings.add_first("revealed", f"{tally.revealed} of {tally.named_active} {detail}")
