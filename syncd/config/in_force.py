"""The settings as they are in force: the value of each as a settings file has it, and where it came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import time, timedelta
from operator import attrgetter

from syncd.config.settings import SETTINGS, Settings
from syncd.domain import Threshold
from syncd.values import PERCENT, UNITS_OF_SIZE, UNITS_OF_TIME, Setting

DEFAULT = "default"
_TIMES = [(unit, UNITS_OF_TIME[unit]) for unit in ("d", "h", "m", "s", "ms")]
_SIZES = [(unit, UNITS_OF_SIZE[unit]) for unit in ("GiB", "MiB", "KiB")]


@dataclass(frozen=True, slots=True)
class SettingInForce:
    """``value`` is text; None: the setting is a secret. ``origin``: ``default``, ``environment``, ``credential`` or the path
    of the file. ``given``: whether it has a value at all."""

    setting: Setting
    value: str | None
    origin: str
    given: bool


def settings_in_force(settings: Settings) -> Iterator[SettingInForce]:
    """Yield every setting, in the order of their declaration. The values of secrets are left out."""
    for setting in SETTINGS:
        value: object = attrgetter(setting.attribute)(settings)
        if isinstance(value, Threshold):
            value = value.percent if setting.kind is PERCENT else value.count
        text = None if setting.secret else _text(setting, value)
        origin = settings.sources.get(setting.key, DEFAULT)
        yield SettingInForce(setting, text, origin, value not in ("", None))


def _text(setting: Setting, value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case timedelta():
            return _with_unit(value.total_seconds(), _TIMES)
        case int() | float() if setting.kind.name == "duration":
            return _with_unit(value, _TIMES)
        case int() if setting.kind.name == "size":
            return _with_unit(value, _SIZES)
        case float():
            return f"{value:g}"
        case time():
            return f"{value:%H:%M}"
        case tuple():
            return ", ".join(map(str, value))
        case Mapping():
            return ", ".join(f"{name} = {entry}" for name, entry in value.items())
        case _:
            return str(value)


def _with_unit(value: float, units: Sequence[tuple[str, float]]) -> str:
    """Return ``value`` in the largest of the units in which it is a whole number."""
    for unit, size in units:
        count = round(value / size)
        if count and abs(count * size - value) < 1e-9:
            return f"{count}{unit}"
    return f"{value:g}"
