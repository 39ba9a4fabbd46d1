"""``syncd serve``."""

from __future__ import annotations

import signal
from pathlib import Path

from syncd import logs
from syncd.cli.context import become_owner, settings_of


def serve(config: Path | None) -> int:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a reload that comes before there is anything to reload
    from syncd.service.daemon import serve

    settings = settings_of(config)
    become_owner(settings)
    logs.set_up(settings.log.format, settings.log.level)
    return serve(settings)
