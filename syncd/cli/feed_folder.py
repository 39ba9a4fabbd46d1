"""``syncd feed folder``."""

from __future__ import annotations

import grp
import os
from pathlib import Path

from syncd.cli.output import print_list, remark
from syncd.cli.store_access import acting_as, owner_ids
from syncd.config import Settings
from syncd.errors import ConfigError, NotFound
from syncd.near_names import near_names
from syncd.service import configured_feeds, exposure, stores
from syncd.sync.arrival import FolderRights, open_to_group


def open_feed_folder(settings: Settings, as_json: bool, name: str, group: str) -> None:
    """Open the folder of a feed to a group. Raises NotFound (the feed, the group), ConfigError (not root, a group that is not
    the partner's alone), UnusableFolder, OSError."""
    configured_feeds.feed_file(settings, stores.catalogue_of(None, settings), name)
    found = _group(group)
    if os.geteuid() != 0:
        raise ConfigError(["only root can give a folder to a group: run this command as root"])
    owner = owner_ids(settings)
    if found.gr_gid in (0, owner[1]):
        why = f"the group {found.gr_name} is that of syncd's user, so it has the folders of all feeds"
        raise ConfigError([f"{why}; make one for the partner: groupadd feed-{name}"])
    folder = settings.drop.folder / name
    opened = open_to_group(folder, found.gr_gid, owner, lambda: acting_as(owner))
    rows = [_row(rights) for rights in opened]
    folders = [{"path": str(path), "mode": mode, "group": group} for path, mode, group in rows]
    shown = {"feed": name, "group": found.gr_name, "folders": folders}
    print_list(as_json, shown, ("folder", "mode", "group"), rows, "")
    _remark_on_members(owner, found)


def _group(name: str) -> grp.struct_group:
    """Return the group with this name or number. Raises NotFound with the nearest name."""
    try:
        return grp.getgrgid(int(name)) if name.isdecimal() else grp.getgrnam(name)
    except (KeyError, OverflowError):
        near = near_names(name, (entry.gr_name for entry in grp.getgrall()))
        hint = f"did you mean {near[0]}? " if near else ""
        raise NotFound("group", name, f"{hint}groupadd makes one") from None


def _remark_on_members(owner: tuple[int, int], group: grp.struct_group) -> None:
    """Say on standard error if the daemon could not give its reports to the group."""
    user = exposure.user_name(owner[0])
    if owner[0] != 0 and group.gr_gid not in os.getgrouplist(user, owner[1]):
        remark(
            f"syncd's user {user} is not in the group {group.gr_name}, so partners could not read their reports:"
            f" usermod -aG {group.gr_name} {user}, then restart syncd"
        )


def _row(rights: FolderRights) -> tuple[Path, str, str | None]:
    group = exposure.group_name(rights.gid) if rights.gid is not None else None
    return rights.path, f"{rights.mode:04o}", group
