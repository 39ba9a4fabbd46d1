"""The commands ``syncd notify …`` with their options."""

import typer

from syncd.cli.options import GROUP, Config, Json

notifications = typer.Typer(**GROUP, help="Notifications by e-mail and webhook.")  # type: ignore[arg-type]


@notifications.command("test")
def notify_test(config: Config = None, as_json: Json = False) -> int:
    """Sends a test message to each receiver that is configured, and says what became of it."""
    from syncd.cli.notify import try_notifications

    return try_notifications(config, as_json)
