"""The ways to a receiver: the webhook, a signed POST of JSON, and e-mail, as plain text and as HTML."""

import asyncio
import hashlib
import hmac
import socket
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import urlsplit
from zlib import crc32

import aiohttp
import aiosmtplib
import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from syncd import __version__
from syncd.config import Notify, SmtpServer
from syncd.domain import Notice
from syncd.errors import SyncdError
from syncd.notify.words import MAX_SUBJECT, Words, link_of, one_line, words_of
from syncd.values import local_time
from syncd.web import retry_after, why_no_connection

#: The longest pause that is waited on request of a receiver.
MAX_PAUSE = timedelta(minutes=30)
#: Seconds for the answer of a webhook; for one e-mail (connecting, TLS, login, transfer); for its good-bye.
ANSWER, WHOLE, QUIT = 10.0, 30.0, 2.0
#: Statuses of a receiver that can take nothing now.
_BUSY = (429, 503)
#: Characters of an answer that are shown.
MAX_ANSWER = 200
#: Characters that chat programs read as a call (``@here``, ``<!channel>``) or a link → those that look like them.
_PLAIN = str.maketrans("@<>[]", "＠‹›［］")
#: Between two notices of the plain text.
_RULE = f"\n\n{'-' * 40}\n\n"

_ENV = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class NotSent(SyncdError):
    """The receiver did not accept a message. The text has no secret in it.

    ``after``: how long the receiver asked to wait. ``everything``: other messages would fail in the same way now.
    ``refused``: the receiver refused this very message."""

    def __init__(
        self, why: str, *, after: timedelta | None = None, everything: bool = False, refused: bool = False
    ) -> None:
        self.after, self.everything, self.refused = after, everything, refused
        super().__init__(why)


# -- the webhook ---------------------------------------------------------------------------------------------


class Webhook:
    """A way (see ``Way``). A redirect is not followed: a signed body is for the configured address alone."""

    kind = name = "webhook"
    joins = False

    def __init__(self, settings: Notify, answer: float = ANSWER) -> None:
        self._url, self._secret, self._answer = settings.webhook, settings.webhook_secret, answer
        self.where = urlsplit(self._url).hostname or ""

    async def send(self, notices: Sequence[Notice], pages: str, now: datetime) -> str:
        """Send the notice, of which there is one; return the status of the answer. ``pages``: the address of the pages. Raises
        NotSent."""
        (notice,) = notices
        body = body_of(notice, pages)
        try:
            async with asyncio.timeout(self._answer):
                status, retry = await self._post(body, int(now.timestamp()))
        except TimeoutError:
            raise NotSent(f"no answer within {self._answer:g} s", everything=True) from None
        except aiohttp.ClientConnectorError as error:
            raise NotSent(f"cannot connect: {why_no_connection(error.os_error)}", everything=True) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NotSent(f"no answer: {type(error).__name__}") from None
        if 200 <= status < 300:
            return f"status {status}"
        hint = "; redirects are not followed" if 300 <= status < 400 else ""
        raise NotSent(
            f"answered with status {status}{hint}", after=_pause(retry, now), everything=status in _BUSY
        )

    async def _post(self, body: bytes, timestamp: int) -> tuple[int, str | None]:
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"syncd/{__version__}",
            "Syncd-Timestamp": str(timestamp),
            "Syncd-Signature": signature_of(self._secret, timestamp, body),
        }
        jar = aiohttp.DummyCookieJar()
        async with (
            aiohttp.ClientSession(cookie_jar=jar, auto_decompress=False) as session,
            session.post(self._url, data=body, headers=headers, allow_redirects=False) as response,
        ):
            head = response.status, response.headers.get("Retry-After")
            response.close()  # its body may have any length
            return head


def body_of(notice: Notice, pages: str) -> bytes:
    """Return the JSON of a notice; it is the same for each try. ``pages``: the address of the operator's pages."""
    words = words_of(notice, pages)
    # a value of a partner calls nobody in a chat program, and is not a link there
    text = "\n".join((words.title, words.happened, words.now, *words.do)).translate(_PLAIN)
    return msgspec.json.encode(
        {
            "id": notice.key,
            "event": notice.event.value,
            "feed": notice.feed,
            "run": notice.run,
            "state": notice.state,
            "reason": notice.reason,
            "counts": notice.counts,
            "at": notice.at,
            "url": link_of(notice, pages),
            "text": f"{text}\n{words.link}",
        }
    )


def signature_of(secret: str, timestamp: int, body: bytes) -> str:
    """Return the value of ``Syncd-Signature``. ``timestamp``: that of ``Syncd-Timestamp``, seconds since 1970."""
    signed = b"%d.%s" % (timestamp, body)
    return "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def _pause(header: str | None, now: datetime) -> timedelta | None:
    pause = retry_after(header, now)
    return None if pause is None else min(pause, MAX_PAUSE)


# -- e-mail --------------------------------------------------------------------------------------------------


class Email:
    """A way (see ``Way``). A login is never sent without TLS, except to this machine itself."""

    kind = "email"
    joins = True

    def __init__(self, settings: Notify, receiver: str, zone: tzinfo, whole: float = WHOLE) -> None:
        """``zone``: of times; ``whole``: seconds that one message may take."""
        assert settings.smtp is not None, "settings with receivers of e-mail have a server"
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
        server, own = self._server, socket.gethostname()
        client = aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            username=server.user or None,
            password=self._password or None,
            local_hostname=own if own.isascii() and own.isprintable() and " " not in own else "localhost",
            use_tls=server.tls,
            # None: STARTTLS if the server offers it
            start_tls=False if server.tls or server.loopback else True if server.user else None,
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


#: A way to a receiver. ``name`` is that of the outbox: ``webhook`` or ``email:ADDRESS``; ``kind`` the part before the colon;
#: ``where`` says without secrets where messages go. ``joins``: several notices may be in one message.
Way = Webhook | Email


def mail_of(
    notices: Sequence[Notice], sender: str, receiver: str, *, pages: str, now: datetime, zone: tzinfo
) -> EmailMessage:
    """Return the e-mail. Its Message-ID is the same for each try."""
    times = [local_time(notice.at or now, zone, "minutes") for notice in notices]
    shown = [(words_of(notice, pages), at) for notice, at in zip(notices, times, strict=True)]
    titles = [words.title for words, _ in shown]
    subject = titles[0] if len(shown) == 1 else f"{len(shown)} notices: {'; '.join(titles)}"
    mail = EmailMessage(policy=SMTP)
    mail["From"], mail["To"] = sender, receiver
    mail["Subject"] = one_line(subject, MAX_SUBJECT)
    mail["Date"] = format_datetime(now)
    own_part = f"{crc32(receiver.encode()):08x}@{sender.rpartition('@')[2]}"
    mail["Message-ID"] = f"<{notices[0].key}.{own_part}>"
    if len(feeds := {notice.feed for notice in notices}) == 1 and (feed := feeds.pop()) is not None:
        # Nobody was sent this id: programs show the messages that refer to it as one thread.
        mail["References"] = (
            f"<feed.{hashlib.sha256(feed.encode('utf-8', 'replace')).hexdigest()[:32]}.{own_part}>"
        )
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(_RULE.join(_text(words, at) for words, at in shown), cte="quoted-printable")
    page = _ENV.get_template("mail.html.j2").render(shown=shown, pages=pages)
    mail.add_alternative(page, subtype="html", cte="quoted-printable")
    return mail


def _text(words: Words, at: str) -> str:
    parts = [words.title, "", f"What happened ({at}):", words.happened]
    if words.now:
        parts += ["", "What is the case now:", words.now]
    if words.do:
        parts += ["", "What to do:", *(f"- {line}" for line in words.do)]
    return "\n".join([*parts, "", words.link])
