"""The words of a notice for a person: the event, the present state, the things to do. Values of partners are untrusted: they
are shown on one line, without characters that hide or turn other text."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import quote

from syncd.config import Settings
from syncd.domain import HoldScope, Notice, NoticeEvent

#: Characters of a reason, of the name of a feed, and of a subject.
MAX_REASON, MAX_NAME, MAX_SUBJECT = 2_000, 80, 160
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Words:
    """``title`` is one line. ``do`` are things to do, each a line; ``link`` leads to the page."""

    title: str
    happened: str
    now: str
    do: tuple[str, ...]
    link: str


_TITLES = {
    NoticeEvent.HELD: "{feed}: run {run} waits for a decision",
    NoticeEvent.FAILED: "{feed}: run {run} failed",
    NoticeEvent.OVERDUE: "{feed}: no file came",
    NoticeEvent.DEGRADED: "{feed}: the feed cannot be used",
    NoticeEvent.POISON: "{feed}: run {run} died again and again",
    NoticeEvent.RECOVERED: "{feed}: works again",
    NoticeEvent.DIGEST: "summary of the last day",
    NoticeEvent.TEST: "this is a test",
}
_NOW = {
    NoticeEvent.FAILED: "Nothing of the file was used. The jobs are as they were, and the file is in failed/.",
    NoticeEvent.OVERDUE: "The jobs are as they were, and live until their close dates.",
    NoticeEvent.DEGRADED: "The jobs are as they were. Files of the feed may be left lying; the other feeds work.",
    NoticeEvent.POISON: "It is not tried again; a file of it is in failed/. Other files are run.",
    NoticeEvent.RECOVERED: "Nothing is left to do.",
    NoticeEvent.DIGEST: "",
    NoticeEvent.TEST: "Notifications get through.",
}
_DO = {
    NoticeEvent.HELD: (
        "Look at what the run would do: syncd runs show {run}",
        "If it is intended: syncd runs approve {run}",
        "If not: syncd runs reject {run}, and ask the partner for a better file.",
    ),
    NoticeEvent.FAILED: (
        "Send the report beside the file to the partner, and ask for a corrected file.",
        "For all that is known: syncd runs show {run}",
    ),
    NoticeEvent.OVERDUE: (
        "Ask the partner whether a file was sent.",
        "To see the feed: syncd feed show {feed}",
    ),
    NoticeEvent.DEGRADED: ("For all faults: syncd check", "After a correction: syncd reload"),
    NoticeEvent.POISON: (
        "Look in the journal for what ended the process (memory?).",
        "To try the file without a change: syncd plan FILE --feed {feed}",
    ),
}
_OVER = {
    NoticeEvent.HELD: "A run waited for a decision; a file was taken since.",
    NoticeEvent.FAILED: "A file had failed; a later one was taken.",
    NoticeEvent.POISON: "A file had ended the process again and again; a later one was taken.",
    NoticeEvent.OVERDUE: "A file had been missed; one was taken.",
    NoticeEvent.DEGRADED: "The feed could not be used; it can be used now.",
}


def words_of(notice: Notice, pages: str) -> Words:
    """Return the words of a notice. ``pages``: the address of the operator's pages."""
    values = {"feed": one_line(notice.feed or "", MAX_NAME), "run": notice.run}
    title = _TITLES[notice.event].format_map(values)
    if notice.event is NoticeEvent.RECOVERED and notice.run is not None:
        title += f" (run {notice.run})"
    do = tuple(line.format_map(values) for line in _DO.get(notice.event, ()))
    return Words(title, _happened(notice), _now(notice), do, link_of(notice, pages))


def link_of(notice: Notice, pages: str) -> str:
    """Return the address of the page about the notice: of the run, the feed, or all."""
    if notice.run is not None:
        return f"{pages}/runs/{notice.run}"
    return f"{pages}/feeds/{quote(notice.feed, safe='')}" if notice.feed is not None else f"{pages}/"


def pages_of(settings: Settings, listening: str = "") -> str:
    """Return the address of the operator's pages. ``listening``: the URL on which they are served, if it is known."""
    if settings.operator.public_url:
        return settings.operator.public_url
    below = "" if settings.operator.listen is not None else "/operator"
    address = settings.operator.listen or settings.api.listen
    if not below or not settings.api.public_url:
        return (listening or f"http://{address}") + below
    return settings.api.public_url + below


def one_line(text: str, most: int = MAX_REASON) -> str:
    """Return ``text`` on one line, cut to ``most`` characters, without characters that are not seen."""
    seen = "".join(" " if unicodedata.category(each) in _UNSEEN else each for each in text[: most * 4])
    line = re.sub(r"\s+", " ", seen).strip()
    return line if len(line) <= most else line[: most - 1] + "…"


def _happened(notice: Notice) -> str:
    if notice.event is NoticeEvent.DIGEST:
        lines = (notice.reason or "").splitlines()
        return "\n".join(one_line(line) for line in lines)
    reason = one_line(notice.reason or "")
    if notice.event is NoticeEvent.RECOVERED:
        over = _OVER.get(notice.over, "") if notice.over is not None else ""
        return f"{over} {reason}".strip()
    return reason[:1].upper() + reason[1:]


def _now(notice: Notice) -> str:
    if notice.event is not NoticeEvent.HELD:
        return _NOW[notice.event]
    if notice.holds is HoldScope.ARCHIVE:
        return "The rows of the file were applied; only the archiving of jobs waits."
    return "Nothing of the file was applied; the jobs are as they were."
