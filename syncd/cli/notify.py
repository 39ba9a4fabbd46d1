"""``syncd notify test``."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from syncd.cli.output import DONE, FAILED, print_list
from syncd.config import Settings
from syncd.errors import ConfigError
from syncd.notify import try_all


def try_notifications(settings: Settings, as_json: bool) -> int:
    """Send a test message to each receiver and print what became of it. Return the exit code: 1 if one of them did not accept
    it. Raises ConfigError if nobody is to be notified."""
    if not (settings.notify.webhook or settings.notify.email_to):
        raise ConfigError(["nobody is notified: set notify.webhook or notify.email_to"])
    found = asyncio.run(try_all(settings))
    rows = [(trial.way, trial.to, "sent" if trial.sent else "failed", trial.answer) for trial in found]
    print_list(as_json, [asdict(trial) for trial in found], ("way", "to", "result", "answer"), rows, "")
    return DONE if all(trial.sent for trial in found) else FAILED
