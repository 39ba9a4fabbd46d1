"""The installation that version 0.1.0 made by running the scenario: settings, feeds, files and store.

It was written once, by that version, and is never written again. It proves that a later version can continue from it."""

import json
import tarfile
from datetime import datetime
from pathlib import Path

from tests.golden.doors import Clock, Installation
from tests.golden.golden import DATA
from tests.golden.scenario import Scenario

KEPT = DATA / "installation-0.1.0.tar.xz"
#: The API keys, and the time at which the scenario ended.
_MADE = "made.json"


def keep(scenario: Scenario) -> None:
    """Write the archive unless it exists."""
    if KEPT.exists():
        return
    made = {"keys": scenario.keys, "now": scenario.clock.now.isoformat()}
    (scenario.base / _MADE).write_text(json.dumps(made))
    with tarfile.open(KEPT, "w:xz", preset=9) as archive:
        for name in (_MADE, "config", "feeds", "inputs", "var"):
            archive.add(scenario.base / name, name, filter=_anonymous)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def unpack(base: Path) -> Scenario:
    """Return the scenario as version 0.1.0 left it, unpacked under ``base``."""
    with tarfile.open(KEPT) as archive:
        archive.extractall(base, filter="data")
    # What `syncd check` asks for: version 0.1.0 made a store that all users can read, and the filter drops folders' rights.
    (base / "var" / "syncd.db").chmod(0o600)
    for claimed in (base / "feeds" / "drop").glob("*/.claimed"):
        claimed.chmod(0o700)
    made = json.loads((base / _MADE).read_text())
    return Scenario(Installation(base, Clock(datetime.fromisoformat(made["now"]))), made["keys"])
