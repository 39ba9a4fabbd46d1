"""The groups of commands, as Typer reads them: their names, options and help. What they do is in other modules, each imported
when one of its commands is called. Annotations are values here, as in ``app``."""

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
    time_option,
    time_span,
)

employers = typer.Typer(**GROUP, help="The employers that own jobs.")  # type: ignore[arg-type]
keys = typer.Typer(**GROUP, help="API keys.")  # type: ignore[arg-type]
feeds = typer.Typer(**GROUP, help="The configured feeds.")  # type: ignore[arg-type]
runs = typer.Typer(help="Runs: the result of each file.", rich_markup_mode=None)
store = typer.Typer(**GROUP, help="The store as a whole.")  # type: ignore[arg-type]
notifications = typer.Typer(**GROUP, help="Notifications by e-mail and webhook.")  # type: ignore[arg-type]


@employers.command("add")
def employer_add(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False)],
    plan: Annotated[Literal["unlimited", "standard"], typer.Option(help="The job plan.")] = "unlimited",
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Adds an employer. Auto-refresh takes effect on the plan unlimited only."""
    from syncd.cli.accounts import add_employer

    add_employer(config, as_json, name, plan)


@employers.command("rename")
def employer_rename(
    employer: Annotated[str, argument("EMPLOYER", "Name or id.")],
    name: Annotated[str, argument("NAME", "The new name.")],
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Gives an employer another name. The files of its feeds have to name it, too."""
    from syncd.cli.accounts import rename_employer

    rename_employer(config, as_json, employer, name)


@employers.command("list")
def employer_list(config: Config = None, as_json: Json = False) -> None:
    """Lists the employers."""
    from syncd.cli.accounts import list_employers

    list_employers(config, as_json)


@keys.command("create")
def key_create(
    employer: Annotated[str, argument("EMPLOYER", "Name or id.")],
    label: Annotated[str, typer.Option(metavar="L", help="What the key is for.")] = "",
    expires: Annotated[
        timedelta | None, time_option("How long the key is valid, such as 90d. Default: for ever.")
    ] = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Creates a key and prints it. It is never shown again."""
    from syncd.cli.accounts import create_key

    create_key(config, as_json, employer, label, expires)


@keys.command("rotate")
def key_rotate(
    key_id: KeyId,
    grace: Annotated[
        timedelta | None,
        time_option("How long the old key stays valid. 0: it ends now.", time_span, default="24h"),
    ] = None,
    expires: Annotated[
        timedelta | None, time_option("How long the new key is valid. Default: as long as the old one was.")
    ] = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Creates a successor of a key and prints it. Both are valid until the old one ends."""
    from syncd.cli.accounts import rotate_key

    rotate_key(config, as_json, key_id, grace, expires)


@keys.command("list")
def key_list(config: Config = None, as_json: Json = False) -> None:
    """Lists the keys by number. The keys themselves are not stored."""
    from syncd.cli.accounts import list_keys

    list_keys(config, as_json)


@keys.command("revoke")
def key_revoke(key_id: KeyId, config: Config = None, as_json: Json = False) -> None:
    """Revokes a key: it is not valid from now on."""
    from syncd.cli.accounts import revoke_key

    revoke_key(config, as_json, key_id)


@feeds.command("list")
def feed_list(config: Config = None, as_json: Json = False) -> None:
    """Lists the configured feeds and the last run of each."""
    from syncd.cli.feeds import list_feeds

    list_feeds(config, as_json)


@feeds.command("new")
def feed_new(
    *,
    name: Annotated[str, argument("NAME", "The new feed's name.")],
    file: Annotated[Path, typer.Option("--from", metavar="FILE", help="A real file of the feed.")],
    employer: Annotated[
        str | None, typer.Option("--employer", metavar="E", help="Name or id. Default: the only employer.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of an existing feed.")] = False,
    config: Config = None,
    as_json: Json = False,
) -> int:
    """Drafts the file of a new feed, config/feeds.d/NAME.toml, from a real file."""
    from syncd.cli.feed_new import new_feed

    return new_feed(config, as_json, name=name, file=file, employer=employer, force=force)


@feeds.command("folder")
def feed_folder(
    name: FeedArgument,
    group: Annotated[str, typer.Option("--group", metavar="G", help="The group of its partner.")],
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Opens the feed's folder to the group of its partner, and to nobody else. Run it as root."""
    from syncd.cli.feed_folder import open_feed_folder

    open_feed_folder(config, as_json, name, group)


@feeds.command("pause")
def feed_pause(
    name: FeedArgument,
    why: Annotated[str, typer.Option("--why", metavar="W", help="The reason, for others to see.")] = "",
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Leaves the files of a feed lying until it is resumed."""
    from syncd.cli.feeds import pause_feed

    pause_feed(config, as_json, name, why)


@feeds.command("resume")
def feed_resume(name: FeedArgument, config: Config = None, as_json: Json = False) -> None:
    """Has the files of a paused feed taken again."""
    from syncd.cli.feeds import pause_feed

    pause_feed(config, as_json, name, None)


@feeds.command("show")
def feed_show(name: FeedArgument, config: Config = None, as_json: Json = False) -> None:
    """Prints the mapping of a feed as it is in force, with the origin of each line."""
    from syncd.cli.feeds import show_feed

    show_feed(config, as_json, name)


@feeds.command("check")
def feed_check(
    name: FeedArgument,
    file: File,
    config: Config = None,
    as_json: Json = False,
) -> int:
    """Lists each row of FILE that a run would reject, and why. Exit code 1 if there is one, else 0."""
    from syncd.cli.feeds import check_file

    return check_file(config, as_json, name, file)


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


@runs.command("show")
def runs_show(
    *,
    number: Number,
    changes: Annotated[
        bool, typer.Option("--changes", help="Show the changes alone, with the values before and after.")
    ] = False,
    page: Annotated[
        int, typer.Option(metavar="P", help="Which 1,000 of the changes --changes and --json show.", min=1)
    ] = 1,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Shows a run: counts, rejected rows, warnings, changes."""
    from syncd.cli.runs import show_run

    show_run(config, as_json, number, changes=changes, page=page)


@runs.command("approve")
def runs_approve(number: Number, config: Config = None, as_json: Json = False) -> int:
    """Approves a held run: its waiting changes are made."""
    from syncd.cli.imports import decide_run

    return decide_run(config, as_json, number, approved=True)


@runs.command("reject")
def runs_reject(number: Number, config: Config = None, as_json: Json = False) -> int:
    """Rejects a held run: its waiting changes are not made."""
    from syncd.cli.imports import decide_run

    return decide_run(config, as_json, number, approved=False)


@runs.command("revert")
def runs_revert(
    *,
    number: Number,
    plan: Annotated[bool, typer.Option("--plan", help="Show what it would do, without doing it.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Revert without a question, also over the guard's limits.")
    ] = False,
    pause: Annotated[bool, typer.Option("--pause", help="Pause the feed too.")] = False,
    config: Config = None,
    as_json: Json = False,
) -> int:
    """Reverts a run: puts back what it changed and nobody changed since."""
    from syncd.cli.reverts import revert_run

    return revert_run(config, as_json, number, plan=plan, yes=yes, pause=pause)


@runs.command("again")
def runs_again(number: Number, config: Config = None, as_json: Json = False) -> int:
    """Runs the kept file of a run once more, with today's mapping."""
    from syncd.cli.imports import run_again

    return run_again(config, as_json, number)


@store.command("copy")
def store_copy(
    source: Annotated[str, argument("FROM", "The address of a store (store.url).")],
    target: Annotated[str, argument("TO", "The address of an empty store.")],
    as_json: Json = False,
) -> None:
    """Copies a store into another one, such as SQLite into PostgreSQL, and verifies it. Stop the daemons first."""
    from syncd.cli.store_moves import copy_store

    copy_store(source, target, as_json)


@notifications.command("test")
def notify_test(config: Config = None, as_json: Json = False) -> int:
    """Sends a test message to each receiver that is configured, and says what became of it."""
    from syncd.cli.notify import try_notifications

    return try_notifications(config, as_json)
