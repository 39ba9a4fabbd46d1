"""What other users of the machine can read or write although it is not theirs. Partners are strangers to each other
(docs/operations.md "Partners").

Each fault is one line: the setting, the path, what is wrong, and the command that mends it."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from syncd.config import Settings
from syncd.sync import CLAIMED, DROP_MODE, FEED_MODE, INNER_MODES

_GROUP, _OTHERS = 0o070, 0o007
_READ_OR_WRITE, _WRITE = 0o066, 0o022


def store_faults(settings: Settings) -> Iterator[str]:
    """Yield why other users could read or change the store. Its files must be this user's alone, and in its folder and
    those above it nobody else may exchange it."""
    path = settings.store.path
    if path is None:
        return
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        found = _stat(file := path.with_name(name))
        if found is not None and not stat.S_ISREG(found.st_mode):
            yield f"store.url: {file}: is not a file"
        elif found is not None and found.st_uid != os.geteuid():
            yield f"store.url: {file}: belongs to the user {found.st_uid}: chown {os.geteuid()} {file}"
        elif found is not None and found.st_mode & _READ_OR_WRITE:
            yield _fault("store.url", file, found, "other users can read or write it", "chmod 600")
    above = [(place, 0o002, "chmod o-w") for place in path.parents[1:]]
    for folder, rights, mend in [(path.parent, _WRITE, "chmod 700"), *above]:
        found = _stat(folder)
        if found is not None and found.st_mode & rights and not found.st_mode & stat.S_ISVTX:
            yield _fault("store.url", folder, found, "other users can exchange what lies in it", mend)


def faults(settings: Settings, feeds: Collection[str]) -> Iterator[str]:
    """Yield all that is too open: store, files of settings, token file, drop folder, and the folders of ``feeds``."""
    yield from store_faults(settings)
    yield from _settings_faults(settings, feeds)
    yield from _drop_faults(settings.drop.folder)
    for name in feeds:
        yield from _feed_faults(settings.drop.folder / name)


def _settings_faults(settings: Settings, feeds: Iterable[str]) -> Iterator[str]:
    """Yield the files of settings that other users can change or exchange, and those with a secret that others can read."""
    files = _settings_files(settings, feeds)
    for file, secrets in files.items():
        yield from _secret_file_fault(secrets, file) if secrets else _change_fault(file)
    for folder in dict.fromkeys((*(file.parent for file in files), settings.feeds)):
        found = _stat(folder)
        if found is not None and not found.st_mode & stat.S_ISVTX and found.st_mode & _changing_rights(found):
            yield _fault("settings", folder, found, "other users can exchange what lies in it", "chmod go-w")


def _settings_files(settings: Settings, feeds: Iterable[str]) -> dict[Path, str]:
    """Return the files of settings, each with the keys of the secrets in it, "" for none."""
    on_server = settings.store.path is None
    secret = {
        "operator.token": bool(settings.operator.token),
        "store.url": on_server,
        "store.lock_url": on_server,
    }
    keys = [key for key, there in secret.items() if there and settings.sources.get(key) == str(settings.file)]
    files = {} if settings.file is None else {settings.file: ", ".join(keys)}
    if settings.operator.token_file is not None:
        files[settings.base / settings.operator.token_file] = "operator.token_file"
    return files | {settings.feeds / f"{name}.toml": "" for name in feeds}


def _change_fault(file: Path) -> Iterator[str]:
    found = _stat(file)
    if found is not None and stat.S_ISREG(found.st_mode) and found.st_mode & _changing_rights(found):
        yield _fault("settings", file, found, "other users can change it", "chmod go-w")


def _changing_rights(found: os.stat_result) -> int:
    """Return the rights with which other users could write. A group that has this user alone may: a clone that was made with
    the umask 002 is open to such a group."""
    return _WRITE if _has_strangers(found.st_gid) else _WRITE & _OTHERS


def _secret_file_fault(keys: str, path: Path) -> Iterator[str]:
    found = _stat(path)
    if found is None or not stat.S_ISREG(found.st_mode):  # another fault says that it cannot be read
        return
    others = _OTHERS | (_GROUP if _has_strangers(found.st_gid) else 0o020)
    if found.st_mode & others:
        give = f"chgrp {group_name(os.getegid())} {path} && chmod 640"
        mend = "chmod 600" if found.st_uid == os.geteuid() else give
        yield _fault(keys, path, found, "it has a secret that other users can read or change", mend)


def _drop_faults(drop: Path) -> Iterator[str]:
    found = _stat(drop)
    if drop.resolve() == Path(drop.anchor):
        yield f"drop.folder: {drop}: is the root of the file system; choose a folder for drops alone"
    elif found is not None and stat.S_ISDIR(found.st_mode) and _rights(drop, found) & _READ_OR_WRITE:
        what = "other users can list it or write in it"
        yield _fault("drop.folder", drop, found, what, f"chmod {DROP_MODE:o}")


def _feed_faults(folder: Path) -> Iterator[str]:
    found = _stat(folder)
    if found is None:
        return
    if _rights(folder, found) & _OTHERS:
        yield _fault(
            "drop.folder", folder, found, "users outside of its group can get in", f"chmod {FEED_MODE:o}"
        )
    yield from _group_faults(folder, found.st_gid)
    inner = _stat(claimed := folder / CLAIMED)
    if inner is not None and inner.st_mode & (_GROUP | _OTHERS):
        mend = f"chmod {INNER_MODES[CLAIMED]:o}"
        yield _fault("drop.folder", claimed, inner, "it is for syncd's user alone", mend)


def _group_faults(folder: Path, gid: int) -> Iterator[str]:
    if gid not in (os.getegid(), *os.getgroups()):
        group, user = group_name(gid), user_name(os.geteuid())
        why = f"syncd's user {user} is not in its group {group}, so partners cannot read their reports"
        yield f"drop.folder: {folder}: {why}: usermod -aG {group} {user}, then restart syncd"
    elif gid == os.getegid() and (strangers := _strangers(gid)):
        why = f"its group {group_name(gid)} is syncd's own, and {', '.join(strangers)} can use it"
        yield f"drop.folder: {folder}: {why}: syncd feed new {folder.name} --group GROUP"


def _fault(key: str, path: Path, found: os.stat_result, what: str, mend: str) -> str:
    return f"{key}: {path}: {what} (mode {stat.S_IMODE(found.st_mode):04o}): {mend} {path}"


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:  # it is missing, or other checks report it
        return None


def _rights(path: Path, found: os.stat_result) -> int:
    """Return the rights of the group and of others, without those of users who cannot get to ``path``."""
    above = [place.stat() for place in path.absolute().parents]
    rights = _OTHERS if all(place.st_mode & 0o001 for place in above) else 0
    if _has_strangers(found.st_gid) and all(_lets_in(place, found.st_gid) for place in above):
        rights |= _GROUP
    return found.st_mode & rights


def _lets_in(folder: os.stat_result, gid: int) -> bool:
    return bool(folder.st_mode & (0o010 if folder.st_gid == gid else 0o001))


def _has_strangers(gid: int) -> bool:
    """Return whether users other than this one and root may be in the group."""
    return gid not in (0, os.getegid()) or bool(_strangers(gid))


def _strangers(gid: int) -> list[str]:
    """Return the other users who are in a group, sorted. Those in root's group count as root."""
    if gid == 0:
        return []
    found = {entry.pw_name for entry in pwd.getpwall() if entry.pw_gid == gid}
    with suppress(KeyError):
        found.update(grp.getgrgid(gid).gr_mem)
    return sorted(found - {"root", user_name(os.geteuid())})


def user_name(uid: int) -> str:
    """Return the name of a user, the user's number if there is none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def group_name(gid: int) -> str:
    """Return the name of a group, its number if it has none."""
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
