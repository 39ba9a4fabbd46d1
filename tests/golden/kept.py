"""The installation that version 0.1.0 made of the story, kept as it was: settings, feeds, files, store.

It is made once, by the version whose name it bears, and never again: what it proves is that a later version goes on
from there."""

from __future__ import annotations

import json
import tarfile
from datetime import datetime
from pathlib import Path

from tests.golden.doors import Clock, Installation
from tests.golden.golden import DATA
from tests.golden.story import Story

KEPT = DATA / "installation-0.1.0.tar.xz"
#: Beside the settings: the keys of its employers, and when the story ended.
_MADE = "made.json"


def keep(story: Story) -> None:
    """Write it, where there is none yet."""
    if KEPT.exists():
        return
    made = {"keys": story.keys, "now": story.clock.now.isoformat()}
    (story.base / _MADE).write_text(json.dumps(made))
    with tarfile.open(KEPT, "w:xz", preset=9) as archive:
        for name in (_MADE, "config", "feeds", "inputs", "var"):
            archive.add(story.base / name, name, filter=_anonymous)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def unpack(base: Path) -> Story:
    """The story as 0.1.0 left it, in a folder of its own."""
    with tarfile.open(KEPT) as archive:
        archive.extractall(base, filter="data")
    made = json.loads((base / _MADE).read_text())
    return Story(Installation(base, Clock(datetime.fromisoformat(made["now"]))), made["keys"])
