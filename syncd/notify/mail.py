"""An e-mail about one notice or several, as plain text and as HTML. Headers are made of single lines only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from pathlib import Path
from zlib import crc32
from zoneinfo import ZoneInfo

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from syncd.domain import Notice
from syncd.notify.words import LONGEST_NAME, LONGEST_SUBJECT, Words, one_line, words_of

#: The most feeds that a subject names.
NAMED = 3
#: Between two notices of the plain text.
_RULE = f"\n\n{'-' * 40}\n\n"

_ENV = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def mail_of(
    notices: Sequence[Notice], sender: str, receiver: str, *, pages: str, now: datetime, zone: ZoneInfo
) -> EmailMessage:
    """Return the e-mail. Its Message-ID is that of the first notice for this receiver, the same for each try. ``zone``: in
    which times are written."""
    shown = [(words_of(notice, pages), _time(notice.at or now, zone)) for notice in notices]
    mail = EmailMessage(policy=SMTP)
    mail["From"], mail["To"] = sender, receiver
    mail["Subject"] = one_line(_subject(notices, shown[0][0]), LONGEST_SUBJECT)
    mail["Date"] = format_datetime(now)
    mail["Message-ID"] = _message_id(notices[0], sender, receiver)
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(_RULE.join(_text(words, at) for words, at in shown), cte="quoted-printable")
    page = _ENV.get_template("mail.html.j2").render(shown=shown, pages=pages)
    mail.add_alternative(page, subtype="html", cte="quoted-printable")
    return mail


def _message_id(notice: Notice, sender: str, receiver: str) -> str:
    return f"<{notice.key}.{crc32(receiver.encode()):08x}@{sender.rpartition('@')[2]}>"


def _subject(notices: Sequence[Notice], first: Words) -> str:
    if len(notices) == 1:
        return f"syncd: {first.title}"
    names = list(dict.fromkeys(one_line(notice.feed, LONGEST_NAME) for notice in notices if notice.feed))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"syncd: {len(notices)} notices: {', '.join(names[:NAMED])}{more}"


def _text(words: Words, at: str) -> str:
    parts = [words.title, "", f"What happened ({at}):", words.happened]
    if words.now:
        parts += ["", "What is the case now:", words.now]
    if words.do:
        parts += ["", "What to do:", *(f"- {line}" for line in words.do)]
    return "\n".join([*parts, "", words.link])


def _time(at: datetime, zone: ZoneInfo) -> str:
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M %Z}"
