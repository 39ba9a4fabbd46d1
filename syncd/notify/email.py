"""E-mail: sends notices to one receiver, as plain text and as HTML. Headers are made of single lines only."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, tzinfo
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from pathlib import Path
from zlib import crc32

import aiosmtplib
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from syncd.config import Notify, SmtpServer
from syncd.domain import Notice
from syncd.notify.delivery import NotSent, why_no_connection
from syncd.notify.words import MAX_NAME, MAX_SUBJECT, Words, one_line, words_of

#: Seconds for one message: connecting, TLS, login, transfer.
WHOLE = 30.0
#: Seconds for the good-bye, after which the message is accepted in any case.
QUIT = 2.0
#: Characters of an answer that are shown, and feeds that a subject names.
MAX_ANSWER, MAX_NAMED = 200, 3
#: Between two notices of the plain text.
_RULE = f"\n\n{'-' * 40}\n\n"

_ENV = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class Email:
    """A way. A login is never sent without TLS, except to this machine itself."""

    kind = "email"
    joins = True

    def __init__(self, settings: Notify, receiver: str, zone: tzinfo, whole: float = WHOLE) -> None:
        """``zone``: of times; ``whole``: seconds that one message may take."""
        if settings.smtp is None:
            raise ValueError("no server takes e-mail")
        self._server: SmtpServer = settings.smtp
        self._password, self._sender = settings.smtp_password, settings.email_from
        self._receiver, self._zone, self._whole = receiver, zone, whole
        self.name, self.where = f"email:{receiver}", receiver

    async def send(self, notices: Sequence[Notice], pages: str, now: datetime) -> str:
        """Send one message with all of the notices; return the answer of the server. Raises NotSent."""
        mail = mail_of(notices, self._sender, self._receiver, pages=pages, now=now, zone=self._zone)
        try:
            async with asyncio.timeout(self._whole):
                return await self._transfer(mail)
        except TimeoutError:
            raise NotSent(f"no answer within {self._whole:g} s", everything=True) from None
        except aiosmtplib.SMTPDataError as error:
            raise NotSent(self._answer(error), refused=error.code >= 500) from None
        except aiosmtplib.SMTPRecipientsRefused as error:
            raise NotSent(self._answer(error.recipients[0]), everything=True) from None
        except aiosmtplib.SMTPResponseException as error:
            raise NotSent(self._answer(error), everything=True) from None
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            raise NotSent(self._fault(error), everything=True) from None

    async def _transfer(self, mail: EmailMessage) -> str:
        server = self._server
        client = aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            username=server.user or None,
            password=self._password or None,
            local_hostname=_own_name(),
            use_tls=server.tls,
            start_tls=_starts_tls(server),
            timeout=self._whole,
        )
        try:
            await client.connect()
            _, answer = await client.send_message(mail, sender=self._sender, recipients=[self._receiver])
            with suppress(aiosmtplib.SMTPException, OSError, TimeoutError):
                await client.quit(timeout=QUIT)
        finally:
            client.close()
        return self._cleaned(answer)

    def _answer(self, error: aiosmtplib.SMTPResponseException | aiosmtplib.SMTPRecipientRefused) -> str:
        return f"answered {error.code} {self._cleaned(error.message)}"

    def _fault(self, error: Exception) -> str:
        where = f"{self._server.host}:{self._server.port}"
        if isinstance(error, aiosmtplib.SMTPConnectError) and isinstance(error.__cause__, OSError):
            return f"{where}: cannot connect: {why_no_connection(error.__cause__)}"
        return f"{where}: {self._cleaned(str(error)) or type(error).__name__}"

    def _cleaned(self, text: str) -> str:
        hidden = text.replace(self._password, "…") if self._password else text
        return one_line(hidden, MAX_ANSWER)


def _starts_tls(server: SmtpServer) -> bool | None:
    """Return whether STARTTLS is asked for; None: if the server offers it."""
    if server.tls or server.loopback:
        return False
    return True if server.user else None


def _own_name() -> str:
    name = socket.gethostname()
    return name if name.isascii() and name.isprintable() and " " not in name else "localhost"


# -- a message -----------------------------------------------------------------------------------------------


def mail_of(
    notices: Sequence[Notice], sender: str, receiver: str, *, pages: str, now: datetime, zone: tzinfo
) -> EmailMessage:
    """Return the e-mail. Its Message-ID is that of the first notice for this receiver, the same for each try. ``zone``: in
    which times are written."""
    times = [f"{(notice.at or now).astimezone(zone):%Y-%m-%d %H:%M %Z}" for notice in notices]
    shown = [(words_of(notice, pages), at) for notice, at in zip(notices, times, strict=True)]
    mail = EmailMessage(policy=SMTP)
    mail["From"], mail["To"] = sender, receiver
    mail["Subject"] = one_line(_subject(notices, shown[0][0]), MAX_SUBJECT)
    mail["Date"] = format_datetime(now)
    domain = sender.rpartition("@")[2]
    mail["Message-ID"] = f"<{notices[0].key}.{crc32(receiver.encode()):08x}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(_RULE.join(_text(words, at) for words, at in shown), cte="quoted-printable")
    page = _ENV.get_template("mail.html.j2").render(shown=shown, pages=pages)
    mail.add_alternative(page, subtype="html", cte="quoted-printable")
    return mail


def _subject(notices: Sequence[Notice], first: Words) -> str:
    if len(notices) == 1:
        return f"syncd: {first.title}"
    names = list(dict.fromkeys(one_line(notice.feed, MAX_NAME) for notice in notices if notice.feed))
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"syncd: {len(notices)} notices: {', '.join(names[:MAX_NAMED])}{more}"


def _text(words: Words, at: str) -> str:
    parts = [words.title, "", f"What happened ({at}):", words.happened]
    if words.now:
        parts += ["", "What is the case now:", words.now]
    if words.do:
        parts += ["", "What to do:", *(f"- {line}" for line in words.do)]
    return "\n".join([*parts, "", words.link])
