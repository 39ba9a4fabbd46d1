"""The words of a notice for a person: the event, the present state, the things to do (``words.toml``). Values of partners are
untrusted: they are shown on one line, without characters that hide or turn other text."""

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from syncd.config import Settings
from syncd.domain import HoldScope, Notice, NoticeEvent
from syncd.errors import FEED_ERROR_CODES
from syncd.views import PART_WORDS

#: Characters of a reason, of the name of a feed in a command, of a name in a subject, and of a subject.
MAX_REASON, MAX_NAME, MAX_SUBJECT_NAME, MAX_SUBJECT = 2_000, 80, 40, 150
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
#: Event → its words.
_WORDS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Words:
    """``title`` is one line: ``held: Acme, feed acme, jobs.csv: 220 of 300 would be archived``. ``do`` are things to do, each a
    line; ``link`` leads to the page."""

    title: str
    happened: str
    now: str
    do: tuple[str, ...]
    link: str


def words_of(notice: Notice, pages: str) -> Words:
    """Return the words of a notice. ``pages``: the address of the operator's pages."""
    values = {"feed": one_line(notice.feed or "", MAX_NAME), "run": notice.run}
    words = _WORDS.get(notice.event.value) or _WORDS[notice.event.short]
    title = words.get("title") or _title(notice)
    now = words.get("now_archive" if notice.holds is HoldScope.ARCHIVE else "now", words["now"])
    do = tuple(line.format_map(values) for line in words.get("do", ()))
    happened = words.get(f"happened_{notice.state}", words.get("happened", "")).format_map(values)
    return Words(title, _happened(notice, happened), now, do, link_of(notice, pages))


def _title(notice: Notice) -> str:
    """Return the subject of a message about a feed, or the service itself: ``disk: the disk is full or has a fault``."""
    if notice.feed is None:
        part = (notice.over or notice.event).short
        return f"recovered: {part}" if notice.over is not None else f"{part}: {PART_WORDS[part]}"
    names = (notice.employer, f"feed {notice.feed}", notice.file)
    about = ", ".join(one_line(name, MAX_SUBJECT_NAME) for name in names if name)
    reason = one_line(notice.reason or "") if notice.event is not NoticeEvent.RECOVERED else ""
    code, _, rest = reason.partition(": ")
    gist = re.split(r" \(|; ", rest if code in FEED_ERROR_CODES else reason, maxsplit=1)[0]
    gist = gist.replace(" active jobs would ", " would ")
    return one_line(f"{notice.event.short}: {about}" + (f": {gist}" if gist else ""), MAX_SUBJECT)


def _happened(notice: Notice, happened: str) -> str:
    if notice.event is NoticeEvent.DIGEST:
        return "\n".join(one_line(line) for line in (notice.reason or "").splitlines())
    reason = one_line(notice.reason or "")
    if notice.event in (NoticeEvent.RECOVERED, NoticeEvent.SERVICE_RECOVERED):
        over = _WORDS[notice.over.short].get("over", "") if notice.over is not None else ""
        with_run = f" (run {notice.run})" if notice.run is not None else ""
        return f"{happened}{with_run}. {over} {reason}".rstrip()
    return ": ".join(filter(None, (happened, reason)))


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
