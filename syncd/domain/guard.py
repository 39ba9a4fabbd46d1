"""When a run stops short (docs/reconciliation.md "When a run stops short"): what a plan may not do without a
person's word."""

from __future__ import annotations

from collections.abc import Iterator

from syncd.domain.decisions import Hold, Tally
from syncd.domain.policy import Policy, Threshold


def guard(tally: Tally, policy: Policy, *, archives: bool) -> Hold | None:
    """The table "When a run stops short". ``archives``: whether this run may archive what is missing (a whole
    file of a snapshot feed); what its rows' own dates archive is judged in any run. None: nothing stands in
    the way.

    A hold on everything wins over a hold on the archiving. Several reasons of one kind are given together;
    ``code`` is the first one's: ``max_rejected`` ``rekeyed`` ``retitled`` ``shrunk`` ``older_bytes`` (all),
    ``empty`` ``without_reference`` ``feed_changed`` ``max_archive`` (archiving)."""
    missing = tally.missing if archives else 0
    stop = list(_everything(tally, policy, missing))
    if stop:
        return Hold(True, stop[0][0], _joined(stop))
    wait = list(_archiving(tally, policy, missing))
    return Hold(False, wait[0][0], _joined(wait)) if wait else None


def _joined(reasons: list[tuple[str, str]]) -> str:
    return "; ".join(reason for _, reason in reasons)


def _everything(tally: Tally, policy: Policy, missing: int) -> Iterator[tuple[str, str]]:
    if policy.max_rejected.crossed(tally.rejected, tally.read):
        yield "max_rejected", _share(tally.rejected, tally.read, "rows were rejected", policy.max_rejected)
    if policy.max_rekeyed.crossed(missing, tally.active) and 0 < missing <= 2 * tally.rekeyed:
        what = (
            f"active jobs are missing and {tally.rekeyed} of these are new again under another referenceId "
            f"({_percent(tally.rekeyed, missing)} %, the limit is 50 %)"
        )
        yield "rekeyed", _share(missing, tally.active, what, policy.max_rekeyed)
    if policy.max_retitled.crossed(tally.retitled, tally.named_active):
        what = "active jobs would get another title (shifted columns?)"
        yield "retitled", _share(tally.retitled, tally.named_active, what, policy.max_retitled)
    if policy.max_shrunk.crossed(tally.shrunk, tally.described):
        what = "descriptions would lose half of their text or more"
        yield "shrunk", _share(tally.shrunk, tally.described, what, policy.max_shrunk)
    if tally.older_bytes:
        yield "older_bytes", "the file is, byte for byte, an older one of this feed: a step back in time"


def _archiving(tally: Tally, policy: Policy, missing: int) -> Iterator[tuple[str, str]]:
    going = missing + tally.expired_archives
    if not going:
        return
    if missing and not tally.read:
        yield "empty", f"the file has no records; {_would(missing, tally.active)}"
    if missing and tally.without_reference:
        rows = "1 row has" if tally.without_reference == 1 else f"{tally.without_reference} rows have"
        yield "without_reference", f"{rows} no readable referenceId; {_would(missing, tally.active)}"
    if tally.feed_changed:
        yield "feed_changed", f"the feed's settings have changed; {_would(going, tally.active)}"
    part, whole = going + tally.recent_archives, tally.active + tally.recent_archives
    if policy.max_archive.crossed(part, whole):
        yield "max_archive", _share(part, whole, _what_goes(tally), policy.max_archive)
    elif tally.active and going >= tally.active:
        limit = _limit(policy.max_archive)
        yield "max_archive", f"all {tally.active} active jobs would be archived (100 %, the limit is {limit})"


def _what_goes(tally: Tally) -> str:
    what = "active jobs would be archived"
    if tally.recent_archives:
        what += f", with the {tally.recent_archives} archived in the last 24 hours"
    return what


def _would(part: int, whole: int) -> str:
    return f"{part} of {whole} active jobs would be archived ({_percent(part, whole)} %)"


def _share(part: int, whole: int, what: str, limit: Threshold) -> str:
    return f"{part} of {whole} {what} ({_percent(part, whole)} %, the limit is {_limit(limit)})"


def _limit(limit: Threshold) -> str:
    return f"{limit.percent:g} % and at least {limit.count}"


def _percent(part: int, whole: int) -> str:
    """One decimal at most, and never rounded up to 100: "99.9" says that something is left."""
    if not whole:
        return "100"
    share = part * 100 / whole
    return f"{min(share, 99.9) if part < whole else share:.1f}".removesuffix(".0")
