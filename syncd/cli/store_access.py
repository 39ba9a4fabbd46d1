"""The beginning of nearly every command: the right user, an open store."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from syncd.config import Settings
from syncd.errors import StoreError
from syncd.service import served, stores
from syncd.store import Store


@contextmanager
def opened_store(settings: Settings, *, make: bool = False) -> Iterator[Store]:
    """Yield the store, as its owner if root calls. Only with ``make`` a store is created. Raises StoreError."""
    become_owner(settings)
    if not make:
        require_store(settings)
    with stores.open_store(settings) as store:
        if not gc.isenabled():  # see entry; the objects that exist now are not searched
            gc.freeze()
            gc.enable()
        yield store


def require_store(settings: Settings) -> None:
    if not stores.has_store(settings):
        raise StoreError(
            f"there is no store at {served.name_of(settings)} (store.url, settings: {settings.file or 'all defaults'});"
            " `syncd serve` and `syncd employer add` make one"
        )


@contextmanager
def store_if_any(settings: Settings, *, lent: bool = False) -> Iterator[Store | None]:
    """Yield the store, None if there is none yet. ``lent``: afterwards root is root again. Raises StoreError."""
    if not stores.has_store(settings):
        yield None
        return
    with acting_as(owner_ids(settings)) if lent else nullcontext(), opened_store(settings) as store:
        yield store


@contextmanager
def acting_as(owner: tuple[int, int]) -> Iterator[None]:
    """As root, have only the rights of the user with these ids (of user and first group) until the block ends."""
    if os.geteuid() != 0 or owner[0] == 0:
        yield
        return
    user, group, groups = os.geteuid(), os.getegid(), os.getgroups()
    os.setgroups(_groups(*owner))
    os.setegid(owner[1])
    os.seteuid(owner[0])
    try:
        yield
    finally:
        os.seteuid(user)
        os.setegid(group)
        os.setgroups(groups)


def owner_ids(settings: Settings) -> tuple[int, int]:
    """Return the ids of user and first group: as root those of the owner of the store's folder, else of this process."""
    owner = _owner_of(_owned_folder(settings))
    return (os.geteuid(), os.getegid()) if owner is None else (owner.st_uid, owner.st_gid)


def become_owner(settings: Settings) -> None:
    """As root, become the owner of the store's folder, so that no file is created there that the daemon cannot open. Imports
    come first: the program may lie where only root can read."""
    become_owner_of(_owned_folder(settings))


def become_owner_of(folder: Path) -> None:
    """As root, become the owner of the folder, or of that above it if it is missing."""
    owner = _owner_of(folder)
    if owner is None:
        return
    os.setgroups(_groups(owner.st_uid, owner.st_gid))
    os.setgid(owner.st_gid)
    os.setuid(owner.st_uid)


def _owned_folder(settings: Settings) -> Path:
    """Return the folder that belongs to syncd's user: of the store, or the drop folder if the store is on a server."""
    return settings.store.path.parent if settings.store.path is not None else settings.drop.folder


def _owner_of(folder: Path) -> os.stat_result | None:
    """Return the owner of the folder if this process is root and the owner is another user, else None."""
    if os.geteuid() != 0:
        return None
    place = next((place for place in (folder, *folder.parents) if place.exists()), None)
    owner = place.stat() if place else None
    return None if owner is None or owner.st_uid == 0 else owner


def _groups(uid: int, gid: int) -> list[int]:
    import pwd

    try:
        return os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)
    except KeyError:
        return [gid]
