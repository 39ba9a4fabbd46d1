"""``syncd check``: everything that would keep the daemon from working, found before the daemon starts."""

from __future__ import annotations

import errno
import os
import socket
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from syncd.cli.output import print_json, remark, system_fault
from syncd.cli.store_access import become_owner, place_of
from syncd.config import Address, Settings, SettingsFault, load_settings, retired_in
from syncd.errors import ConfigError, StoreInUse, SyncdError
from syncd.service import configured_feeds, exposure, stores
from syncd.store import Store, facts, schema
from syncd.sync import folder_faults

NO_FOLDER = "it, or something above it, is not a folder"


def check(config: Path | None, as_json: bool) -> int:
    """Print what is wrong, and return 1 if anything is, else 0. Creates nothing."""
    settings = None
    remarks: list[str] = []
    try:
        settings = load_settings(config)
        become_owner(settings)
        found = list(faults(settings))
        remarks = [*retired_in(settings), *(_about_the_store(settings) if not found else ())]
    except SettingsFault as error:
        found = [*error.faults, *_faults_of_files(error.settings)]
        remarks = [*retired_in(error.settings)]
    except ConfigError as error:
        found = list(error.faults)
    if as_json:
        print_json({"ok": not found, "faults": found, "remarks": remarks})
    else:
        for line in (*found, *remarks):
            remark(f"syncd: {line}")
        if settings is not None and not found:
            print(f"all good: {settings.file or 'no settings file, all defaults'}")
    return 1 if found else 0


def _about_the_store(settings: Settings) -> Iterator[str]:
    """Yield what the next start would do to the store: make it, or migrate it."""
    if not stores.has_store(settings):
        yield f"there is no store at {place_of(settings)} yet; `syncd serve` and `syncd employer add` make one"
    elif (old := _old_version(settings)) is not None:
        backup = "backs it up and" if settings.store.path else "(make a backup first, by pg_dump)"
        yield f"the store has schema {old}: `syncd serve` {backup} migrates it to {schema.HEAD}"


def _old_version(settings: Settings) -> str | None:
    """Return the version of the schema of the store, None if it needs no migration. Raises StoreTooNew."""
    version = stores.database_of(settings).version()
    schema.refuse_newer(version)
    return version if version != schema.HEAD else None


def faults(settings: Settings) -> Iterator[str]:
    """Yield everything that is wrong. Creates nothing."""
    yield from _drop_folder(settings.drop.folder)
    running, known, found = _store_and_feeds(settings)
    yield from found
    yield from exposure.faults(settings, known)
    for name in settings.notify.feeds:
        if name not in known:
            yield f"notify.feeds: there is no feed {name!r}; known: {', '.join(known) or 'none'}"
    if not running:  # the daemon itself holds its ports
        # nobody owns a store on a server: the address may be that of the daemon on this machine
        passing = () if settings.store.path is not None else (errno.EADDRINUSE,)
        yield from _port("api.listen", settings.api.listen, passing)
        if settings.operator.listen is not None:
            yield from _port("operator.listen", settings.operator.listen, passing)


def _drop_folder(folder: Path) -> Iterator[str]:
    """Yield what keeps files from being created, renamed and removed there: it is tried."""
    rights = "this user needs to read, write and enter it"
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".syncd-check-", suffix=".tmp"):
            pass
    except FileNotFoundError:
        why = _cannot_be_made(folder)
        if why is not None:
            yield f"drop.folder: {folder}: {why}"
    except (FileExistsError, NotADirectoryError):
        yield f"drop.folder: {folder}: {NO_FOLDER}"
    except OSError as error:
        yield f"drop.folder: {folder}: {error.strerror}; {rights}"


def _cannot_be_made(folder: Path) -> str | None:
    """Return why a folder that is not there cannot be made, None if it can."""
    above = next(place for place in folder.parents if place.exists())
    if not above.is_dir():
        return NO_FOLDER
    if os.access(above, os.W_OK | os.X_OK):
        return None
    return f"it cannot be made: {above}: {os.strerror(errno.EACCES)}"


def _store_and_feeds(settings: Settings) -> tuple[bool, list[str], list[str]]:
    """Return whether a daemon runs on this store, the names of the feeds, and what is wrong with the store, with feed files and
    with folders of feeds."""
    store_faults: list[str] = []
    running = False
    try:
        if stores.has_store(settings):
            if _old_version(settings) is not None:  # it can be asked when it is migrated
                return _is_owned(settings), *_feeds(None, settings, employers=False)
            running, store = _open(settings)
            with store:
                store.write(facts.prove_writable)
                return running, *_feeds(store, settings)
        if settings.store.path is not None:
            folder = settings.store.path.parent
            why = _cannot_be_made(folder / "store")
            store_faults += [f"store.url: {folder}: {why}"] if why is not None else []
    except SyncdError as error:
        store_faults.append(
            "store.url: " + (f"{settings.store.path}: " if settings.store.path else "") + str(error)
        )
    except OSError as error:
        store_faults.append(f"store.url: {system_fault(error)}")
    names, found = _feeds(None, settings, employers=not store_faults)
    return running, names, [*found, *store_faults]


def _feeds(store: Store | None, settings: Settings, *, employers: bool = True) -> tuple[list[str], list[str]]:
    """Return the names of all feeds, and the faults of their files and folders. ``employers``: whether to look them up."""
    catalogue = stores.catalogue_of(store, settings)
    names: list[str] = []
    found: list[str] = []
    try:
        for name, file in configured_feeds.feed_files(settings, catalogue).items():
            names.append(name)
            found.extend(configured_feeds.faults_of(store, file) if employers else file.faults)
            found.extend(folder_faults(settings.drop.folder / name))
    except ConfigError as error:
        found.extend(error.faults)
    return names, found


def _faults_of_files(settings: Settings) -> Iterator[str]:
    """Yield the faults of feed files by themselves: where settings are wrong, the store and folders may be others."""
    try:
        for file in configured_feeds.feed_files(settings, stores.catalogue_of(None, settings)).values():
            yield from file.faults
    except ConfigError as error:
        yield from error.faults


def _is_owned(settings: Settings) -> bool:
    """Return whether a daemon owns the store."""
    database = stores.database_of(settings)
    try:
        database.lock()
    except StoreInUse:
        return True
    database.unlock()
    return False


def _open(settings: Settings) -> tuple[bool, Store]:
    """Return whether a daemon owns the store, and the store."""
    try:
        return False, stores.open_store(settings, exclusive=True)
    except StoreInUse:
        return True, stores.open_store(settings)


def _port(key: str, address: Address, passing: Collection[int]) -> Iterator[str]:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        socket.create_server((address.host, address.port), family=family).close()
    except OSError as error:
        if error.errno in passing:
            return
        why = os.strerror(error.errno) if error.errno else str(error)
        yield f"{key}: {address}: {why}; choose another address"
