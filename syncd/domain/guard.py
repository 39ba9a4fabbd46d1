"""The effects of a plan that a person has to approve first (docs/reconciliation.md "When a run stops short")."""

from collections.abc import Iterator

from syncd.domain.decisions import Hold, PlanCounts
from syncd.domain.policy import Policy, Threshold

#: With as many active jobs, of which the file names none, and as many new ones it seems to be that of another feed.
MIN_UNRELATED = 5
#: As many rows that the feed left out of the last file, and of this one leaves none out, may be those that are new; as many
#: without a status or a mark, where others have one, may be closed.
MIN_UNFILTERED = MIN_UNSAID = 5
#: More rows with nothing but assumed places hold the file.
MAX_ASSUMED = Threshold(50, 5)
#: More new or changed titles, descriptions or addresses that are damaged hold the file.
MAX_DAMAGED = Threshold(50, 5)
#: More jobs whose pay keeps its digits, in another unit or with another decimal point, or that are no longer confidential, hold
#: the file.
MAX_REPAID = Threshold(10, 5)
#: More rows that an older file would change hold it.
MAX_OLDER_CHANGES = Threshold(10, 4)
#: Code of a hold about the values of jobs → the change that would be made to them.
_CHANGED = {
    "repaid": "keep the digits of their {} and get another unit or decimal point"
    " (a year in place of an hour, cents in place of dollars?)",
    "uniform": "get one and the same {}",
    "swapped": "get the {} of another job, as if that column were sorted alone",
    "relabelled": "get another {} (a code that means something else?)",
    "revealed": "be {} no longer (a mark gone?)",
    "displaced": "get a {} that is not known",
    "misdated": "have a {} a day earlier, or the same of another year, or with day and month swapped",
    "leaps": "have less than 60 % or more than 160 % of their {}",
    "halved": "have one amount of {} in place of two",
}
_GOING = "active jobs would be archived"
_NOTHING_APPLIED = "nothing is applied: "


def guard(counts: PlanCounts, policy: Policy, *, archives: bool) -> Hold | None:
    """Return why the run has to wait, or None. ``archives``: this run may archive missing jobs (a whole file of a snapshot
    feed); archiving by the rows' own dates is checked in every run.

    A hold on everything wins over a hold on the archiving. Several reasons of one kind are joined; ``code`` is that
    of the first: ``max_rejected`` ``rekeyed`` ``unrelated`` ``retitled`` ``shrunk`` ``bared`` ``emptied`` ``unfiltered``
    ``unsaid`` ``uniform`` ``swapped`` ``relabelled`` ``displaced`` ``misdated`` ``leaps`` ``halved`` ``repaid``
    ``revealed`` ``places_assumed`` ``damaged_text`` ``older_bytes`` (everything),
    ``empty`` ``without_reference`` ``feed_changed`` ``max_archive`` (archiving). ``write_failed`` shows later."""
    missing = counts.missing if archives else 0
    for everything, reasons_of in ((True, _everything), (False, _archiving)):
        if reasons := list(reasons_of(counts, policy, missing)):
            effects = _would_happen(counts, missing) if everything else []
            reason = "; ".join([*(reason for _, reason in reasons), *effects])
            return Hold(everything, reasons[0][0], reason, any(code == "rekeyed" for code, _ in reasons))
    return None


def why_held(reason: str) -> str:
    """Return the ``reason`` of a Hold without its last sentence, which names the effects of a run that waits as a whole."""
    return reason.partition(f"; {_NOTHING_APPLIED}")[0]


def write_failed(failures: int, why: str, waiting: int, counts: PlanCounts, before: Hold | None) -> Hold:
    """Return the hold of a run of which writes failed for a reason that waiting does not mend. ``waiting``: jobs that
    would still be archived; ``before``: the hold that the archiving has already."""
    what = "1 write" if failures == 1 else f"{failures} writes"
    reason = f"{what} failed, and waiting does not mend it ({why}); the others went in"
    if before is not None:
        return Hold(False, before.code, f"{before.reason}; {reason}")
    if waiting:
        reason += f"; {_would(waiting, counts.active)}"
    return Hold(False, "write_failed", reason)


def _everything(counts: PlanCounts, policy: Policy, missing: int) -> Iterator[tuple[str, str]]:
    rekeyed = f"active jobs are missing, of which {counts.rekeyed} are new again under another referenceId"
    retitled = "active jobs would get another title, as if columns were shifted"
    shrunk = "descriptions would lose half of their text or more, or their paragraphs, or end in mid-sentence"
    bared = "texts with accents would lose these, as in a wrong encoding"
    lacking = missing + counts.waiting  # within ``grace``, too: the new jobs would be live at once
    mostly_rekeyed = lacking if lacking <= 2 * counts.rekeyed else 0
    for code, limit, part, whole, what in (
        ("max_rejected", policy.max_rejected, counts.rejected, counts.read, "rows were rejected"),
        ("rekeyed", policy.max_rekeyed, mostly_rekeyed, counts.active, rekeyed),
        ("retitled", policy.max_retitled, counts.retitled, counts.named_active, retitled),
        ("shrunk", policy.max_shrunk, counts.shrunk, counts.described, shrunk),
        ("bared", policy.max_shrunk, counts.bared, counts.accented, bared),
    ):
        if limit.crossed(part, whole):
            way = "; rekey keeps their postings, approve makes new ones" if code == "rekeyed" else ""
            yield code, _share(part, whole, what, limit) + way
    unrelated = lacking and not mostly_rekeyed and not counts.named_active
    if unrelated and min(counts.active, counts.created) >= MIN_UNRELATED:
        what = f"the file has none of the {counts.active} active jobs, and {counts.created} that are new"
        yield "unrelated", f"{what}: is it the file of another feed?"
    emptied = {
        what: n for what, n in counts.emptied.items() if policy.max_emptied.crossed(n, counts.compared)
    }
    if emptied:
        most = max(emptied.values())
        lost = (what if number == most else f"{what} (in {number})" for what, number in emptied.items())
        what = f"rows would lose a value that they had (a column gone or renamed?): {', '.join(lost)}"
        yield "emptied", _share(most, counts.compared, what, policy.max_emptied)
    if counts.unfiltered >= MIN_UNFILTERED:
        left_out = f"[rows] left {counts.unfiltered} rows out of the last file, and none of this one, and"
        yield "unfiltered", f"{left_out} {counts.created} jobs are new (a mark gone, or in other words?)"
    for what, number in counts.unsaid.items():
        if number >= MIN_UNSAID:
            unsaid = f"{number} rows have no {what}, as nearly all jobs of the feed have"
            yield "unsaid", f"{unsaid}, and their jobs would be live"
    named = set[str]()
    for code, numbers in (
        ("repaid", {"pay": counts.repaid}),
        ("uniform", counts.uniform),
        ("swapped", counts.swapped),
        ("relabelled", counts.relabelled),
        ("displaced", {"place": counts.displaced}),
        ("revealed", {"confidential": counts.revealed}),
        ("misdated", {"close date": counts.misdated}),
        ("leaps", {"pay": counts.leaps}),
        ("halved", {"pay": counts.halved}),
    ):
        limit = MAX_REPAID if code in ("repaid", "revealed") else policy.max_emptied
        for what, number in numbers.items():
            if what not in named and limit.crossed(number, counts.named_active):
                named.add(what)
                effect = f"active jobs would {_CHANGED[code].format(what)}"
                yield code, _share(number, counts.named_active, effect, limit)
    going_in = counts.read - counts.rejected
    if MAX_ASSUMED.crossed(counts.assumed, going_in):
        what = "rows have only places that nothing says are in Canada"
        assumed = _share(counts.assumed, going_in, what, MAX_ASSUMED)
        yield "places_assumed", f'{assumed}; approve, or say places = "canada" in the feed\'s file'
    for name, damaged in counts.damaged.items():
        if MAX_DAMAGED.crossed(damaged, whole := counts.written[name]):
            what = f"new or changed {name}s are damaged (a wrong encoding, a template, a test server?)"
            yield "damaged_text", _share(damaged, whole, what, MAX_DAMAGED)
    changes_much = MAX_OLDER_CHANGES.crossed(counts.changed, counts.read)
    if counts.older_bytes and (missing or counts.expired_archives or changes_much):
        yield "older_bytes", "the file is, byte for byte, an older one of this feed: a step back in time"


def _would_happen(counts: PlanCounts, missing: int) -> list[str]:
    """Return the effects of a run that waits as a whole, in at most one sentence."""
    gone = missing + counts.expired_archives
    would = ((counts.created, "new"), (counts.changed, "changed"), (gone, "gone"))
    parts = [(number, what) for number, what in would if number]
    if not parts:
        return []
    (first, what), *others = parts
    jobs = f"{first} {'job' if first == 1 else 'jobs'} would be {what}"
    return [f"{_NOTHING_APPLIED}{', '.join([jobs, *(f'{number} {word}' for number, word in others)])}"]


def _archiving(counts: PlanCounts, policy: Policy, missing: int) -> list[tuple[str, str]]:
    going, active, recent = missing + counts.expired_archives, counts.active, counts.recent_archives
    if not going:
        return []
    reasons = []
    if missing and not counts.read:
        left_out = "[rows] leaves all of the file's records out"
        reasons.append(("empty", left_out if counts.filtered else "the file has no records"))
    if missing and policy.max_unnamed.crossed(counts.without_reference, counts.read):
        what = "rows have no readable referenceId"
        unnamed = _share(counts.without_reference, counts.read, what, policy.max_unnamed)
        reasons.append(("without_reference", unnamed))
    if counts.feed_changed:
        reasons.append(("feed_changed", "the feed's settings have changed"))
    effect = _would(going, active)
    if policy.max_archive.crossed(going + recent, active + recent):
        limit = f"the limit is {_limit(policy.max_archive)}"
        if recent:
            share = _percent(going + recent, active + recent)
            limit = f"with the {recent} archived in the last 24 hours it is {share} %, {limit}"
        reasons.append(("max_archive", f"{effect.removesuffix(')')}, {limit})"))
    elif active and going >= active:
        reasons.append(("max_archive", f"all {active} {_GOING}"))
    elif reasons:
        reasons.append(("", effect))
    return reasons


def _would(part: int, whole: int) -> str:
    return f"{part} of {whole} {_GOING} ({_percent(part, whole)} %)"


def _share(part: int, whole: int, what: str, limit: Threshold) -> str:
    return f"{part} of {whole} {what} ({_percent(part, whole)} %, the limit is {_limit(limit)})"


def _limit(limit: Threshold) -> str:
    return f"{limit.percent:g} % and at least {limit.count}"


def _percent(part: int, whole: int) -> str:
    """Return the share in percent with one decimal at most, never rounded up to 100: "99.9" says that some are left."""
    if not whole:
        return "100"
    share = part * 100 / whole
    return f"{min(share, 99.9) if part < whole else share:.1f}".removesuffix(".0")
