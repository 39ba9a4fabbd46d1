"""How things are: from feeds and the parts of the service, in one function for all who say it (docs/operations.md "How things
are")."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from syncd.store import sources
from syncd.values import plural

#: Part of the service → its fault in a headline.
PART_WORDS = {
    "store": "the store cannot be used",
    "disk": "the disk is full or has a fault",
    "sync": "files are not run",
    "watcher": "the drop folder is not watched",
    "loop": "answers are late",
    "service": "the service stops",
    "reload": "the last reload was refused",
    "clock": "no file is run, because the time is in doubt",
}
#: State of a feed → the feed in a headline; any other is named as it is.
_FEED_WORDS = {
    "held": "{} waits for a decision",
    "failed": "the last file of {} failed",
    "failing": "the file of {} cannot be fetched",
}
#: Parts whose faults leave the service ready.
_STILL_READY = frozenset({"clock", "reload"})
#: States of feeds, and of sources (failing), that need somebody, the most urgent first; the most feeds that a headline names.
_TROUBLES, _MAX_NAMED = ("held", "degraded", "failed", "overdue", "failing"), 3


def urgency(feed: Mapping[str, Any]) -> tuple[int, str]:
    """Return the key by which feeds are sorted: those that need somebody come first, then paused ones, each by name."""
    order = (*_TROUBLES, "paused", "ok")
    return order.index(feed["state"]) if feed["state"] in order else 0, feed["name"]


def how_things_are(
    feeds: Collection[Mapping[str, Any]], parts: Mapping[str, str], now: datetime
) -> dict[str, Any]:
    """Return how things are (docs/operations.md "How things are"). The answer of ``/readyz``, ``syncd status``, the headline
    of the pages, systemd's ``STATUS=`` and notices are made of it. ``feeds``: as ``feed_states`` returned them; ``parts``:
    each part of the service → "ok" or its fault; ``now`` is in the zone of times in sentences."""
    faults = {part: fault for part, fault in parts.items() if fault != "ok"}
    troubles = sorted(
        (trouble for feed in feeds for trouble in _troubles(feed, now)),
        key=lambda trouble: (_TROUBLES.index(trouble["state"]), trouble["feed"]),
    )
    paused = [{"feed": feed["name"], "reason": feed["reason"]} for feed in feeds if feed["state"] == "paused"]
    needs = [
        {"part": part, "feed": None, "state": "fault", "reason": fault} for part, fault in faults.items()
    ] + troubles
    headline = "; ".join([*(PART_WORDS[part] for part in faults), *_troubled_words(troubles)])
    if not headline:
        headline = "all is well" if feeds else "no feed is configured yet"
        headline += (
            f"; {_listed([feed['feed'] for feed in paused])} {'is' if len(paused) == 1 else 'are'} paused"
            if paused
            else ""
        )
    return {
        "ready": not faults.keys() - _STILL_READY,
        "well": not needs,
        "headline": headline[:1].upper() + headline[1:],
        **parts,
        "feeds": "; ".join(f"{trouble['feed']}: {trouble['reason']}" for trouble in troubles) or "ok",
        "needs": needs,
        "paused": paused,
    }


def _troubles(feed: Mapping[str, Any], now: datetime) -> Iterator[dict[str, Any]]:
    """Yield why the feed needs somebody: its own state, and its source where that fails for as long as a notice needs."""
    if feed["state"] not in ("paused", "ok"):
        yield {"part": "feed", "feed": feed["name"], "state": feed["state"], "reason": feed["reason"]}
    source = feed["source"]
    if source is None or feed["state"] == "paused":
        return
    reason = None
    if source["state"] == "wrong":
        reason = f"cannot be fetched: {source['reason']}"
    elif source["state"] == "failing":
        since = datetime.fromisoformat(source["failingSince"])
        if sources.matters(source["failures"], since, now):
            reason = sources.failing(since, source["reason"], now.tzinfo)
    if reason is not None:
        yield {"part": "source", "feed": feed["name"], "state": "failing", "reason": reason}


def _troubled_words(troubles: Collection[Mapping[str, Any]]) -> list[str]:
    first = {trouble["feed"]: trouble["state"] for trouble in reversed([*troubles])}
    if not first:
        return []
    words = [
        _FEED_WORDS.get(first[name], "{} is " + first[name]).format(name)
        for name in dict.fromkeys(trouble["feed"] for trouble in troubles)
    ]
    verb = "needs" if len(first) == 1 else "need"
    return [f"{plural(len(first), 'feed')} {verb} somebody: {_listed(words)}"]


def _listed(words: Sequence[str]) -> str:
    more = len(words) - _MAX_NAMED
    return ", ".join(words[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
