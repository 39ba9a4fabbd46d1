"""How a setting is declared: once, as a field of the frozen dataclass that holds its value.

    @dataclass(frozen=True, slots=True)
    class Refresh:
        check: float = setting(SECONDS, "10m", "how often jobs that are due are looked for")

The loader, the documentation and the shipped settings file follow the declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, TypeVar

from syncd.domain.settings import values
from syncd.domain.settings.values import ValueFault, shown

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SettingKind:
    """What a value may be: its ``name`` in words and its ``unit`` in the documentation. ``parse`` takes the value as
    TOML gives it and raises ValueFault. ``from_text`` makes a value for ``parse`` from a text of the environment."""

    name: str
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
        """The environment variable that sets it."""
        return "SYNCD_" + self.key.upper().replace(".", "__")


def setting(
    kind: SettingKind, default: object, doc: str, *, secret: bool = False, per_feed: bool = False
) -> Any:
    """Declare a setting that has the name of its field."""
    return settings_field(
        (Setting("", kind, default, doc, secret, per_feed),), lambda value: value, kind=kind
    )


def settings_field(settings: tuple[Setting, ...], make: Callable[..., object], **metadata: object) -> Any:
    """Declare a field whose value ``make`` builds from the values of ``settings``. A key of these is what follows the
    name of the field: ``.percent``, or nothing."""
    value = make(*(each.kind.parse(each.default) for each in settings))
    return field(
        default_factory=lambda: value,
        repr=not any(each.secret for each in settings),
        metadata={"settings": settings, "make": make, **metadata},
    )


def section(declared: type, name: str = "") -> Any:
    """Declare the settings of another dataclass, below the ``name`` of their table (else that of the field)."""
    return field(metadata={"section": declared, "name": name})


def declared_settings(holder: type, above: str = "") -> Iterator[Setting]:
    """Yield the settings of ``holder`` and its sections in the order of their declaration, with whole keys."""
    for each in fields(holder):
        name = above + (each.metadata.get("name") or each.name)
        if "section" in each.metadata:
            yield from declared_settings(each.metadata["section"], f"{name}.")
        for found in each.metadata.get("settings", ()):
            yield replace(found, key=name + found.key)


def members_of(holder: type, parsed: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Return the declared fields of ``holder`` by name, built from the ``parsed`` values of the settings by key."""
    return {
        each.name: _member(each, parsed, above + (each.metadata.get("name") or each.name))
        for each in fields(holder)
        if "section" in each.metadata or "settings" in each.metadata
    }


def _member(declared: Field[Any], parsed: Mapping[str, Any], name: str) -> Any:
    if "section" in declared.metadata:
        holder = declared.metadata["section"]
        return holder(**members_of(holder, parsed, f"{name}."))
    return declared.metadata["make"](*(parsed[name + each.key] for each in declared.metadata["settings"]))


def _number_in(text: str) -> object:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _flag_in(text: str) -> object:
    return {"true": True, "false": False}.get(text.lower(), text)


DURATION = SettingKind("duration", "ms, s, m, h, d or w", values.duration)
#: A duration whose value is a number of seconds.
SECONDS = replace(DURATION, parse=lambda value: values.duration(value).total_seconds())
SIZE = SettingKind("size", "bytes, or KiB, MiB, GiB", values.size)
PERCENT = SettingKind("percentage", "percent", values.percent, _number_in)
FLAG = SettingKind("true or false", "", values.flag, _flag_in)
TEXT = SettingKind("text", "", values.text)


def number(low: int, high: int, unit: str = "") -> SettingKind:
    return SettingKind("whole number", unit, values.whole(low, high), _number_in)


def choice(*choices: str) -> SettingKind:
    return SettingKind(" or ".join(choices), "", values.one_of(*choices))


def positive(kind: SettingKind) -> SettingKind:
    """Return ``kind`` without zero."""

    def parse(value: object) -> object:
        found = kind.parse(value)
        if not found:
            raise ValueFault(f"must be more than {shown(value)}")
        return found

    return replace(kind, parse=parse)
