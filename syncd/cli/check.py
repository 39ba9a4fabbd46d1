"""``syncd check``: everything that would keep the daemon from working, found before it starts."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from syncd.cli import context
from syncd.cli.output import print_json, system_fault
from syncd.config import Address, Settings, load_settings
from syncd.errors import ConfigError, StoreInUse, SyncdError

if TYPE_CHECKING:
    from syncd.domain import Catalogue
    from syncd.feeds.configuration import FeedConfig
    from syncd.store import Store


def check(config: Path | None, as_json: bool) -> int:
    """Prints what was looked at and what is wrong; 1 if anything is."""
    import syncd.service.wiring  # noqa: F401 - before the user changes

    found: list[str] = []
    settings = None
    try:
        settings = load_settings(config)
    except ConfigError as error:
        found.extend(error.faults)
    if settings is not None:
        context.become_owner(settings)
        found.extend(faults(settings))
    if as_json:
        print_json({"ok": not found, "faults": found})
    else:
        for fault in found:
            print(f"syncd: {fault}", file=sys.stderr)
        if settings is not None and not found:
            print(f"all good: {settings.file or 'no settings file, all defaults'}")
    return 1 if found else 0


def faults(settings: Settings) -> Iterator[str]:
    yield from _folder("drop.folder", settings.drop.folder)
    running, store_faults = _store_and_feeds(settings)
    yield from store_faults
    if not running:  # the daemon itself holds its ports
        yield from _port("api.listen", settings.api.listen)
        if settings.operator.listen is not None:
            yield from _port("operator.listen", settings.operator.listen)


def _folder(key: str, folder: Path) -> Iterator[str]:
    """Whether files can be made, renamed and removed there: by doing it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".syncd-check-", suffix=".tmp"):
            pass
    except (FileExistsError, NotADirectoryError):
        yield f"{key}: {folder}: it, or something above it, is no folder"
    except OSError as error:
        yield f"{key}: {folder}: {error.strerror}; this user needs to read, write and enter it"


def _store_and_feeds(settings: Settings) -> tuple[bool, list[str]]:
    """Whether a daemon runs on this store, and what is wrong with store and feed files."""
    from syncd.service import wiring

    found: list[str] = []
    configs: dict[str, FeedConfig] = {}
    running = False
    try:
        configs = wiring.feed_configs(settings, _catalogue(settings))
    except ConfigError as error:
        found.extend(error.faults)
    try:
        running, store = _open(settings)
        with store:
            store.health()
            wiring.owners_of(store, configs, settings)
    except ConfigError as error:
        found.extend(error.faults)
    except SyncdError as error:
        found.append("store.url: " + (f"{settings.store.path}: " if settings.store.path else "") + str(error))
    except OSError as error:
        found.append(f"store.url: {system_fault(error)}")
    return running, found


def _catalogue(settings: Settings) -> Catalogue:
    """What feeds are read with: also what was configured once, where the store can tell."""
    from syncd.service import stores

    try:
        _, store = _open(settings)
        with store:
            return stores.catalogue_of(store, settings)
    except (SyncdError, OSError):  # the store's own check says so
        return settings.catalogue


def _open(settings: Settings) -> tuple[bool, Store]:
    """The store; whether a daemon owns it already."""
    from syncd.service.stores import open_store

    try:
        return False, open_store(settings, exclusive=True)
    except StoreInUse:
        return True, open_store(settings)


def _port(key: str, address: Address) -> Iterator[str]:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address.host, address.port))
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        yield f"{key}: {address}: {why}; choose another address"
