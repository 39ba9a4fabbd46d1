"""``syncd init`` makes a complete installation in a folder; ``syncd check`` finds every fault of one before the daemon starts."""

import asyncio
import errno
import os
import shlex
import socket
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import syncd
from syncd.cli import output
from syncd.cli.store_access import become_owner
from syncd.config import Address, Settings, SettingsFault, load_settings, retired_in
from syncd.errors import ConfigError, Conflict, StoreError, StoreInUse, SyncdError
from syncd.feeds.configuration import FeedFile, unread_files
from syncd.feeds.source import Source
from syncd.service import configured_feeds, exposure, served, stores
from syncd.sources import SourceError, faults_before, look
from syncd.store import Store, facts, schema
from syncd.sync import folder_faults, make_drop_folder

_PACKAGE = Path(syncd.__file__).parent
#: The places of the files that an installation begins with: in an installed package, and in a checkout.
_STARTERS = (_PACKAGE / "cli" / "starter", _PACKAGE.parent / "config")
#: Sources that are asked at once.
MAX_ASKED = 10
NO_FOLDER = "it, or something above it, is not a folder"


# -- init ------------------------------------------------------------------------------------------------------


def init(folder: Path, as_json: bool) -> None:
    """Make settings, examples of feed files and the drop folder in ``folder``, and print the next steps. Other files there stay.
    The settings are written last: it goes on where it was killed before. Raises Conflict if there are settings, OSError."""
    base = folder.absolute()
    source = next(place for place in _STARTERS if (place / "syncd.toml").is_file())
    config = base / "config" / "syncd.toml"
    if os.path.lexists(config):
        raise Conflict(f"{config} exists; nothing was written")
    with output.writable_by_owner_alone():
        (base / "config" / "feeds.d").mkdir(parents=True, exist_ok=True)
        for path in (*sorted((source / "feeds.d").glob("*.example")), source / "syncd.toml"):
            target = base / "config" / path.relative_to(source)
            if not os.path.lexists(target):
                with output.whole_file(target) as out:
                    out.write(path.read_bytes())
        settings = load_settings(config, {})
        make_drop_folder(settings.drop.folder)
    places = {"config": str(config), "feeds": str(settings.feeds), "drop": str(settings.drop.folder)}
    shown = output.clean(str(config))
    steps = f"""{shown} has all settings. Next:
  export SYNCD_CONFIG={shlex.quote(shown)}
  syncd employer add "Acme Ltd."
  syncd feed new acme --from FILE    # or copy an example in {output.clean(str(settings.feeds))}
  syncd serve"""
    output.print_result(as_json, places, steps)


# -- check -----------------------------------------------------------------------------------------------------


def check(config: Path | None, as_json: bool, *, sources: bool) -> int:
    """Print all faults, and return 1 if there are any, else 0. ``sources``: also of those of addresses, which are asked. Creates
    nothing."""
    settings, remarks = None, list[str]()
    try:
        settings = load_settings(config)
        become_owner(settings)
        lines = [*faults(settings), *(_unreachable(settings) if sources else ())]
        remarks = [*retired_in(settings), *_unread(settings)]
        last, name = served.served_store(settings), served.name_of(settings)
        if last is not None and not last[1] and last[0] != name:
            remarks.append(
                f"the daemon served {last[0]} when it ran last; with these settings it serves {name}"
            )
        remarks += _about_the_store(settings) if not lines else ()
    except SettingsFault as error:
        lines, remarks = list(error.faults), [*retired_in(error.settings), *_unread(error.settings)]
        lines += _feeds_beside(error)
    except ConfigError as error:
        lines = list(error.faults)
    if as_json:
        output.print_json({"ok": not lines, "faults": lines, "remarks": remarks})
    else:
        for line in (*lines, *remarks):
            output.remark(f"syncd: {line}")
        if settings is not None and not lines:
            print(f"all good: {settings.file or 'no settings file, all defaults'}")
    return 1 if lines else 0


def _feeds_beside(error: SettingsFault) -> list[str]:
    """Return the faults of the files of feeds where settings are wrong, also of their employers if the store is that which is
    meant. Folders are not looked at: they may be others."""
    settings, lines = error.settings, list[str]()
    # a file that cannot be read as a whole may name a store
    words = ("store.", "_STORE__", "is not TOML", "it is ")
    sure = not any(word in fault for fault in error.faults for word in words)
    sure = sure and (settings.file is None or os.access(settings.file, os.R_OK))
    try:
        files = configured_feeds.feed_files(settings, settings.catalogue).values()
        lines += [fault for file in files for fault in file.faults]
        if sure and files:
            become_owner(settings)
            if stores.has_store(settings) and _old_version(settings) is None:
                with stores.open_store(settings) as store:
                    everyone = configured_feeds.employers_of(store)
                    faults = [fault for file in files for fault in configured_feeds.faults_of(everyone, file)]
                    lines += [fault for fault in faults if fault not in lines]
    except ConfigError as unreadable:
        lines += unreadable.faults
    except SyncdError as unusable:
        lines.append(f"store.url: {unusable}")
    except OSError as unusable:
        lines.append(f"store.url: {output.system_fault(unusable)}")
    return lines


def _unread(settings: Settings) -> Iterator[str]:
    with suppress(ConfigError):  # a folder that cannot be read is a fault
        yield from (f"{path}: {configured_feeds.UNREAD}" for path in unread_files(settings.feeds))


def _about_the_store(settings: Settings) -> Iterator[str]:
    """Yield the effect of the next start on the store: it is made, or migrated."""
    if not stores.has_store(settings):
        yield f"there is no store at {served.name_of(settings)} yet; `syncd serve` and `syncd employer add` make one"
    elif (old := _old_version(settings)) is not None:
        backup = "backs it up and" if settings.store.path else "(make a backup first, by pg_dump)"
        yield f"the store has schema {old}: `syncd serve` {backup} migrates it to {schema.HEAD}"


def _old_version(settings: Settings) -> str | None:
    """Return the version of the schema of the store, None if it needs no migration. Raises StoreTooNew."""
    version = stores.database_of(settings).version()
    schema.refuse_newer(version)
    return version if version != schema.HEAD else None


def faults(settings: Settings) -> Iterator[str]:
    yield from _drop_folder(settings.drop.folder)
    running, known, of_feeds = _store_and_feeds(settings)
    try:
        served.refuse_other(settings)
    except StoreError as error:
        running = True
        yield str(error)
    yield from of_feeds
    yield from exposure.faults(settings, known)
    for name in settings.notify.feeds:
        if name not in known:
            yield f"notify.feeds: there is no feed {name!r}; known: {', '.join(known) or 'none'}"
    if not running:  # the daemon itself holds its ports
        yield from _port("api.listen", settings.api.listen, settings)
        if settings.operator.listen is not None:
            yield from _port("operator.listen", settings.operator.listen, settings)


def _drop_folder(folder: Path) -> Iterator[str]:
    """Yield why files cannot be created, renamed and removed there: it is tried."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".syncd-check-", suffix=".tmp"):
            return
    except FileNotFoundError:
        why = _cannot_be_made(folder)
    except (FileExistsError, NotADirectoryError):
        why = NO_FOLDER
    except OSError as error:
        why = f"{error.strerror}; this user needs to read, write and enter it"
    if why is not None:
        yield f"drop.folder: {folder}: {why}"


def _cannot_be_made(folder: Path) -> str | None:
    """Return why a folder that is not there cannot be made, None if it can."""
    above = next(place for place in folder.parents if place.exists())
    if not above.is_dir():
        return NO_FOLDER
    try:  # it is tried: in a folder such as /proc root may write, and nothing can be made
        with tempfile.TemporaryDirectory(dir=above, prefix=".syncd-check-"):
            return None
    except OSError as error:
        return f"it cannot be made: {above}: {error.strerror}"


def _store_and_feeds(settings: Settings) -> tuple[bool, list[str], list[str]]:
    """Return whether a daemon runs on this store, the names of the feeds, and the faults of store, files and folders."""
    path, faults = settings.store.path, list[str]()
    try:
        if stores.has_store(settings):
            old = _old_version(settings)
            running = _is_owned(settings)
            if old is not None:  # it can be asked when it is migrated
                return running, *_feeds(None, settings, employers=False)
            with stores.open_store(settings) as store:
                store.write(facts.prove_writable)
                return running, *_feeds(store, settings)
        why = _cannot_be_made(path.parent / "store") if path is not None else None
        faults += [f"store.url: {path.parent}: {why}"] if path is not None and why is not None else []
    except SyncdError as error:
        faults.append("store.url: " + (f"{path}: " if path else "") + str(error))
    except OSError as error:
        faults.append(f"store.url: {output.system_fault(error)}")
    names, of_feeds = _feeds(None, settings, employers=not faults)
    return False, names, [*of_feeds, *faults]


def _feeds(store: Store | None, settings: Settings, *, employers: bool = True) -> tuple[list[str], list[str]]:
    """Return the names of all feeds, and the faults of their files and folders. ``employers``: whether to look them up."""
    names, lines = list[str](), list[str]()
    try:
        files = configured_feeds.feed_files(settings, stores.catalogue_of(store, settings))
        everyone = configured_feeds.employers_of(store)
        for name, file in configured_feeds.gone(store, settings, files).items():
            lines += (f"{name}.toml: {fault}" for fault in file.faults)
        for name, file in files.items():
            names.append(name)
            lines += configured_feeds.faults_of(everyone, file) if employers else file.faults
            lines += folder_faults(settings.drop.folder / name)
            lines += _source_faults(file, settings)
    except ConfigError as error:
        lines += error.faults
    return names, lines


def _source_faults(file: FeedFile, settings: Settings) -> Iterator[str]:
    """Yield why the source of a feed cannot be fetched as far as it can be known before, and secrets in a file that is open."""
    config = file.config
    if config is None:
        return
    yield from config.source_faults
    source = config.source
    if source is None:
        return
    for key, fault in faults_before(source, settings):
        yield f"{file.name}.toml: source.{key}: {fault}"
    path = settings.feeds / f"{file.name}.toml"
    if source.plain_secrets and path.stat().st_mode & 0o077:
        mend = f"chmod 600 {path}, or write {{ credential = NAME }} in its place"
        yield f"{file.name}.toml: source.{source.plain_secrets[0]}: is a secret in a file that others can read: {mend}"


def _unreachable(settings: Settings) -> list[str]:
    """Return why a fetch of a source would fail, after asking its address, but for faults that show before."""
    sources_by_feed = list[tuple[str, Source]]()
    with suppress(ConfigError):  # a folder that cannot be read is a fault
        for file in configured_feeds.feed_files(settings, settings.catalogue).values():
            source = file.config.source if file.config is not None else None
            if source is not None and not any(faults_before(source, settings)):
                sources_by_feed.append((file.name, source))
    turns = asyncio.Semaphore(MAX_ASKED)

    async def fault(name: str, source: Source) -> str | None:
        async with turns:
            try:
                await look(source, settings)
            except SourceError as error:
                return f"{name}.toml: source: {source.shown}: {error}"
        return None

    async def ask() -> list[str | None]:
        return await asyncio.gather(*(fault(name, source) for name, source in sources_by_feed))

    return [line for line in asyncio.run(ask()) if line is not None]


def _is_owned(settings: Settings) -> bool:
    database = stores.database_of(settings)
    try:
        database.lock()
    except StoreInUse:
        return True
    database.unlock()
    return False


def _port(key: str, address: Address, settings: Settings) -> Iterator[str]:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        socket.create_server((address.host, address.port), family=family).close()
    except OSError as error:
        # nobody owns a store on a server: the address may be that of the daemon on this machine
        if error.errno != errno.EADDRINUSE or settings.store.path is not None:
            why = os.strerror(error.errno) if error.errno else str(error)
            yield f"{key}: {address}: {why}; choose another address"
