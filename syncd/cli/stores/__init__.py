"""The commands for a store as a whole: ``syncd backup``, ``syncd restore`` and ``syncd migrate``."""

from syncd.cli.stores.backup import backup
from syncd.cli.stores.migrate import migrate
from syncd.cli.stores.restore import restore

__all__ = ["backup", "migrate", "restore"]
