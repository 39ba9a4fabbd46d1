"""Sends notices by e-mail to one receiver."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from email.message import EmailMessage
from zoneinfo import ZoneInfo

import aiosmtplib

from syncd.config import Notify, SmtpServer
from syncd.domain import Notice
from syncd.notify.mail import mail_of
from syncd.notify.ways import NotSent, why_no_connection
from syncd.notify.words import one_line

#: Seconds for one message: connecting, TLS, login, transfer.
WHOLE = 30.0
#: Seconds for the good-bye, after which the message is accepted in any case.
QUIT = 2.0
#: The most characters that are shown of what a server says.
LONGEST_ANSWER = 200


class Email:
    """A way. A login is never sent without TLS, except to this machine itself."""

    kind = "email"
    joins = True

    def __init__(
        self,
        settings: Notify,
        receiver: str,
        *,
        pages: Callable[[], str],
        now: Callable[[], datetime],
        zone: ZoneInfo,
        whole: float = WHOLE,
    ) -> None:
        """``pages`` returns the address of the operator's pages; ``whole``: seconds that one message may take."""
        if settings.smtp is None:
            raise ValueError("no server takes e-mail")
        self._server: SmtpServer = settings.smtp
        self._password, self._sender = settings.smtp_password, settings.email_from
        self._receiver, self._pages, self._now, self._zone = receiver, pages, now, zone
        self._whole = whole
        self.name, self.where = f"email:{receiver}", receiver

    async def send(self, notices: Sequence[Notice]) -> str:
        """Send one message with all of the notices. Raises NotSent."""
        mail = mail_of(
            notices, self._sender, self._receiver, pages=self._pages(), now=self._now(), zone=self._zone
        )
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
        return one_line(hidden, LONGEST_ANSWER)


def _starts_tls(server: SmtpServer) -> bool | None:
    """Return whether STARTTLS is asked for; None: if the server offers it."""
    if server.tls or server.loopback:
        return False
    return True if server.user else None


def _own_name() -> str:
    name = socket.gethostname()
    return name if name.isascii() and name.isprintable() and " " not in name else "localhost"
