"""The groups of commands, as Typer reads them: their names, options and help. What they do is in ``syncd.cli``."""

from syncd.cli.commands.account_commands import employers, keys
from syncd.cli.commands.feed_commands import feeds
from syncd.cli.commands.notify_commands import notifications
from syncd.cli.commands.run_commands import runs
from syncd.cli.commands.store_commands import store

__all__ = ["employers", "feeds", "keys", "notifications", "runs", "store"]
