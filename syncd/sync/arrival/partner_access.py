"""Opens the folder of a feed to the group of its partner (docs/operations.md "Partners").

The folders belong to syncd's user, who may rename them and put links in their place. So they are opened as that user, never
through a link, and root changes only what is open and is that user's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from syncd.errors import UnusableFolder
from syncd.sync import folders
from syncd.sync.arrival.feed_folder import make_folders


@dataclass(frozen=True, slots=True)
class FolderRights:
    """The rights of one folder. ``gid`` None: its group stays as it is."""

    path: Path
    gid: int | None
    mode: int


def open_to_group(
    folder: Path, gid: int, owner: tuple[int, int], as_owner: Callable[[], AbstractContextManager[None]]
) -> list[FolderRights]:
    """Set the group and the rights of a feed's folder, of those inside it and of the drop folder, and make those that are
    missing. Return them. The reports that lie there get the group, too.

    ``owner`` has the ids of syncd's user and of that user's first group; within ``as_owner()`` this process has that user's
    rights. Raises OSError, and UnusableFolder for what is not a folder or belongs to another user."""
    with ExitStack() as stack:
        with as_owner():
            make_folders(folder)
            opened = [
                (rights, stack.enter_context(place)) for rights, place in _places(folder, gid, owner[1])
            ]
        for rights, fd in opened:
            if (found := os.fstat(fd).st_uid) != owner[0]:
                why = f"belongs to the user {found}, not to syncd's user {owner[0]}: chown {owner[0]} {rights.path}"
                raise UnusableFolder(rights.path, why)
        for rights, fd in opened:
            if rights.gid is not None:
                os.fchmod(fd, 0o700)  # neither group may have the other's rights in between
                os.fchown(fd, -1, rights.gid)
            os.fchmod(fd, rights.mode)
        for rights, fd in opened:
            if rights.path.name in (folders.DONE, folders.FAILED):
                _give_reports(fd, owner[0], gid)
    return [rights for rights, _fd in opened]


def _places(folder: Path, gid: int, own: int) -> Iterator[tuple[FolderRights, AbstractContextManager[int]]]:
    """Yield the rights that each folder is to have, and what opens it. ``own``: the first group of syncd's user."""
    yield FolderRights(folder.parent, None, folders.DROP_MODE), folders.open_folder(folder.parent)
    yield FolderRights(folder, gid, folders.FEED_MODE), folders.open_folder(folder)
    for name, mode in folders.INNER_MODES.items():
        group = own if name == folders.CLAIMED else gid
        yield FolderRights(folder / name, group, mode), folders.open_subfolder(folder, name)


def _give_reports(folder: int, user: int, gid: int) -> None:
    """Let a group read the files of syncd's own in an open folder. Files that partners put there are left alone, and so are
    files with a second name, which may be anywhere."""
    for name in os.listdir(folder):
        with suppress(OSError):  # a partner removed or replaced it meanwhile
            fd = folders.open_regular(name, folder)
            if fd is None:
                continue
            try:
                found = os.fstat(fd)
                if found.st_uid == user and found.st_nlink == 1:
                    os.fchown(fd, -1, gid)
                    os.fchmod(fd, folders.REPORT_MODE)
            finally:
                os.close(fd)
