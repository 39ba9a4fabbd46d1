"""The groups of commands, as Typer reads them: their names, options and help. Annotations are values here, as in ``app``."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

import typer

from syncd.cli.options import (
    GROUP,
    Config,
    FeedArgument,
    File,
    Json,
    KeyId,
    Number,
    State,
    argument,
    command,
    time_option,
    time_span,
)

employers = typer.Typer(**GROUP, help="The employers that own jobs.")  # type: ignore[arg-type]
keys = typer.Typer(**GROUP, help="API keys.")  # type: ignore[arg-type]
feeds = typer.Typer(**GROUP, help="The configured feeds.")  # type: ignore[arg-type]
runs = typer.Typer(help="Runs: the result of each file.", rich_markup_mode=None)
store = typer.Typer(**GROUP, help="The store as a whole.")  # type: ignore[arg-type]
notifications = typer.Typer(**GROUP, help="Notifications by e-mail and webhook.")  # type: ignore[arg-type]


@command(employers, "add", "accounts.add_employer")
def employer_add(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False)],
    plan: Annotated[Literal["unlimited", "standard"], typer.Option(help="The job plan.")] = "unlimited",
) -> None:
    """Adds an employer. Auto-refresh takes effect on the plan unlimited only."""


@command(employers, "rename", "accounts.rename_employer")
def employer_rename(
    employer: Annotated[str, argument("EMPLOYER", "Name or id.")],
    name: Annotated[str, argument("NAME", "The new name.")],
) -> None:
    """Gives an employer another name. The files of its feeds have to name it, too."""


@command(employers, "list", "accounts.list_employers")
def employer_list() -> None:
    """Lists the employers."""


@command(keys, "create", "accounts.create_key")
def key_create(
    employer: Annotated[str, argument("EMPLOYER", "Name or id.")],
    label: Annotated[str, typer.Option(metavar="L", help="What the key is for.")] = "",
    expires: Annotated[
        timedelta | None, time_option("How long the key is valid, such as 90d. Default: for ever.")
    ] = None,
) -> None:
    """Creates a key and prints it. It is never shown again."""


@command(keys, "rotate", "accounts.rotate_key")
def key_rotate(
    key_id: KeyId,
    grace: Annotated[
        timedelta | None,
        time_option("How long the old key stays valid. 0: it ends now.", time_span, default="24h"),
    ] = None,
    expires: Annotated[
        timedelta | None, time_option("How long the new key is valid. Default: as long as the old one was.")
    ] = None,
) -> None:
    """Creates a successor of a key and prints it. Both are valid until the old one ends."""


@command(keys, "list", "accounts.list_keys")
def key_list() -> None:
    """Lists the keys by number. The keys themselves are not stored."""


@command(keys, "revoke", "accounts.revoke_key")
def key_revoke(key_id: KeyId) -> None:
    """Revokes a key: it is not valid from now on."""


@command(feeds, "list", "feeds.list_feeds")
def feed_list() -> None:
    """Lists the configured feeds and the last run of each."""


@command(feeds, "new", "feed_new.new_feed")
def feed_new(
    name: Annotated[str, argument("NAME", "The new feed's name.")],
    file: Annotated[Path, typer.Option("--from", metavar="FILE", help="A real file of the feed.")],
    employer: Annotated[
        str | None, typer.Option("--employer", metavar="E", help="Name or id. Default: the only employer.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of an existing feed.")] = False,
) -> None:
    """Drafts the file of a new feed, config/feeds.d/NAME.toml, from a real file."""


@command(feeds, "folder", "feed_folder.open_feed_folder")
def feed_folder(
    name: FeedArgument,
    group: Annotated[str, typer.Option("--group", metavar="G", help="The group of its partner.")],
) -> None:
    """Opens the feed's folder to the group of its partner, and to nobody else. Run it as root."""


@command(feeds, "pause", "feeds.pause_feed")
def feed_pause(
    name: FeedArgument,
    why: Annotated[str, typer.Option("--why", metavar="W", help="The reason, for others to see.")] = "",
) -> None:
    """Leaves the files of a feed lying until it is resumed."""


@command(feeds, "resume", "feeds.pause_feed", why=None)
def feed_resume(name: FeedArgument) -> None:
    """Has the files of a paused feed taken again."""


@command(feeds, "show", "feeds.show_feed")
def feed_show(name: FeedArgument) -> None:
    """Prints the mapping of a feed as it is in force, with the origin of each line."""


@command(feeds, "check", "feeds.check_file")
def feed_check(name: FeedArgument, file: File) -> None:
    """Lists each row of FILE that a run would reject, and why. Exit code 1 if there is one, else 0."""


@runs.callback(invoke_without_command=True)
def runs_list(
    context: typer.Context,
    *,
    feed: Annotated[
        str | None, typer.Option("--feed", metavar="NAME", help="Only runs of this feed.")
    ] = None,
    state: State = None,
    limit: Annotated[
        int, typer.Option(metavar="COUNT", help="The most runs to list.", min=1, max=10_000)
    ] = 20,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Lists the last runs. Subcommands show a run, or decide a held one."""
    if context.invoked_subcommand is None:
        from syncd.cli.runs import list_runs

        list_runs(config, as_json, feed, state, limit)


@command(runs, "show", "runs.show_run")
def runs_show(
    number: Number,
    changes: Annotated[
        bool, typer.Option("--changes", help="Show the changes alone, with the values before and after.")
    ] = False,
    page: Annotated[
        int, typer.Option(metavar="P", help="Which 1,000 of the changes --changes and --json show.", min=1)
    ] = 1,
) -> None:
    """Shows a run: counts, rejected rows, warnings, changes."""


@command(runs, "approve", "imports.decide_run", approved=True)
def runs_approve(number: Number) -> None:
    """Approves a held run: its waiting changes are made."""


@command(runs, "reject", "imports.decide_run", approved=False)
def runs_reject(number: Number) -> None:
    """Rejects a held run: its waiting changes are not made."""


@command(runs, "revert", "reverts.revert_run")
def runs_revert(
    number: Number,
    plan: Annotated[bool, typer.Option("--plan", help="Show what it would do, without doing it.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Revert without a question, also over the guard's limits.")
    ] = False,
    pause: Annotated[bool, typer.Option("--pause", help="Pause the feed too.")] = False,
) -> None:
    """Reverts a run: puts back what it changed and nobody changed since."""


@command(runs, "again", "imports.run_again")
def runs_again(number: Number) -> None:
    """Runs the kept file of a run once more, with today's mapping."""


@command(store, "copy", "store_moves.copy_store", common=("as_json",))
def store_copy(
    source: Annotated[str, argument("FROM", "The address of a store (store.url).")],
    target: Annotated[str, argument("TO", "The address of an empty store.")],
) -> None:
    """Copies a store into another one, such as SQLite into PostgreSQL, and verifies it. Stop the daemons first."""


@command(notifications, "test", "notify.try_notifications")
def notify_test() -> None:
    """Sends a test message to each receiver that is configured, and says what became of it."""
