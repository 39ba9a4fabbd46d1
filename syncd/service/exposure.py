"""Files and folders that other users of the machine can read or write although they are not theirs (docs/operations.md
"Partners"). Each fault is one line: the setting, the path, the fault, and the command that mends it."""

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
    """Yield why other users could read or change the store, or exchange a folder above it."""
    path = settings.store.path
    if path is None:
        return
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        info = _stat(file := path.with_name(name))
        if info is not None and not stat.S_ISREG(info.st_mode):
            yield f"store.url: {file}: is not a file"
        elif info is not None and info.st_uid != os.geteuid():
            yield f"store.url: {file}: belongs to the user {info.st_uid}: chown {os.geteuid()} {file}"
        elif info is not None and info.st_mode & _READ_OR_WRITE:
            yield _fault("store.url", file, info, "other users can read or write it", "chmod 600")
    above = [(place, 0o002, "chmod o-w") for place in path.parents[1:]]
    for folder, rights, mend in [(path.parent, _WRITE, "chmod 700"), *above]:
        info = _stat(folder)
        if info is not None and info.st_mode & rights and not info.st_mode & stat.S_ISVTX:
            yield _fault("store.url", folder, info, "other users can exchange what lies in it", mend)


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
        info = _stat(file)
        if info is None or not stat.S_ISREG(info.st_mode):  # another fault says that it cannot be read
            continue
        if not secrets and info.st_mode & _changing_rights(info):
            yield _fault("settings", file, info, "other users can change it", "chmod go-w")
        elif secrets and info.st_mode & (_OTHERS | (_GROUP if _has_strangers(info.st_gid) else 0o020)):
            give = f"chgrp {group_name(os.getegid())} {file} && chmod 640"
            mend = "chmod 600" if info.st_uid == os.geteuid() else give
            yield _fault(secrets, file, info, "it has a secret that other users can read or change", mend)
    for folder in dict.fromkeys((*(file.parent for file in files), settings.feeds)):
        info = _stat(folder)
        if info is not None and not info.st_mode & stat.S_ISVTX and info.st_mode & _changing_rights(info):
            yield _fault("settings", folder, info, "other users can exchange what lies in it", "chmod go-w")


def _settings_files(settings: Settings, feeds: Iterable[str]) -> dict[Path, str]:
    """Return the files of settings, each with the keys of the secrets in it, "" for none."""
    secrets = ["operator.token"] if settings.operator.token else []
    secrets += ["store.url", "store.lock_url"] if settings.store.path is None else []
    of_file = {key for key, source in settings.sources.items() if source == str(settings.file)}
    keys = [key for key in secrets if key in of_file and settings.written[key]]
    files = {} if settings.file is None else {settings.file: ", ".join(keys)}
    if settings.operator.token_file is not None:
        files[settings.base / settings.operator.token_file] = "operator.token_file"
    return files | {settings.feeds / f"{name}.toml": "" for name in feeds}


def _changing_rights(info: os.stat_result) -> int:
    """Return the rights with which other users could write. A group that has this user alone may, as after the umask 002."""
    return _WRITE if _has_strangers(info.st_gid) else _WRITE & _OTHERS


def _drop_faults(drop: Path) -> Iterator[str]:
    info = _stat(drop)
    if drop.resolve() == Path(drop.anchor):
        yield f"drop.folder: {drop}: is the root of the file system; choose a folder for drops alone"
    elif info is not None and stat.S_ISDIR(info.st_mode) and _rights(drop, info) & _READ_OR_WRITE:
        yield _fault(
            "drop.folder", drop, info, "other users can list it or write in it", f"chmod {DROP_MODE:o}"
        )


def _feed_faults(folder: Path) -> Iterator[str]:
    info = _stat(folder)
    if info is None:
        return
    if _rights(folder, info) & _OTHERS:
        why = "users outside of its group can get in"
        yield _fault("drop.folder", folder, info, why, f"chmod {FEED_MODE:o}")
    if info.st_gid not in (os.getegid(), *os.getgroups()):
        group, user = group_name(info.st_gid), user_name(os.geteuid())
        why = f"syncd's user {user} is not in its group {group}, so partners cannot read their reports"
        yield f"drop.folder: {folder}: {why}: usermod -aG {group} {user}, then restart syncd"
    elif info.st_gid == os.getegid() and (strangers := _strangers(info.st_gid)):
        why = f"its group {group_name(info.st_gid)} is syncd's own, and {', '.join(strangers)} can use it"
        yield f"drop.folder: {folder}: {why}: syncd feed new {folder.name} --group GROUP"
    inner = _stat(claimed := folder / CLAIMED)
    if inner is not None and inner.st_mode & (_GROUP | _OTHERS):
        mend = f"chmod {INNER_MODES[CLAIMED]:o}"
        yield _fault("drop.folder", claimed, inner, "it is for syncd's user alone", mend)


def _fault(key: str, path: Path, info: os.stat_result, why: str, mend: str) -> str:
    return f"{key}: {path}: {why} (mode {stat.S_IMODE(info.st_mode):04o}): {mend} {path}"


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:  # it is missing, or other checks report it
        return None


def _rights(path: Path, info: os.stat_result) -> int:
    """Return the rights of the group and of others, without those of users who cannot get to ``path``."""
    above = [place.stat() for place in path.absolute().parents]
    rights = _OTHERS if all(place.st_mode & 0o001 for place in above) else 0
    lets_in = (place.st_mode & (0o010 if place.st_gid == info.st_gid else 0o001) for place in above)
    if _has_strangers(info.st_gid) and all(lets_in):
        rights |= _GROUP
    return info.st_mode & rights


def _has_strangers(gid: int) -> bool:
    return gid not in (0, os.getegid()) or bool(_strangers(gid))


def _strangers(gid: int) -> list[str]:
    """Return the other users who are in a group, sorted. Those in root's group count as root."""
    if gid == 0:
        return []
    users = {entry.pw_name for entry in pwd.getpwall() if entry.pw_gid == gid}
    with suppress(KeyError):
        users.update(grp.getgrgid(gid).gr_mem)
    return sorted(users - {"root", user_name(os.geteuid())})


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
