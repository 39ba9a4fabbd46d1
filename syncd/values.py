"""The values of settings and of feed files: how each kind is parsed, and how a setting is declared.

A parser takes a value as TOML gives it and returns the parsed one, or raises ValueFault, to which the caller adds file and key.
A setting is declared once, as a field of the frozen dataclass that holds its value:

    @dataclass(frozen=True, slots=True)
    class Refresh:
        every: timedelta = setting(DURATION, "7d", "the age of publishDate at which autoRefresh renews it")
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta, tzinfo
from typing import Any

_TIMES = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SIZES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "KB": 10**3, "MB": 10**6, "GB": 10**9}
MAX_DAYS = 36_600

_DURATION = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*(ms|[smhdw])")
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,6})?)\s*([A-Za-z]+)")
_SIZE_FACTORS = {unit.lower(): factor for unit, factor in _SIZES.items()}
_SHOWN = 60


class ValueFault(ValueError):
    """A value that its key does not take. The text names a good one: ``must be true or false, not "yes"``."""


def shown(value: object) -> str:
    """Return ``value`` as its author wrote it, cut to a readable length."""
    if isinstance(value, bool):
        return "true" if value else "false"
    words = f'"{value}"' if isinstance(value, str) else str(value)
    return words if len(words) <= _SHOWN else words[: _SHOWN - 3] + "…"


def duration(value: object) -> timedelta:
    """Return the duration that a text such as ``2s``, ``10m`` or ``7d`` gives; ``"0"`` needs no unit."""
    text = value.strip() if isinstance(value, str) else ""
    if text == "0":
        return timedelta(0)
    parts = _DURATION.fullmatch(text)
    if parts is None:
        hint = f'; write "{text.lower()}"' if _DURATION.fullmatch(text.lower()) else ""
        raise ValueFault(f"must be a duration such as 2s, 10m, 12h or 7d, not {shown(value)}{hint}")
    seconds = float(parts[1]) * _TIMES[parts[2]]
    if seconds > MAX_DAYS * 86400:
        raise ValueFault(f"must be at most {MAX_DAYS}d")
    return timedelta(seconds=seconds)


def span_in_words(span: timedelta) -> str:
    """Return a time span in the largest unit of which it has two, such as "2 days" or "90 minutes"."""
    whole = span.total_seconds()
    for unit, seconds in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if whole >= 2 * seconds:
            return f"{whole / seconds:g} {unit}"
    return f"{whole:g} seconds"


def local_time(instant: datetime, zone: tzinfo | None, timespec: str = "seconds") -> str:
    """Return ``2026-11-28 08:45:02 EST``: the form of all times that people read. ``timespec``: also ``minutes``."""
    local = instant.astimezone(zone)
    return f"{local.replace(tzinfo=None).isoformat(' ', timespec)} {local:%Z}"


def plural(count: int, noun: str) -> str:
    """Return ``1 job``, ``2,400 jobs``."""
    return f"{count:,} {noun if count == 1 else noun + 's'}"


def size(value: object) -> int:
    """Return the number of bytes: a whole number, or a text such as ``1MiB`` or ``10MB`` (in any case)."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise ValueFault("must not be negative")
        return value
    text = value.strip() if isinstance(value, str) else ""
    if text.isdecimal():
        return int(text)
    parts = _SIZE.fullmatch(text)
    factor = _SIZE_FACTORS.get(parts[2].lower()) if parts else None
    if parts is None or factor is None:
        raise ValueFault(f"must be a size such as 512KiB, 1MiB or 4GiB, not {shown(value)}")
    return int(float(parts[1]) * factor)


def percent(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise ValueFault(f"must be a percentage from 0 to 100, not {shown(value)}")
    return float(value)


def flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueFault(f"must be true or false, not {shown(value)}")
    return value


def text(value: object) -> str:
    """Return a text, which may be empty."""
    if not isinstance(value, str):
        raise ValueFault(f"must be text, not {shown(value)}")
    return value


def filled_text(value: object) -> str:
    """Return a text with more than white space in it."""
    if not isinstance(value, str) or not value.strip():
        raise ValueFault(f"must be text, not {shown(value)}")
    return value


# -- declarations ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SettingKind:
    """A kind of values. ``unit``: its unit or form in the documentation. ``parse`` takes a value as TOML gives it and raises
    ValueFault. ``from_text`` makes a value for ``parse`` from a text of the environment."""

    unit: str
    parse: Callable[[object], Any]
    from_text: Callable[[str], object] = str


@dataclass(frozen=True, slots=True)
class Setting:
    """``key`` is dotted (``sync.max_archive.percent``: member ``percent`` of ``max_archive`` in ``[sync]``);
    ``default`` is as TOML has it. A ``secret`` is never shown and may be a systemd credential named ``key``.
    ``per_feed``: a feed's own file may override it."""

    key: str
    kind: SettingKind
    default: object
    doc: str
    secret: bool = False
    per_feed: bool = False

    @property
    def environment(self) -> str:
        """The environment variable that sets it, if the key is in a table (``__`` stands for its dot)."""
        return "SYNCD_" + self.key.upper().replace(".", "__")


def setting(
    kind: SettingKind, default: object, doc: str, *, secret: bool = False, per_feed: bool = False
) -> Any:
    return settings_field(
        (Setting("", kind, default, doc, secret, per_feed),), lambda value: value, kind=kind
    )


def settings_field(settings: tuple[Setting, ...], make: Callable[..., object], **metadata: object) -> Any:
    """Declare a field whose value ``make`` builds from the values of ``settings``. Their keys follow the name of the field:
    ``.percent``, or nothing."""
    value = make(*(each.kind.parse(each.default) for each in settings))
    return field(
        default_factory=lambda: value,
        repr=not any(each.secret for each in settings),
        metadata={"settings": settings, "make": make, **metadata},
    )


def section(declared: type) -> Any:
    """Declare the settings of another dataclass, in a table with the name of the field."""
    return field(metadata={"section": declared})


def declared_settings(holder: type, above: str = "") -> Iterator[Setting]:
    """Yield the settings of ``holder`` and its sections in the order of their declaration, with whole keys, which begin
    with ``above``."""
    for each in fields(holder):
        name = above + each.name
        if "section" in each.metadata:
            yield from declared_settings(each.metadata["section"], f"{name}.")
        for declared in each.metadata.get("settings", ()):
            yield replace(declared, key=name + declared.key)


def members_of(holder: type, parsed: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Return the declared fields of ``holder`` by name, built from the ``parsed`` values of the settings by key."""
    members: dict[str, Any] = {}
    for each in fields(holder):
        name, declared = above + each.name, each.metadata
        if "section" in declared:
            members[each.name] = declared["section"](**members_of(declared["section"], parsed, f"{name}."))
        elif "settings" in declared:
            members[each.name] = declared["make"](*(parsed[name + s.key] for s in declared["settings"]))
    return members


def _number_in(text: str) -> object:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


DURATION = SettingKind("ms, s, m, h, d or w", duration)
#: A duration whose value is a number of seconds.
SECONDS = replace(DURATION, parse=lambda value: duration(value).total_seconds())
SIZE = SettingKind("bytes, or KiB, MiB, GiB", size)
PERCENT = SettingKind("percent", percent, _number_in)
FLAG = SettingKind("true or false", flag, lambda text: {"true": True, "false": False}.get(text.lower(), text))
TEXT = SettingKind("text", text)


def number(low: int, high: int, unit: str = "whole number") -> SettingKind:
    def parse(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueFault(f"must be a whole number from {low} to {high}, not {shown(value)}")
        return value

    return SettingKind(unit, parse, _number_in)


#: A number of jobs or requests.
COUNT = number(0, 10_000_000)


def choice(*choices: str) -> SettingKind:
    words = " or ".join(choices)

    def parse(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueFault(f"must be {words}, not {shown(value)}")
        return value

    return SettingKind(words, parse)


def positive(kind: SettingKind) -> SettingKind:

    def parse(value: object) -> object:
        parsed = kind.parse(value)
        if not parsed:
            raise ValueFault(f"must be more than {shown(value)}")
        return parsed

    return replace(kind, parse=parse)
