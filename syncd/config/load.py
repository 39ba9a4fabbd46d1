"""From file and environment to Settings. Strict, and tells all faults of all sources at once."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

from syncd.config.build import build
from syncd.config.kinds import shown
from syncd.config.settings import Settings
from syncd.config.table import BY_KEY, SETTINGS, Setting
from syncd.errors import ConfigError

LOCAL = Path("config/syncd.toml")
SYSTEM = Path("/etc/syncd/syncd.toml")
STATE = Path("/var/lib/syncd")
#: Names under SYNCD_ that are no settings.
OTHER_NAMES = frozenset({"SYNCD_CONFIG"})


def load_settings(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of ``path``, else of SYNCD_CONFIG, config/syncd.toml,
    /etc/syncd/syncd.toml, whichever is first, else all defaults. Raises ConfigError with one line for each
    fault."""
    environ = os.environ if environ is None else environ
    file = find_file(path, environ)
    faults: list[str] = []
    values: dict[str, object] = {}
    sources: dict[str, str] = {}
    for source, given in (
        (str(file), _from_file(file, faults) if file else {}),
        ("credential", _from_credentials(environ)),
        ("environment", _from_environment(environ, faults)),
    ):
        for key, value in given.items():
            values[key] = value
            sources[key] = source
    parsed = _parse(values, sources, faults)
    base, feeds = _folders(file)
    settings = build(parsed, base=base, feeds=feeds, file=file, sources=sources, faults=faults)
    if settings is None:
        raise ConfigError(faults)
    return settings


def find_file(path: Path | None, environ: Mapping[str, str]) -> Path | None:
    """The file to read. One that was named must be there."""
    named = str(path) if path else environ.get("SYNCD_CONFIG", "")
    if named:
        if not Path(named).is_file():
            how = "--config" if path else "SYNCD_CONFIG"
            what = "is a folder, not a file" if Path(named).is_dir() else "no such file"
            raise ConfigError([f"{named}: {what} (named by {how})"])
        return Path(named).absolute()
    return next((candidate.absolute() for candidate in (LOCAL, SYSTEM) if candidate.is_file()), None)


def _folders(file: Path | None) -> tuple[Path, Path]:
    """Where relative paths start, and the folder of feed files. Without a file: as if the current
    folder had an empty one."""
    if file is None:
        return Path.cwd(), Path.cwd() / LOCAL.parent / "feeds.d"
    return (file.parent.parent if file.parent.name == LOCAL.parent.name else STATE), file.parent / "feeds.d"


def _from_file(file: Path, faults: list[str]) -> dict[str, object]:
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        faults.append(f"{file}: {error.strerror}")
        return {}
    except UnicodeDecodeError as error:
        faults.append(f"{file}: is not UTF-8 (byte {error.start})")
        return {}
    except tomllib.TOMLDecodeError as error:
        faults.append(f"{file}: is not TOML: {error}")
        return {}
    found: dict[str, object] = {}
    for key, value in _leaves(document):
        if key in BY_KEY:
            found[key] = value
        else:
            faults.append(f"{file}: {_unknown(key, BY_KEY)}")
    return found


def _leaves(table: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    """Dotted key and value, down to the depth that the table of settings knows."""
    for name, value in table.items():
        key = above + name
        if isinstance(value, dict) and key not in BY_KEY and _is_table(key):
            yield from _leaves(value, key + ".")
        else:
            yield key, value


def _is_table(key: str) -> bool:
    return any(known.startswith(key + ".") for known in BY_KEY)


def _from_credentials(environ: Mapping[str, str]) -> dict[str, object]:
    """Secrets that systemd hands over (LoadCredential=operator.token:…), by key."""
    folder = environ.get("CREDENTIALS_DIRECTORY", "")
    if not folder:
        return {}
    secrets = ((setting.key, Path(folder) / setting.key) for setting in SETTINGS if setting.secret)
    return {key: path.read_text("utf-8").strip() for key, path in secrets if path.is_file()}


def _from_environment(environ: Mapping[str, str], faults: list[str]) -> dict[str, object]:
    by_name = {setting.environment: setting.key for setting in SETTINGS}
    found: dict[str, object] = {}
    for name in sorted(environ):
        if not name.startswith("SYNCD_") or name in OTHER_NAMES:
            continue
        if name in by_name:
            found[by_name[name]] = environ[name]
        else:
            faults.append(f"environment: {_unknown(name, [*by_name, *OTHER_NAMES])}")
    return found


def _unknown(key: str, known: Iterable[str]) -> str:
    """Complains about ``key`` and names the nearest known one: as a whole, else by its last part."""
    if _is_table(key):
        return f"{key} is a table, not a value"
    known = list(known)
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    if not near:
        tails = {name.rpartition(".")[2]: name for name in known}
        near = [
            tails[tail] for tail in difflib.get_close_matches(key.rpartition(".")[2], tails, n=1, cutoff=0.75)
        ]
    return f"unknown setting {key}" + (f"; did you mean {near[0]}?" if near else "")


def _parse(values: Mapping[str, object], sources: Mapping[str, str], faults: list[str]) -> dict[str, object]:
    """Every setting's value: what was given, else the default, also for one that is at fault."""
    parsed: dict[str, object] = {}
    for setting in SETTINGS:
        parsed[setting.key] = setting.kind.parse(setting.default)
        if setting.key in values:
            try:
                parsed[setting.key] = _value(setting, values[setting.key])
            except ValueError as fault:
                faults.append(f"{_place(setting, sources[setting.key])} {fault}")
    return parsed


def _value(setting: Setting, given: object) -> object:
    value = setting.kind.parse(given)
    if setting.positive and value in (0, timedelta(0)):
        raise ValueError(f"must be more than {shown(given)}")
    return value


def _place(setting: Setting, source: str) -> str:
    return f"environment: {setting.environment}" if source == "environment" else f"{source}: {setting.key}"
