"""What the value of a setting may look like. A kind turns what TOML gave (text, if it was the
environment) into the value that the program uses, or raises ValueError with what it should have been.

Knows nothing of files, keys or the environment: the loader adds those to the complaint.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

UNITS_OF_TIME = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
UNITS_OF_SIZE = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)\Z")
_ORIGIN = re.compile(
    r"(?P<scheme>https?)://(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::(?P<port>[1-9]\d{0,4}))?"
)
_HOST_AND_PORT = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9_.-]*)):(?P<port>\d{1,5})\Z")


@dataclass(frozen=True, slots=True)
class Kind:
    """``name`` in words, ``unit`` as the documentation gives it, ``parse`` raises ValueError."""

    name: str
    unit: str
    parse: Callable[[object], object]


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. ``host`` empty means every interface; port 0 lets the system choose one."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def duration(value: object) -> timedelta:
    """``"2s"``, ``"10m"``, ``"7d"``; a bare 0 needs no unit. At most 100 years."""
    if isinstance(value, str) and value.strip() == "0":
        return timedelta(0)
    seconds = _amount(value, UNITS_OF_TIME, "a duration such as 2s, 10m, 12h or 7d")
    if seconds > 100 * 366 * 86400:
        raise ValueError("must be at most 36600d")
    return timedelta(seconds=seconds)


def size(value: object) -> int:
    """Bytes: ``"1MiB"``, ``"10MB"``, or a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise ValueError("must not be negative")
        return value
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return int(_amount(value, UNITS_OF_SIZE, "a size such as 512KiB, 1MiB or 4GiB"))


def _amount(value: object, units: dict[str, float] | dict[str, int], wanted: str) -> float:
    found = _AMOUNT.match(value.strip()) if isinstance(value, str) else None
    by_folded = {name.lower(): factor for name, factor in units.items()}
    factor = by_folded.get(found[2].lower()) if found else None
    if found is None or factor is None:
        raise ValueError(f"must be {wanted}, not {shown(value)}")
    return float(found[1]) * factor


def whole(low: int, high: int) -> Callable[[object], int]:
    def parse(value: object) -> int:
        if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value.strip()):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"must be a whole number from {low} to {high}, not {shown(value)}")
        return value

    return parse


def percent(value: object) -> float:
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise ValueError(f"must be a percentage from 0 to 100, not {shown(value)}")
    return float(value)


def flag(value: object) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {shown(value)}")
    return value


def one_of(*choices: str) -> Callable[[object], str]:
    def parse(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"must be {' or '.join(choices)}, not {shown(value)}")
        return value

    return parse


def text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be text, not {shown(value)}")
    return value


def address(value: object) -> Address:
    """``HOST:PORT``, with the brackets of IPv6."""
    found = _HOST_AND_PORT.match(value) if isinstance(value, str) else None
    if found is None or int(found["port"]) > 65535:
        raise ValueError(f"must be HOST:PORT such as 127.0.0.1:8080 or [::1]:8080, not {shown(value)}")
    if found["six"] is not None:
        try:
            ipaddress.IPv6Address(found["six"])
        except ValueError:
            raise ValueError(f"must have an IPv6 address in the brackets, not {shown(value)}") from None
    return Address(found["six"] or found["host"], int(found["port"]))


def address_or_none(value: object) -> Address | None:
    return None if value == "" else address(value)


def prefix(value: object) -> str:
    """The path in front of every address of the API: ``/api/v1.1``; no slash at its end."""
    if not isinstance(value, str) or not re.fullmatch(r"(/[A-Za-z0-9._~-]+)*/?", value):
        raise ValueError(f"must be a path such as /api/v1.1, not {shown(value)}")
    return value.rstrip("/")


def public_url(value: object) -> str:
    """The scheme and host that clients outside see; empty: as the request says."""
    parts = urlsplit(value) if isinstance(value, str) else None
    if value == "":
        return ""
    if (
        parts is None
        or parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.query
        or parts.fragment
    ):
        raise ValueError(f"must be an address such as https://jobs.example.ca, not {shown(value)}")
    return str(value).rstrip("/")


def store_url(value: object) -> str:
    """``sqlite:///PATH`` or ``postgresql://…``."""
    if isinstance(value, str):
        if value.startswith("sqlite:///") and len(value) > len("sqlite:///") and "?" not in value:
            return value
        if value.startswith(("postgresql://", "postgresql+psycopg://")):
            return value
    raise ValueError("must be sqlite:///PATH or postgresql://USER@HOST/NAME")


def networks(value: object) -> tuple[str, ...]:
    """Addresses or networks (``10.0.0.0/8``), as text."""
    items = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    if not isinstance(items, list):
        raise ValueError(f"must be a list of addresses or networks, not {shown(value)}")
    for item in items:
        try:
            ipaddress.ip_network(item if isinstance(item, str) else "")
        except ValueError:
            raise ValueError(
                f"has {shown(item)}, which is not an address or network such as 10.0.0.0/8"
            ) from None
    return tuple(items)


def origins(value: object) -> tuple[str, ...]:
    """Web origins as browsers write them: scheme and host, a port where it is not the usual one."""
    items = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    if not isinstance(items, list):
        raise ValueError(f"must be a list of origins such as https://app.example.ca, not {shown(value)}")
    for item in items:
        if not isinstance(item, str) or not _is_origin(item):
            raise ValueError(f"has {shown(item)}, which is not an origin such as https://app.example.ca")
    return tuple(items)


def _is_origin(text: str) -> bool:
    """Exactly what a browser would send, because it is compared as text."""
    found = _ORIGIN.fullmatch(text)
    usual = {"http": "80", "https": "443"}
    return found is not None and found["port"] != usual[found["scheme"]] and int(found["port"] or 1) < 65536


def names_by_id(value: object) -> dict[int, str]:
    """Catalogue entries: a table of id and name; as text, a JSON object."""
    value = _json(value, dict, '{ 33 = "Film & Television" }')
    assert isinstance(value, dict)
    found: dict[int, str] = {}
    for id, name in value.items():
        if not re.fullmatch(r"[0-9]{1,10}", str(id)) or not isinstance(name, str):
            raise ValueError(f"must have whole numbers and names, not {shown(id)} = {shown(name)}")
        if int(id) in found:
            raise ValueError(f"has {int(id)} twice")
        found[int(id)] = name
    return found


def ids(value: object) -> tuple[int, ...]:
    """A list of ids; as text, a JSON array."""
    value = _json(value, list, "[7, 12]")
    assert isinstance(value, list)
    for item in value:
        if not isinstance(item, int) or isinstance(item, bool):
            raise ValueError(f"must be a list of whole numbers, not of {shown(item)}")
    return tuple(value)


def _json(value: object, kind: type, example: str) -> object:
    """``value`` or, where it came as text, the JSON that it is."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(value)
    if not isinstance(value, kind):
        raise ValueError(f"must be like {example}, not {shown(value)}")
    return value


def zone(value: object) -> ZoneInfo:
    try:
        return ZoneInfo(text(value))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"must be a time zone such as America/Toronto, not {shown(value)}") from None


def shown(value: object) -> str:
    """The offending value as the user wrote it, cut to a readable length."""
    if isinstance(value, bool):
        return "true" if value else "false"
    words = f'"{value}"' if isinstance(value, str) else str(value)
    return words if len(words) <= 60 else words[:57] + "…"


DURATION = Kind("duration", "ms, s, m, h, d or w", duration)
SIZE = Kind("size", "bytes, or KiB, MiB, GiB", size)
PERCENT = Kind("percentage", "percent", percent)
FLAG = Kind("true or false", "", flag)
TEXT = Kind("text", "", text)
PATH = Kind("path", "path", text)
ADDRESS = Kind("address", "HOST:PORT", address)
ADDRESS_OR_NONE = Kind("address", "HOST:PORT", address_or_none)
PREFIX = Kind("path prefix", "", prefix)
PUBLIC_URL = Kind("address", "URL", public_url)
STORE_URL = Kind("store address", "URL", store_url)
NETWORKS = Kind("list of networks", "", networks)
ORIGINS = Kind("list of origins", "", origins)
NAMES_BY_ID = Kind("table of id and name", "", names_by_id)
IDS = Kind("list of ids", "", ids)
ZONE = Kind("time zone", "IANA name", zone)


def number(low: int, high: int, unit: str) -> Kind:
    return Kind("whole number", unit, whole(low, high))


def size_between(name: str, low: int, high: int) -> Kind:
    def parse(value: object) -> int:
        found = size(value)
        if not low <= found <= high:
            raise ValueError(f"must be from {low} to {high} bytes, not {shown(value)}")
        return found

    return Kind(name, SIZE.unit, parse)


def choice(*choices: str) -> Kind:
    return Kind(" or ".join(choices), "", one_of(*choices))
