"""``syncd reload``."""

from __future__ import annotations

import sys
from pathlib import Path

from syncd.cli.output import DONE, FAILED, clean, print_result, remark
from syncd.cli.store_access import quiet_settings
from syncd.logs import journal_mark
from syncd.service import control


def reload(config: Path | None, as_json: bool) -> int:
    """Have the daemon read the feed files again, and say what is wrong with them. Return FAILED if a feed is degraded or all were
    kept as they were. Raises ConfigError, StoreError (no daemon answers), OSError."""
    done = control.ask_for_reload(quiet_settings(config))
    print_result(as_json, done, f"feeds: {', '.join(done.feeds) or 'none'}")
    mark = journal_mark("warning", sys.stderr)
    faults = [f"the feeds are as they were before: {fault}" for fault in done.faults]
    degraded = [f"{name} is degraded: {reason}" for name, reason in sorted(done.degraded.items())]
    for line in [*faults, *degraded]:
        remark(f"{mark}syncd: {clean(line)}")
    return FAILED if faults or degraded else DONE
