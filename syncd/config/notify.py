"""The settings of ``[notify]``: who is notified, of what and when."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import time
from pathlib import Path
from urllib.parse import SplitResult, unquote

from syncd.config.kinds import PATH_OR_NONE, Address, address_parts, list_kind, or_empty, text_kind
from syncd.domain import NoticeEvent
from syncd.values import TEXT, SettingKind, ValueFault, setting, shown, text

#: Ports of ``smtp://`` and of ``smtps://`` that an address without one has.
SUBMISSION, SUBMISSIONS = 587, 465
#: The fewest characters of a secret: one that is guessed lets anyone sign.
MIN_SECRET = 16
MAX_RECEIVERS = 20

_EMAIL = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
_ASKED_FOR = (
    NoticeEvent.DIGEST,
    NoticeEvent.TEST,
)  # nobody names these: they are sent where somebody asked for them
_SHORT_NAMES = tuple(dict.fromkeys(event.short for event in NoticeEvent if event not in _ASKED_FOR))


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """``tls``: the connection begins with TLS (``smtps://``), else STARTTLS asks for it. An empty ``user`` does not log in."""

    host: str
    port: int
    user: str
    tls: bool

    @property
    def loopback(self) -> bool:
        return Address(self.host, self.port).loopback


@dataclass(frozen=True, slots=True)
class QuietHours:
    """A part of each day, which may pass midnight: from ``start``, up to ``end``."""

    start: time
    end: time

    def include(self, now: time) -> bool:
        """Return whether ``now``, in the zone of the service, is in them."""
        if self.start < self.end:
            return self.start <= now < self.end
        return now >= self.start or now < self.end


# -- kinds of values -------------------------------------------------------------------------------------------


def _split(url: str) -> SplitResult | None:
    return address_parts(url) if url.isascii() and url.isprintable() and " " not in url else None


def _webhook(value: object) -> str:
    """Return an address. Faults do not show it: it may hold a secret."""
    url = text(value)
    parts = _split(url)
    if parts is None or parts.scheme not in ("http", "https"):
        raise ValueFault("must be an address such as https://hooks.example.ca/syncd")
    if parts.username is not None or parts.fragment:
        raise ValueFault("must have neither a user nor a fragment")
    return url


def _smtp(value: object) -> SmtpServer:
    parts = _split(text(value))
    more = parts is not None and (parts.path.strip("/") or parts.query or parts.fragment)
    if parts is None or parts.scheme not in ("smtp", "smtps") or more:
        raise ValueFault("must be an address such as smtp://user@mail.example.ca:587")
    if parts.password is not None:
        raise ValueFault("must not hold a password: write it in notify.smtp_password")
    tls = parts.scheme == "smtps"
    port = parts.port or (SUBMISSIONS if tls else SUBMISSION)
    return SmtpServer(parts.hostname or "", port, unquote(parts.username or ""), tls)


def _is_email(address: str) -> bool:
    return len(address) <= 254 and _EMAIL.fullmatch(address) is not None


def _different(kind: SettingKind, most: int = 1_000) -> SettingKind:
    """Return a kind of lists with at most ``most`` entries, all of them different."""

    def parse(value: object) -> object:
        entries = kind.parse(value)
        if len(set(entries)) < len(entries):
            raise ValueFault("has an entry twice")
        if len(entries) > most:
            raise ValueFault(f"must have at most {most} entries")
        return entries

    return replace(kind, parse=parse)


def _quiet(value: object) -> QuietHours:
    start, _, end = text(value).partition("-")
    if start == end or not (_TIME.fullmatch(start) and _TIME.fullmatch(end)):
        raise ValueFault(f"must be two times of day such as 22:00-06:00, not {shown(value)}")
    return QuietHours(time.fromisoformat(start), time.fromisoformat(end))


WEBHOOK = or_empty(SettingKind("URL", _webhook), "")
SMTP = or_empty(SettingKind("smtp://USER@HOST:PORT", _smtp))
EMAIL = or_empty(text_kind("e-mail address", _is_email, "an e-mail address such as syncd@example.ca"), "")
EMAILS = _different(list_kind("list of e-mail addresses", _is_email, "an e-mail address"), MAX_RECEIVERS)
EVENTS = _different(
    list_kind("list of events", _SHORT_NAMES.__contains__, f"one of {', '.join(_SHORT_NAMES)}")
)
FEED_NAMES = _different(list_kind("list of feeds", lambda item: bool(item.strip()), "the name of a feed"))
QUIET = or_empty(SettingKind("HH:MM-HH:MM", _quiet))
TIME_OF_DAY = or_empty(text_kind("HH:MM", _TIME.fullmatch, "a time of day such as 08:00", time.fromisoformat))


# -- the settings ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Notify:
    """Nobody is notified without ``webhook`` and ``email_to``. An empty ``feeds`` means all."""

    webhook: str = setting(WEBHOOK, "", "where each notification is sent to, as a signed POST", secret=True)
    webhook_secret: str = setting(
        TEXT, "", "signs what is sent to webhook; at least 16 characters", secret=True
    )
    webhook_secret_file: Path | None = setting(
        PATH_OR_NONE, "", "a file that holds the secret, instead of webhook_secret"
    )
    smtp: SmtpServer | None = setting(
        SMTP, "", "the server that takes e-mail; smtps:// begins with TLS, smtp:// uses STARTTLS"
    )
    smtp_password: str = setting(TEXT, "", "the password of the user in smtp", secret=True)
    smtp_password_file: Path | None = setting(
        PATH_OR_NONE, "", "a file that holds the password, instead of smtp_password"
    )
    email_from: str = setting(EMAIL, "", "the sender of e-mail")
    email_to: tuple[str, ...] = setting(EMAILS, [], "who gets e-mail, at most 20 addresses")
    events: tuple[str, ...] = setting(EVENTS, list(_SHORT_NAMES), "the events of which to notify")
    feeds: tuple[str, ...] = setting(FEED_NAMES, [], "the feeds of which to notify; empty: all")
    quiet: QuietHours | None = setting(
        QUIET, "", "hours in which nothing is sent, such as 22:00-06:00, in the service's time zone"
    )
    digest: time | None = setting(
        TIME_OF_DAY, "", "when a summary of the last day is sent, such as 08:00; empty: never"
    )


def contradictions(notify: Notify) -> Iterator[str]:
    """Yield the faults of values that do not fit together."""
    if notify.webhook and not notify.webhook_secret:
        yield "notify.webhook: set notify.webhook_secret or notify.webhook_secret_file"
    if notify.webhook_secret and len(notify.webhook_secret) < MIN_SECRET:
        yield f"notify.webhook_secret: must have at least {MIN_SECRET} characters"
    if notify.email_to:
        for name, value in (("smtp", notify.smtp), ("email_from", notify.email_from)):
            if not value:
                yield f"notify.email_to: set notify.{name}, too"
    if notify.smtp is None:
        if notify.smtp_password:
            yield "notify.smtp_password: set notify.smtp, too"
    elif bool(notify.smtp.user) != bool(notify.smtp_password):
        lacks = "the user in notify.smtp" if notify.smtp_password else "notify.smtp_password"
        yield f"notify.smtp: set {lacks}, too: a login needs both"
    if notify.digest is not None and not (notify.webhook or notify.email_to):
        yield "notify.digest: set notify.email_to or notify.webhook"
    if notify.digest is not None and notify.quiet is not None and notify.quiet.include(notify.digest):
        yield "notify.digest: is a time within notify.quiet, when nothing is sent"
