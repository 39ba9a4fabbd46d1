"""Kinds of values that only the service's own settings have: addresses, networks, origins, catalogue entries, receivers."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import time
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from syncd.domain import NoticeEvent
from syncd.values import SettingKind, ValueFault, shown, text

_ORIGIN = re.compile(
    r"(?P<scheme>https?)://(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::(?P<port>[1-9]\d{0,4}))?"
)
#: A client takes "." and ".." out of a path.
_PREFIX = re.compile(r"(/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._~-]+)*/?")
_HOST_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_USUAL_PORTS = {"http": "80", "https": "443"}
_HOST_AND_PORT = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9_.-]*)):(?P<port>\d{1,5})\Z")


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; with port 0 the system chooses one."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        with contextlib.suppress(ValueError):
            return ipaddress.ip_address(self.host).is_loopback
        return self.host.casefold() == "localhost"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


#: How the address of a store on PostgreSQL begins.
POSTGRES = ("postgresql://", "postgres://")
_POSTGRES_FORM = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"


def _address(value: object) -> Address:
    parts = _HOST_AND_PORT.match(value) if isinstance(value, str) else None
    if parts is None or int(parts["port"]) > 65535:
        raise ValueFault(f"must be HOST:PORT such as 127.0.0.1:8080 or [::1]:8080, not {shown(value)}")
    if parts["host"] == "":
        every = f"0.0.0.0:{parts['port']}"
        raise ValueFault(
            f"must have a host in front of the port: 127.0.0.1, or {every} for all who can reach this machine"
        )
    if parts["six"] is not None:
        try:
            ipaddress.IPv6Address(parts["six"])
        except ValueError:
            raise ValueFault(f"must have an IPv6 address in the brackets, not {shown(value)}") from None
    return Address(parts["six"] or parts["host"], int(parts["port"]))


def address_parts(text: str) -> SplitResult | None:
    """Return the parts of an address with a host, or None."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(text)
        if parts.hostname and parts.port != 0:
            return parts
    return None


def _is_public_url(text: str) -> bool:
    parts = address_parts(text)
    return parts is not None and parts.scheme in ("http", "https") and not parts.query + parts.fragment


def store_address(value: object) -> str:
    """Return the address of a store. Raise ValueFault, which does not show the address."""
    head = "sqlite:///"
    if isinstance(value, str) and value.startswith(head) and len(value) > len(head) and "?" not in value:
        return value
    return _postgres_url(value, f"sqlite:///PATH or {_POSTGRES_FORM}")


def _postgres_url(value: object, good: str = _POSTGRES_FORM) -> str:
    """Return an address of a PostgreSQL database. A fault does not show it: it may have a password."""
    if not isinstance(value, str) or not value.startswith(POSTGRES):
        raise ValueFault(f"must be {good}")
    rest, _, _ = value.partition("://")[2].partition("?")
    where, _, database = rest.partition("/")
    if not database or "/" in database or "@" in database:
        raise ValueFault(f"must name one database: {_POSTGRES_FORM}; write a / in a password as %2F")
    if any(not _is_port(host) for host in where.rpartition("@")[2].split(",")):
        raise ValueFault(f"has a port that is not a number from 1 to 65535: {_POSTGRES_FORM}")
    return value


def _is_port(host: str) -> bool:
    port = host.rpartition("]")[2].rpartition(":")[2] if ":" in host.rpartition("]")[2] else ""
    return not port or (port.isascii() and port.isdecimal() and 0 < int(port) < 65536)


def text_kind(
    unit: str, valid: Callable[[str], object], what: str, make: Callable[[str], object] = str
) -> SettingKind:
    """Return the kind of a text that is ``valid``, of which ``make`` makes the value; ``what`` names a good one."""

    def parse(value: object) -> object:
        if not isinstance(value, str) or not valid(value):
            raise ValueFault(f"must be {what}, not {shown(value)}")
        return make(value)

    return SettingKind(unit, parse)


def list_kind(unit: str, valid: Callable[[str], bool], entry: str, lists: str = "") -> SettingKind:
    """Return the kind of a list of texts that are ``valid``; ``lists`` and ``entry`` name good ones. Commas separate the
    entries in a variable of the environment."""

    def parse(value: object) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise ValueFault(f"must be a list{lists}, not {shown(value)}")
        for item in value:
            if not isinstance(item, str) or not valid(item):
                raise ValueFault(f"has {shown(item)}, which is not {entry}")
        return tuple(value)

    def from_text(variable: str) -> object:
        return [part.strip() for part in variable.split(",") if part.strip()]

    return SettingKind(unit, parse, from_text)


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True


def _is_origin(text: str) -> bool:
    """Return whether ``text`` is an origin as a browser sends it: scheme, host, and the port if it is not the usual one."""
    parts = _ORIGIN.fullmatch(text)
    if parts is None:
        return False
    return parts["port"] != _USUAL_PORTS[parts["scheme"]] and int(parts["port"] or 1) < 65536


def _names_by_id(value: object) -> dict[int, str]:
    if not isinstance(value, dict):
        raise ValueFault(f'must be like {{ 33 = "Film & Television" }}, not {shown(value)}')
    names: dict[int, str] = {}
    for id, name in value.items():
        if not re.fullmatch(r"[0-9]{1,10}", str(id)) or not isinstance(name, str):
            raise ValueFault(f"must have whole numbers and names, not {shown(id)} = {shown(name)}")
        if int(id) in names:
            raise ValueFault(f"has {int(id)} twice")
        names[int(id)] = name
    return names


def _zone(value: object) -> ZoneInfo:
    try:
        return ZoneInfo(text(value))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueFault(f"must be a time zone such as America/Toronto, not {shown(value)}") from None


def _json(text: str) -> object:
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    return text


def or_empty(kind: SettingKind, empty: object = None) -> SettingKind:
    """Return ``kind`` with the empty text too, which is parsed as ``empty``."""
    return replace(kind, parse=lambda value: empty if value == "" else kind.parse(value))


# -- receivers of notices --------------------------------------------------------------------------------------

#: Ports of ``smtp://`` and of ``smtps://`` that an address without one has.
SUBMISSION, SUBMISSIONS = 587, 465
MAX_RECEIVERS = 20

_EMAIL = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
#: Nobody names these: they are sent where somebody asked for them.
_ASKED_FOR = (NoticeEvent.DIGEST, NoticeEvent.TEST)
EVENT_NAMES = tuple(dict.fromkeys(event.short for event in NoticeEvent if event not in _ASKED_FOR))


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


# -- all kinds -------------------------------------------------------------------------------------------------

PATH = SettingKind("path", lambda value: Path(text(value)))
PATH_OR_NONE = SettingKind("path", lambda value: Path(text(value)) if value else None)
ADDRESS = SettingKind("HOST:PORT", _address)
ADDRESS_OR_NONE = or_empty(ADDRESS)
PREFIX = text_kind(
    "path prefix", _PREFIX.fullmatch, "a path such as /api/v1.1", lambda path: path.rstrip("/")
)
_PUBLIC = "an address such as https://jobs.example.ca"
PUBLIC_URL = or_empty(text_kind("URL", _is_public_url, _PUBLIC, lambda url: url.rstrip("/")), "")
STORE_URL = SettingKind("URL", store_address)
LOCK_URL = or_empty(SettingKind("URL", _postgres_url), "")
NETWORKS = list_kind(
    "list of networks", _is_network, "an address or network such as 10.0.0.0/8", " of addresses or networks"
)
ORIGINS = list_kind(
    "list of origins",
    _is_origin,
    "an origin such as https://app.example.ca",
    " of origins such as https://app.example.ca",
)
HOSTS = list_kind(
    "list of host names",
    lambda text: len(text) <= 253 and _HOST_NAME.fullmatch(text) is not None,
    "a host name in small letters such as ops.example.ca",
    " of host names such as ops.example.ca",
)
NAMES_BY_ID = SettingKind("table of id and name", _names_by_id, _json)
ZONE = SettingKind("IANA name", _zone)
WEBHOOK = or_empty(SettingKind("URL", _webhook), "")
SMTP = or_empty(SettingKind("smtp://USER@HOST:PORT", _smtp))
EMAIL = or_empty(text_kind("e-mail address", _is_email, "an e-mail address such as syncd@example.ca"), "")
EMAILS = _different(list_kind("list of e-mail addresses", _is_email, "an e-mail address"), MAX_RECEIVERS)
EVENTS = _different(list_kind("list of events", EVENT_NAMES.__contains__, f"one of {', '.join(EVENT_NAMES)}"))
FEED_NAMES = _different(list_kind("list of feeds", lambda item: bool(item.strip()), "the name of a feed"))
QUIET = or_empty(SettingKind("HH:MM-HH:MM", _quiet))
TIME_OF_DAY = or_empty(text_kind("HH:MM", _TIME.fullmatch, "a time of day such as 08:00", time.fromisoformat))
