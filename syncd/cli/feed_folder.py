"""``syncd feed new --group``: the folder of a feed is opened to the group of its partner."""

from __future__ import annotations

import grp
import os
from pathlib import Path

from syncd.cli.output import remark
from syncd.cli.store_access import acting_as, owner_ids
from syncd.config import Settings
from syncd.errors import ConfigError, NotFound
from syncd.near_names import near_names
from syncd.service import exposure
from syncd.sync.arrival import open_to_group


def partner_group(settings: Settings, feed: str, name: str) -> grp.struct_group:
    """Return the group with this name or number. Raises NotFound with the nearest name, ConfigError (not root, a group that is
    not the partner's alone)."""
    try:
        group = grp.getgrgid(int(name)) if name.isdecimal() else grp.getgrnam(name)
    except (KeyError, OverflowError):
        near = near_names(name, (entry.gr_name for entry in grp.getgrall()))
        hint = f"did you mean {near[0]}? " if near else ""
        raise NotFound("group", name, f"{hint}groupadd makes one") from None
    if os.geteuid() != 0:
        raise ConfigError(["only root can give a folder to a group: run this command as root"])
    if group.gr_gid in (0, owner_ids(settings)[1]):
        why = f"the group {group.gr_name} is that of syncd's user, so it has the folders of all feeds"
        raise ConfigError([f"{why}; make one for the partner: groupadd feed-{feed}"])
    return group


def open_folder(settings: Settings, feed: str, group: grp.struct_group) -> list[tuple[Path, str, str | None]]:
    """Open the folder of a feed to a group; return each folder with its mode and its group. Say on standard error if the daemon
    could not give its reports to the group. Raises UnusableFolder, OSError."""
    owner = owner_ids(settings)
    opened = open_to_group(settings.drop.folder / feed, group.gr_gid, owner, lambda: acting_as(owner))
    user = exposure.user_name(owner[0])
    if owner[0] != 0 and group.gr_gid not in os.getgrouplist(user, owner[1]):
        remark(
            f"syncd's user {user} is not in the group {group.gr_name}, so partners could not read their reports:"
            f" usermod -aG {group.gr_name} {user}, then restart syncd"
        )
    return [
        (rights.path, f"{rights.mode:04o}", None if rights.gid is None else exposure.group_name(rights.gid))
        for rights in opened
    ]
