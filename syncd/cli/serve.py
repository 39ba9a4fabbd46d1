"""``syncd serve``."""

from __future__ import annotations

import signal
from pathlib import Path


def serve(config: Path | None) -> int:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a reload that comes before there is anything to reload
    from syncd import logs
    from syncd.cli.store_access import become_owner
    from syncd.config import load_settings
    from syncd.service import daemon

    settings = load_settings(config)
    become_owner(settings)
    logs.set_up(settings.log.format, settings.log.level)
    return daemon.serve(settings)
