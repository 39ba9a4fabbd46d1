"""From file and environment to Settings. Strict: all faults of all sources are raised at once."""

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from syncd.config.kinds import NAMES_BY_ID, Address
from syncd.config.settings import BY_KEY, SETTINGS, Catalogues, Notify, Settings
from syncd.domain import Catalogue, near_names
from syncd.errors import ConfigError
from syncd.plain_files import parse_toml, read_secret, read_settings
from syncd.values import Setting, ValueFault, members_of

LOCAL = Path("config/syncd.toml")
SYSTEM = Path("/etc/syncd/syncd.toml")
STATE = Path("/var/lib/syncd")
#: Where systemd looks for the unit of the daemon and its drop-ins, the strongest first.
UNITS = tuple(
    Path(place, "systemd/system") for place in ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib")
)
UNIT = "syncd.service"
#: The first part of every address beside the API's that the service has.
_RESERVED = frozenset({"docs", "operator", "healthz", "readyz", "metrics", "reload"})
_SECRETS = [setting.key for setting in SETTINGS if setting.secret]
_ALL_INTERFACES = {"0.0.0.0", "::"}  # noqa: S104 - they are compared

#: The fewest characters of a secret: one that is guessed lets anyone sign.
MIN_SECRET = 16
#: Settings of earlier versions: a file that has them works; only those with a replacement have an effect.
RETIRED: Mapping[str, str] = dict.fromkeys(
    "api.max_line api.max_headers api.max_head api.max_ratio api.head_timeout api.read_timeout api.write_timeout"
    " api.compress api.compress_min api.cors_max_age api.rate_window api.failed_keys_window"
    " api.max_connections_per_address store.prepare store.max_waiting sync.helpers sync.runs_at_once refresh.check"
    " limits.text limits.depth limits.ratio limits.columns notify.burst log.sentry log.otel".split(),
    "",
) | {
    f"catalogues.retired_{kind}": f"an entry of catalogues.{kind} with an empty name is retired"
    for kind in ("position_types", "categories")
}


class SettingsFault(ConfigError):
    """Settings are wrong. ``settings``: all of them, with the defaults in place of the wrong values."""

    def __init__(self, faults: Iterable[str], settings: Settings) -> None:
        super().__init__(faults)
        self.settings = settings


def load_settings(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of ``path``, else of the first of SYNCD_CONFIG, config/syncd.toml and /etc/syncd/syncd.toml that
    there is, else all defaults. Raise SettingsFault with one line for each fault, and ConfigError if the file that is named
    does not exist."""
    environ = os.environ if environ is None else environ
    file = find_file(path, environ)
    faults: list[str] = []
    values: dict[str, object] = {}
    sources: dict[str, str] = {}
    for source, settings_there in (
        (str(file), _from_file(file, faults) if file else {}),
        ("credential", _from_credentials(environ, file, faults)),
        ("environment", _from_environment(environ, faults)),
    ):
        values |= settings_there
        sources |= dict.fromkeys(settings_there, source)
    parsed = {setting.key: _parsed(setting, values, sources, faults) for setting in SETTINGS}
    settings = _settings(parsed, values, sources, file, faults)
    faults.extend(_contradictions(settings))
    if faults:
        raise SettingsFault(faults, settings)
    return settings


def retired_in(settings: Settings) -> Iterator[str]:
    """Yield a line about each setting that is set and is none any more."""
    for key, source in settings.sources.items():
        if key in RETIRED:
            yield f"{source}: {key} is not a setting any more: {RETIRED[key] or 'remove it, it has no effect'}"


def find_file(path: Path | None, environ: Mapping[str, str]) -> Path | None:
    """Return the file to read, None for no file. Raises ConfigError if a file that is named does not exist."""
    named = str(path) if path else environ.get("SYNCD_CONFIG", "")
    if named:
        if not Path(named).is_file():
            how = "--config" if path else "SYNCD_CONFIG"
            what = "is a folder, not a file" if Path(named).is_dir() else "no such file"
            raise ConfigError([f"{named}: {what} (named by {how})"])
        return Path(named).absolute()
    return next((candidate.absolute() for candidate in (LOCAL, SYSTEM) if candidate.is_file()), None)


# -- the sources -----------------------------------------------------------------------------------------------


def _from_file(file: Path, faults: list[str]) -> dict[str, object]:
    try:
        document = parse_toml(read_settings(file))
    except OSError as error:
        faults.append(f"{file}: {error.strerror}")
        return {}
    except tomllib.TOMLDecodeError as error:
        faults.append(f"{file}: is not TOML: {error}")
        return {}
    values = dict(_leaves(document))
    unknown = [key for key in values if key not in BY_KEY and key not in RETIRED]
    faults.extend(f"{file}: {_unknown(key, BY_KEY)}" for key in unknown)
    return {key: value for key, value in values.items() if key not in unknown}


def _leaves(table: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    """Yield dotted key and value, down to the depth of the declared settings."""
    for name, value in table.items():
        key = above + name
        if isinstance(value, dict) and key not in BY_KEY and _is_table(key):
            yield from _leaves(value, key + ".")
        else:
            yield key, value


def _is_table(key: str) -> bool:
    return any(known.startswith(key + ".") for known in BY_KEY)


def _from_credentials(environ: Mapping[str, str], file: Path | None, faults: list[str]) -> dict[str, object]:
    """Return the secrets that systemd passes (LoadCredential=operator.token:…), by key. A command, to which it passes none, reads
    those of the daemon's unit where it can: without the address of the store it would use another store than the daemon."""
    folder = environ.get("CREDENTIALS_DIRECTORY", "")
    passed = {key: Path(folder, key) for key in _SECRETS if folder and Path(folder, key).is_file()}
    of_unit = _credentials_of_unit() if file is not None and file.parent == SYSTEM.parent else {}
    values: dict[str, object] = {}
    for key, path in (of_unit | passed).items():
        try:
            values[key] = read_secret(path)
        except OSError as error:
            if key in passed or key.startswith("store."):
                faults.append(f"{path}: {error.strerror}: {UNIT} reads {key} there; run the command as root")
    # an empty one is not set: syncd-backup.service
    return {key: value for key, value in values.items() if value}


def _credentials_of_unit() -> dict[str, Path]:
    """Return the files below /etc/syncd that the unit and its drop-ins load as credentials, by key."""
    found: dict[str, Path] = {}
    unit = [folder / UNIT for folder in UNITS if (folder / UNIT).exists()][:1]
    drop_ins = {path.name: path for folder in reversed(UNITS) for path in folder.glob(f"{UNIT}.d/*.conf")}
    for path in (*unit, *(drop_ins[name] for name in sorted(drop_ins))):
        with suppress(OSError):  # a link to /dev/null is how an operator switches one off
            for line in read_settings(path).splitlines():
                name, _, value = (part.strip() for part in line.partition("="))
                if name == "LoadCredential" and not value:  # it takes back all before it
                    found.clear()
                elif name == "LoadCredential":
                    key, _, place = value.partition(":")
                    found[key] = Path(place)
    return {
        key: path for key, path in found.items() if key in _SECRETS and path.is_relative_to(SYSTEM.parent)
    }


def _from_environment(environ: Mapping[str, str], faults: list[str]) -> dict[str, object]:
    by_name = {setting.environment: setting for setting in SETTINGS if _names_a_setting(setting.environment)}
    values: dict[str, object] = {}
    for name in filter(_names_a_setting, sorted(environ)):
        retired = name.removeprefix("SYNCD_").lower().replace("__", ".")
        if name in by_name:
            values[by_name[name].key] = by_name[name].kind.from_text(environ[name])
        elif retired in RETIRED:
            values[retired] = NAMES_BY_ID.from_text(environ[name])
        else:
            faults.append(f"environment: {_unknown(name, by_name)}")
    return values


def _names_a_setting(variable: str) -> bool:
    """Return whether a variable is meant as a setting. Kubernetes sets others for a Service named syncd, such as SYNCD_PORT and
    SYNCD_SERVICE_HOST, none with two underscores together."""
    return variable.startswith("SYNCD_") and "__" in variable


def _unknown(key: str, known: Iterable[str]) -> str:
    """Return the fault of an unknown ``key``, with the nearest setting or table."""
    if _is_table(key):
        return f"{key} is a table, not a value"
    names = {
        ".".join(parts[:n]) for parts in (name.split(".") for name in known) for n in range(1, len(parts) + 1)
    }
    near = near_names(key, sorted(names))
    return f"unknown setting {key}" + (f"; did you mean {near[0]}?" if near else "")


def _parsed(
    setting: Setting, values: Mapping[str, object], sources: Mapping[str, str], faults: list[str]
) -> object:
    """Return the value of a setting, or the default: also for a value with a fault, so that others are found."""
    if setting.key in values:
        try:
            return setting.kind.parse(values[setting.key])
        except ValueFault as fault:
            source = sources[setting.key]
            key = setting.environment if source == "environment" else setting.key
            why = str(fault).partition(", not ")[0] if setting.secret else fault
            faults.append(f"{source}: {key} {why}")
    return setting.kind.parse(setting.default)


# -- the settings ----------------------------------------------------------------------------------------------


def _settings(
    parsed: Mapping[str, object],
    values: Mapping[str, object],
    sources: Mapping[str, str],
    file: Path | None,
    faults: list[str],
) -> Settings:
    """Return the settings with absolute paths, catalogue and secrets. Add to ``faults``."""
    base = STATE  # where relative paths start
    if file is None:  # it counts as an empty one in the current folder
        base = Path.cwd()
    elif file.parent.name == LOCAL.parent.name:
        base = file.parent.parent
    members = members_of(Settings, parsed)
    written = Settings(
        **members,
        catalogue=_catalogue(members["catalogues"], values, faults),
        base=base,
        feeds=(file or base / LOCAL).parent / "feeds.d",
        file=file,
        written=values,
        sources=sources,
    )
    store = written.store
    return replace(
        written,
        operator=_secrets(written.operator, "operator", base, faults),
        notify=_secrets(written.notify, "notify", base, faults),
        store=store if store.path is None else replace(store, url=f"sqlite:///{base / store.path}"),
        drop=replace(written.drop, folder=base / written.drop.folder),
        # a reader holds at least a record whole
        limits=replace(written.limits, text=max(written.limits.text, written.limits.record)),
    )


def _catalogue(changes: Catalogues, values: Mapping[str, object], faults: list[str]) -> Catalogue:
    try:
        catalogue = Catalogue.default().extended(**asdict(changes))
        for kind in asdict(changes):
            ids = values.get(f"catalogues.retired_{kind}")
            known = [id for id in catalogue.entries(kind) if isinstance(ids, list) and id in ids]
            catalogue = catalogue.extended(**{kind: dict.fromkeys(known, "")})
    except ConfigError as error:
        faults.extend(f"catalogues.{fault}" for fault in error.faults)
        return Catalogue.default()
    return catalogue


def _secrets(holder: Any, table: str, base: Path, faults: list[str]) -> Any:
    """Return the settings of ``table`` with each secret that is in a file of its own (``token_file`` for ``token``)."""
    for name in (each.name for each in fields(holder)):
        key, file = f"{table}.{name}", getattr(holder, f"{name}_file", None)
        if file is None:
            continue
        if getattr(holder, name):
            faults.append(f"{key} and {key}_file: give only one of them")
            continue
        try:
            holder = replace(holder, **{name: read_secret(base / file)})
        except OSError as error:
            faults.append(f"{key}_file: {base / file}: {error.strerror}")
    return holder


def _contradictions(settings: Settings) -> Iterator[str]:
    operator, api = settings.operator, settings.api
    where = operator.listen or api.listen
    if not where.loopback and not operator.token:
        yield f"operator.listen: {where} can be reached from outside: set operator.token or operator.token_file"
    elif not operator.token and (proxied := _proxied(settings)):
        yield f"{proxied}: a proxy lets others reach the operator's pages: set operator.token or operator.token_file"
    hosts = {where.host, api.listen.host}
    if (
        operator.listen is not None
        and where.port == api.listen.port != 0
        and (len(hosts) == 1 or hosts & _ALL_INTERFACES)
    ):
        yield (
            f"operator.listen: {where} and the API's {api.listen} cannot both be used; to share one address write"
            ' operator.listen = ""'
        )
    taken = api.base_path.partition("/")[2].partition("/")[0]
    if taken in _RESERVED:
        yield f"api.base_path: /{taken} is an address of syncd itself; write another, such as /api/v1.1"
    token = operator.token
    if not (token.isascii() and token.isprintable() and token == token.strip()):
        yield "operator.token: has characters that no client can send; write printable characters of ASCII"
    if settings.store.lock_url and settings.store.path is not None:
        yield "store.lock_url: is for a store.url on PostgreSQL"
    yield from _notify_contradictions(settings.notify)


def _notify_contradictions(notify: Notify) -> Iterator[str]:
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


def _proxied(settings: Settings) -> str | None:
    """Return the setting that says that a proxy is in front of the operator's pages, or None. An outside address of this
    machine alone, such as ``http://localhost:8081``, says no such thing."""
    operator, api = settings.operator, settings.api
    if _is_outside(operator.public_url):
        return "operator.public_url"
    if operator.listen is None and api.trusted_proxies:
        return "api.trusted_proxies"
    return "api.public_url" if operator.listen is None and _is_outside(api.public_url) else None


def _is_outside(url: str) -> bool:
    return bool(url) and not Address(urlsplit(url).hostname or "", 0).loopback
