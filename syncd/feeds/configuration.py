"""Feed files (``config/feeds.d/NAME.toml``) → FeedConfig. Every fault of every file is found before any is raised.

Without ``preset`` and ``[fields]`` the feed has the service's own shape. ``NAME = false`` removes a field of the preset."""

import codecs
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Callable
from collections.abc import Mapping as Map
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from syncd import __version__, languages
from syncd.domain import FIELD, Catalogue, FieldKind, Policy, Threshold, fields_of
from syncd.errors import ConfigError
from syncd.feeds import native
from syncd.feeds.faults import Scope, member, nearest
from syncd.feeds.mapping import Mapping, PlacesRule, lookups_in, transforms
from syncd.feeds.mapping.presets import load_preset, overridden, preset_names
from syncd.feeds.readers import ReadSpec, element_path, member_path
from syncd.feeds.source import Source, read_source
from syncd.plain_files import parse_toml, read_settings
from syncd.values import COUNT, ValueFault, choice, duration, filled_text, flag, percent, shown

_POLICY_KEYS = tuple(setting.name for setting in fields(Policy))
READ_KEYS = ("format", "records", "encoding", "delimiter", "recover", "repair_text", "sheet")
FORMATS = ("csv", "xml", "json", "jsonl")
_DELIMITERS = {"tab": "\t", "\\t": "\t"}
_SETTINGS = ("employer", "preset", "language", "places", "settle", "marker", "keep_files", "expect_every")
#: Keys that change nothing of what a file does: with another one its next file may archive as before.
_ASIDE = ("language", "source")
_TABLES = ("read", "fields", "lookup")
_OF_SERVICE = "is a table of syncd.toml: in a feed's file its keys stand at the top, without it"
#: Keys that people write at the top of a feed's file → where they belong.
_ELSEWHERE = {"sync": _OF_SERVICE, "drop": _OF_SERVICE}
_ELSEWHERE |= dict.fromkeys(FIELD, "is a field of a job: it belongs below [fields]")
KEYS = (*_SETTINGS, *_POLICY_KEYS, *_TABLES, "rows", "source")
_NAMES = "a feed's name is letters, digits, dots, dashes and underscores, at most 100"
#: The folder beside the files of feeds for those of feeds that were removed.
REMOVED = "removed"
#: Names in the folder of the feeds' files that nobody takes for the file of a feed that counts, and those that do count.
_EXPECTED = re.compile(rf"\AREADME|\A{REMOVED}\Z|\.(?:toml|example)\Z")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")


@dataclass(frozen=True, slots=True)
class FeedDefaults:
    """The values of syncd.toml for feeds that have none of their own. ``settle`` is in seconds, ``zone`` that of dates."""

    policy: Policy = field(default_factory=Policy)
    settle: float = 2.0
    keep_files: timedelta = timedelta(days=30)
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("America/Toronto"))
    language: str = languages.DEFAULT


@dataclass(frozen=True, slots=True)
class FeedConfig:
    """One feed file, checked.

    ``settle`` is in seconds. ``marker`` is the ending of a file that marks another as complete. ``fingerprint`` (16 bytes)
    changes with everything that decides the body of a record; ``settings_digest`` (hex) with the values of the feed's own file,
    but not with its comments, its order of keys, its ``[source]``, its ``language`` or the program's version. ``own_lookups``
    are those of that file alone. A wrong ``[source]`` has ``source_faults``, and degrades nothing: files that are dropped still
    run. ``language``: of texts for the partner."""

    name: str
    employer: str
    preset: str | None
    policy: Policy
    settle: float
    marker: str | None
    keep_files: timedelta
    expect_every: timedelta | None
    read: ReadSpec
    mapping: Mapping
    fingerprint: bytes
    settings_digest: str
    own_lookups: frozenset[str]
    source: Source | None = None
    source_faults: tuple[str, ...] = ()
    language: str = languages.DEFAULT


@dataclass(frozen=True, slots=True)
class FeedFile:
    """The file of one feed. ``config`` is its readable part, or None; it may be used only if there are no ``faults``."""

    name: str
    config: FeedConfig | None
    faults: tuple[str, ...]

    def usable(self) -> FeedConfig:
        """Return ``config``. Raise ConfigError with all faults of the file."""
        if self.faults or self.config is None:
            raise ConfigError(self.faults)
        return self.config


def read_feed_files(folder: Path, catalogue: Catalogue, defaults: FeedDefaults) -> dict[str, FeedFile]:
    """Return every ``*.toml`` in ``folder`` by the name of its feed, in alphabetical order; none if there is no folder. One whose
    rows could never go in has a fault. Raise ConfigError for a folder that cannot be read."""
    feeds: dict[str, FeedFile] = {}
    by_folded: dict[str, str] = {}
    for name in _names(folder):
        if not name.endswith(".toml"):
            continue
        path = folder / name
        scope = Scope(path.name)
        config = _load(path, catalogue, defaults, scope)
        other = by_folded.setdefault(path.stem.casefold(), path.stem)
        if other != path.stem:  # they would share a folder on some file systems
            scope.fault(f"differs from {other}.toml in case only")
        printable = os.fsencode(path.stem).decode(
            "utf-8", "backslashreplace"
        )  # a name of other bytes is a fault
        feeds[printable] = FeedFile(printable, config, tuple(scope.faults))
    return feeds


def _names(folder: Path) -> list[str]:
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigError([f"{folder}: cannot be read: {error.strerror}"]) from error
    return sorted(name for name in names if not name.startswith("."))


def unread_files(folder: Path) -> list[Path]:
    """Return the things beside the files of feeds that are none, but for a README, examples and ``removed/``."""
    return [folder / name for name in _names(folder) if not _EXPECTED.search(name)]


def check_name(name: str) -> None:
    """Raise ConfigError for a text that cannot be the name of a feed."""
    if not _NAME.match(name):
        raise ConfigError([f"{name!r}: {_NAMES}"])


def parse_feed(name: str, source: str, catalogue: Catalogue, defaults: FeedDefaults) -> FeedConfig:
    """Return the feed that the text of its file describes. Raise ConfigError with all of its faults."""
    scope = Scope(f"{name}.toml")
    config = _parse(name, source, catalogue, defaults, scope)
    return FeedFile(name, config, tuple(scope.faults)).usable()


def _load(path: Path, catalogue: Catalogue, defaults: FeedDefaults, scope: Scope) -> FeedConfig | None:
    try:
        source = read_settings(path)
    except OSError as error:
        scope.fault(f"cannot be read: {error.strerror}")
        return None
    config = _parse(path.stem, source, catalogue, defaults, scope)
    if config is not None and config.mapping.maps and "referenceId" not in config.mapping.fields:
        scope.at("fields").at("referenceId").fault("is missing: without it every record is rejected")
    return config


def _parse(
    name: str, source: str, catalogue: Catalogue, defaults: FeedDefaults, scope: Scope
) -> FeedConfig | None:
    try:
        values = parse_toml(source)
    except tomllib.TOMLDecodeError as error:
        scope.fault(f"is not TOML: {error}")
        return None
    if not _NAME.match(name):
        scope.fault(_NAMES)
    scope.keys({key: values[key] for key in values if key not in _ELSEWHERE}, KEYS)
    for key in filter(_ELSEWHERE.__contains__, values):
        scope.at(key).fault(_ELSEWHERE[key])
    merged = _merged(values, scope)
    spec = _read_spec(merged["read"], scope.at("read"))
    fields, rows = merged["fields"], values.get("rows")
    places = _places(values, fields, scope)
    mapping = Mapping(
        catalogue,
        fields,
        merged["lookup"],
        spec.format,
        scope,
        places=places,
        rows=rows,
        zone=defaults.zone,
        repair=member(merged["read"], "repair_text", flag, False, scope.at("read")),
    )
    settle = member(values, "settle", duration, timedelta(seconds=defaults.settle), scope)
    marker, of_source = _marker(values, scope), Scope(f"{name}.toml")
    fetched = None
    if "source" in values:
        fetched = read_source(
            values["source"], merged["preset"], spec.records, marker, of_source.at("source")
        )
    if fetched is not None and fetched.pages is not None:
        spec = replace(spec, format=None)  # of each answer: the file of all of them is JSON Lines
    settings = {key: value for key, value in values.items() if key not in _ASIDE}
    return FeedConfig(
        name=name,
        employer=_employer(values, scope),
        preset=merged["preset"],
        policy=_policy(values, defaults.policy, scope),
        settle=settle.total_seconds(),
        marker=marker,
        keep_files=member(values, "keep_files", duration, defaults.keep_files, scope),
        expect_every=member(values, "expect_every", duration, None, scope),
        read=replace(spec, outside=mapping.outside),
        mapping=mapping,
        fingerprint=_fingerprint(
            merged | {"places": places, "rows": rows, "zone": defaults.zone.key}, catalogue
        ),
        settings_digest=hashlib.sha256(_canonical(settings)).hexdigest(),
        own_lookups=frozenset(_table(values, "lookup", Scope(""))),
        source=fetched,
        source_faults=tuple(of_source.faults),
        language=member(values, "language", choice(*languages.names()).parse, defaults.language, scope),
    )


def _merged(values: Map[str, Any], scope: Scope) -> dict[str, Any]:
    """Return the joined tables of preset and file, and the ``preset``. ``fields`` None: the service's own shape."""
    own = {key: _table(values, key, scope) for key in _TABLES}
    preset = values.get("preset")
    base: dict[str, Any] = {}
    if preset is not None and not isinstance(preset, str):
        scope.at("preset").fault("must be the name of a preset (text)")
        preset = None
    elif preset in preset_names():
        base = load_preset(preset)
    elif preset is not None:
        scope.at("preset").fault(f"there is no preset {preset!r}{nearest(preset, preset_names())}")
    joined = overridden(base, own)
    native = preset is None and "fields" not in values
    used = {name for name, entries in own["lookup"].items() if entries != {}}
    if native and used:
        scope.at("lookup").fault("has no use: a feed in the service's own shape has no [fields]")
    elif used:
        known = {*base.get("lookup", {}), *lookups_in(joined["fields"])}
        for name in own["lookup"]:
            if name in used - known:  # its entries would change nothing, and nobody would notice
                fault = f'has no use: no field has lookup = "{name}"{nearest(name, known)}'
                scope.at("lookup").at(name).fault(fault)
    return {**joined, "preset": preset, "fields": None if native else joined["fields"]}


def _table(values: Map[str, Any], key: str, scope: Scope) -> dict[str, Any]:
    table = values.get(key, {})
    if not isinstance(table, dict):
        scope.at(key).fault(f"must be a table: [{key}]")
        return {}
    return table


def _employer(values: Map[str, Any], scope: Scope) -> str:
    if "employer" not in values:
        scope.at("employer").fault("is missing: the name of the employer that the jobs belong to")
        return ""
    name = member(values, "employer", filled_text, "", scope)
    if len(name) > 128:
        scope.at("employer").fault("has more than 128 characters")
    return name.strip()


def _places(values: Map[str, Any], fields: object, scope: Scope) -> PlacesRule | None:
    rule: PlacesRule | None = member(values, "places", choice("canada", "strict").parse, None, scope)
    if rule is not None and fields is None:
        scope.at("places").fault("has no use: the places of a feed in the service's own shape are not judged")
    return rule


def _marker(values: Map[str, Any], scope: Scope) -> str | None:
    marker = member(values, "marker", filled_text, None, scope)
    if marker is not None and not re.fullmatch(r"\.[A-Za-z0-9._-]{1,20}", marker):
        scope.at("marker").fault('must be an ending such as ".done"')
    return marker


def _fingerprint(merged: Map[str, Any], catalogue: Catalogue) -> bytes:
    """Return a digest in which the order of lookups and alternatives counts, where it decides, but not that of fields."""
    parts = {
        "fields": merged["fields"],
        "lookups": merged["lookup"],
        "read": merged["read"],
        "catalog": catalogue.digest().hex(),
        "limits": {
            limited.name: limited.most
            for limited in fields_of(FieldKind.TEXT, FieldKind.EMAIL, FieldKind.URL)
        },
        "transforms": native.VERSION if merged["fields"] is None else transforms.VERSION,
        "program": __version__,
    }
    parts |= {key: merged[key] for key in ("places", "rows") if merged[key] is not None}
    parts |= {} if merged["fields"] is None else {"zone": merged["zone"]}
    return hashlib.blake2b(_canonical(parts), digest_size=16).digest()


def _canonical(values: object) -> bytes:
    return json.dumps(values, sort_keys=True, ensure_ascii=True, default=repr).encode()


def _policy(values: Map[str, Any], base: Policy, scope: Scope) -> Policy:
    changes: dict[str, Any] = {}
    for setting in fields(Policy):
        name, usual = setting.name, getattr(base, setting.name)
        if name in values and isinstance(usual, Threshold):
            changes[name] = _threshold(values, name, usual, setting.metadata["counted"], scope)
        elif name in values:
            changes[name] = member(values, name, setting.metadata["kind"].parse, usual, scope)
    return replace(base, **changes)


def _threshold(values: Map[str, Any], name: str, base: Threshold, counted: str, scope: Scope) -> Threshold:
    """Return the threshold of ``{ percent = 25, jobs = 5 }``, of one of its members, or of a percentage."""
    table, place = values[name], scope.at(name)
    if not isinstance(table, dict):
        return replace(base, percent=member(values, name, percent, base.percent, scope))
    place.keys(table, ("percent", counted))
    share = member(table, "percent", percent, base.percent, place)
    return Threshold(share, member(table, counted, COUNT.parse, base.count, place))


def _read_spec(table: Map[str, Any], scope: Scope) -> ReadSpec:
    scope.keys(table, READ_KEYS)
    form: Any = member(table, "format", choice(*FORMATS).parse, None, scope)
    records = member(table, "records", filled_text, None, scope)
    if records is not None:
        _check_records(records, form, scope.at("records"))
    encoding = member(table, "encoding", _encoding, None, scope)
    delimiter = member(table, "delimiter", _delimiter, None, scope)
    recover = member(table, "recover", flag, False, scope)
    sheet = member(table, "sheet", filled_text, None, scope)
    for key, value, only, words in (
        ("recover", recover, "xml", "is for XML only"),
        ("delimiter", delimiter, "csv", "is for CSV only"),
        ("sheet", sheet, "csv", "is for spreadsheets only, which are read like CSV"),
    ):
        if value and form not in (None, only):
            scope.at(key).fault(words)
    return ReadSpec(form, records, encoding, delimiter, recover, sheet=sheet)


def _check_records(records: str, form: str | None, scope: Scope) -> None:
    if form in ("csv", "jsonl"):
        scope.fault(f"has no use in {form}: every {'row' if form == 'csv' else 'line'} is a record")
        return
    parsers: list[Callable[[str], object]] = [element_path] if form != "json" else []
    parsers += [member_path] if form != "xml" else []
    faults: list[str] = []
    for parse in parsers:
        try:
            parse(records)
        except ValueError as error:
            faults.append(str(error))
        else:
            return
    scope.fault(f"is {', and '.join(faults)}")


def _delimiter(value: object) -> str:
    mark = _DELIMITERS.get(value, value) if isinstance(value, str) else None
    if not isinstance(mark, str) or len(mark) != 1 or mark in '"\r\n':
        raise ValueFault(f'must be one character such as ";" or "tab", not {shown(value)}')
    return mark


def _encoding(value: object) -> str:
    try:
        usable = codecs.lookup(filled_text(value))._is_text_encoding
    except LookupError:
        usable = False
    if not usable:
        raise ValueFault(f"there is no encoding {shown(value)}")
    return str(value)
