"""What nearly every command needs first: settings, the right user, an open store, the feeds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from syncd.config import Settings, load_settings
from syncd.errors import StoreError
from syncd.service import stores
from syncd.store import Store


def quiet_settings(config: Path | None) -> Settings:
    """Return the settings, with the log silent: for commands that call what logs, and print the result themselves.
    Raises ConfigError."""
    from syncd import logs  # takes as long as a tenth of `syncd runs`, which logs nothing

    settings = load_settings(config)
    logs.set_up(settings.log.format, "critical")
    return settings


@contextmanager
def opened_store(settings: Settings, *, make: bool = False) -> Iterator[Store]:
    """The store, beside a daemon or without one. Only who says ``make`` may have it made: a command that looks at what
    is there would otherwise answer "nothing" for settings that name another place. Raises StoreError."""
    become_owner(settings)
    if not make and settings.store.path is not None and not settings.store.path.exists():
        raise StoreError(
            f"there is no store at {settings.store.path} (store.url, settings: {settings.file or 'all defaults'});"
            " `syncd serve` and `syncd employer add` make one"
        )
    store = stores.open_store(settings)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def lent_store(settings: Settings) -> Iterator[Store]:
    """The store as its owner sees it; behind it root is root again, to write where only root may."""
    owner = _owner(settings)
    user, group = os.geteuid(), os.getegid()
    if owner is not None:
        os.setegid(owner.st_gid)
        os.seteuid(owner.st_uid)
    try:
        store = stores.open_store(settings)
        try:
            yield store
        finally:
            store.close()
    finally:
        os.seteuid(user)
        os.setegid(group)


def become_owner(settings: Settings) -> None:
    """As root: go on as the owner of the store's folder, so that nothing is made there that the daemon cannot open.
    Import first what is needed: the program may lie where only root can read."""
    owner = _owner(settings)
    if owner is None:
        return
    os.setgroups(_groups(owner.st_uid, owner.st_gid))
    os.setgid(owner.st_gid)
    os.setuid(owner.st_uid)


def _owner(settings: Settings) -> os.stat_result | None:
    """Who root should be for the store's sake; None: nobody else."""
    if os.geteuid() != 0 or settings.store.path is None:
        return None
    folder = next((place for place in settings.store.path.parents if place.exists()), None)
    owner = folder.stat() if folder else None
    return None if owner is None or owner.st_uid == 0 else owner


def _groups(uid: int, gid: int) -> list[int]:
    import pwd

    try:
        return os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)
    except KeyError:
        return [gid]
