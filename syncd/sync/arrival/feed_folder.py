"""A feed's folder: made where it is missing, tidied after processes that died, swept of old files, and opened to the group of its
partner (docs/operations.md "Partners")."""

import os
import stat
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from syncd.domain import Run, RunState
from syncd.errors import NotFound, UnusableFolder
from syncd.store import Store, Tx, runs
from syncd.sync import files, folders
from syncd.sync.arrival.claims import COPY, is_marker_note
from syncd.sync.run import Feed


def make_folders(folder: Path) -> None:
    """Make the folder and the three inside it, where they are missing. Raises OSError, and UnusableFolder for one that
    files cannot be moved into."""
    folders.make_feed_folder(folder)
    for name in (folders.CLAIMED, folders.DONE, folders.FAILED):
        with folders.ensure_subfolder(folder, name):
            pass


def tidy(folder: Path) -> None:
    """Remove the copies and drafts that were not finished, and the notes and rejected records of claimed files that are gone.
    Call it under the feed's lock, under which all of these are written."""
    with folders.open_subfolder(folder, folders.CLAIMED) as claims:
        names = os.listdir(claims)
        live = {parsed[0] for parsed in map(files.parse_claim, names) if parsed}
        for name in names:
            is_beside = name.startswith(".rejected.", 9) or is_marker_note(name)
            if name.startswith((COPY, files.DRAFT)) or (is_beside and name[1:9] not in live):
                files.discard(claims, name)


def sweep(store: Store, feed: Feed) -> None:
    """Remove the files of runs that ended more than ``keep_files`` ago, with their reports. The files of a held run stay,
    and so does every file that no run of this feed left."""
    paths: dict[int, list[Path]] = defaultdict(list)
    for place in (feed.folder / folders.DONE, feed.folder / folders.FAILED):
        with folders.open_subfolder(feed.folder, place.name) as folder:
            for name in os.listdir(folder):
                number = files.parse_filed(name)
                if number is not None and stat.S_ISREG(folders.mode_of(name, folder)):
                    paths[number].append(place / name)
    for run in store.read(lambda tx: _old(tx, feed, sorted(paths))):
        for path in paths[run.id]:
            if path.name.partition("-")[2].startswith(files.short_name(run.file)):
                with folders.open_subfolder(feed.folder, path.parent.name) as folder:
                    files.discard(folder, path.name)


def _old(tx: Tx, feed: Feed, numbers: list[int]) -> list[Run]:
    limit = tx.now.instant - feed.config.keep_files
    old: list[Run] = []
    for number in numbers:
        with suppress(NotFound):
            run = runs.get(tx, number)
            if run.feed == feed.name and run.ended_at is not None and run.state is not RunState.HELD:
                if run.ended_at > limit:
                    break  # runs end in about the order of their numbers
                old.append(run)
    return old


# -- the group of a partner ------------------------------------------------------------------------------------
# The folders belong to syncd's user, who may rename them and put links in their place. So they are opened as that user, never
# through a link, and root changes only open folders and files of that user.


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
    rights. Raises OSError, and UnusableFolder for a file or a folder of another user."""
    with ExitStack() as stack:
        with as_owner():
            make_folders(folder)
            opened = [
                (rights, stack.enter_context(place)) for rights, place in _places(folder, gid, owner[1])
            ]
        for rights, fd in opened:
            if (user := os.fstat(fd).st_uid) != owner[0]:
                why = f"belongs to the user {user}, not to syncd's user {owner[0]}: chown {owner[0]} {rights.path}"
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
    """Yield the rights of each folder, and the context manager that opens it. ``own``: the first group of syncd's user."""
    yield FolderRights(folder.parent, None, folders.DROP_MODE), folders.open_folder(folder.parent)
    yield FolderRights(folder, gid, folders.FEED_MODE), folders.open_folder(folder)
    for name, mode in folders.INNER_MODES.items():
        group = own if name == folders.CLAIMED else gid
        yield FolderRights(folder / name, group, mode), folders.open_subfolder(folder, name)


def _give_reports(folder: int, user: int, gid: int) -> None:
    """Let a group read the files of syncd's own in an open folder, but none with a second name, which may be anywhere."""
    for name in os.listdir(folder):
        with suppress(OSError):  # a partner removed or replaced it meanwhile
            fd = folders.open_regular(name, folder)
            if fd is None:
                continue
            try:
                status = os.fstat(fd)
                if status.st_uid == user and status.st_nlink == 1:
                    os.fchown(fd, -1, gid)
                    os.fchmod(fd, folders.REPORT_MODE)
            finally:
                os.close(fd)
