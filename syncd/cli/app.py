"""All commands with their options. The module that does the work of a command is imported when the command is called,
so that ``syncd --help`` starts fast. Annotations are values here, not texts that typer has to evaluate at each start."""

import signal
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

import typer

from syncd import __version__
from syncd.cli.options import (
    Config,
    Employer,
    FeedArgument,
    FeedName,
    File,
    Json,
    KeyId,
    Number,
    Status,
    positive_time_span,
    time_span,
)

OPTIONS = {"no_args_is_help": True, "rich_markup_mode": None}
EXIT_CODES = (
    "Exit codes: 0 done; 1 failed; 2 the command line cannot be understood; 3 an import that is held, or something that"
    " needs a yes; 4 with plan --exit-code: something would change; 130 interrupted."
)
app = typer.Typer(
    **OPTIONS,  # type: ignore[arg-type]
    pretty_exceptions_enable=False,
    help="Job feeds become job postings.",
    epilog=EXIT_CODES,
)
employers = typer.Typer(**OPTIONS, help="The employers that own jobs.")  # type: ignore[arg-type]
keys = typer.Typer(**OPTIONS, help="API keys.")  # type: ignore[arg-type]
feeds = typer.Typer(**OPTIONS, help="The configured feeds.")  # type: ignore[arg-type]
runs = typer.Typer(help="Runs: the result of each file.", rich_markup_mode=None)
app.add_typer(employers, name="employer")
app.add_typer(keys, name="key")
app.add_typer(feeds, name="feed")
app.add_typer(runs, name="runs")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"syncd {__version__}")
        raise typer.Exit


@app.callback()
def common(
    config: Config = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Turns a folder of job feeds into live job postings and serves the job-posting HTTP API 1.1."""


@app.command()
def demo(
    port: Annotated[
        int | None, typer.Option(help="Default: 8080, or the next free port.", min=1, max=65535)
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--dir", metavar="D", help="Its folder. Default: a new temporary folder.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Stop after the last run.")] = False,
) -> None:
    """A try-out in a folder of its own: three feeds become postings while you watch."""
    from syncd.cli.demo import demo

    demo(port=port, folder=folder, once=once)


@app.command()
def serve(config: Config = None) -> int:
    """Runs the daemon: API, drop folder and auto-refresh in one process."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a reload that comes before there is anything to reload
    from syncd import logs
    from syncd.cli.store_access import become_owner
    from syncd.config import load_settings
    from syncd.service import daemon

    settings = load_settings(config)
    become_owner(settings)
    logs.set_up(settings.log.format, settings.log.level)
    return daemon.serve(settings)


@app.command()
def check(config: Config = None, as_json: Json = False) -> int:
    """Checks configuration, rights, store and port; lists all that is wrong."""
    from syncd.cli.check import check

    return check(config, as_json)


@app.command()
def backup(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|FOLDER", help="In a folder it gets a name with the time.", show_default=False
        ),
    ],
    keep: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Then remove the oldest backups of the folder but N.", min=1, max=100_000
        ),
    ] = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Writes a verified backup of the store, also beside a running daemon."""
    from syncd.cli.stores import backup

    backup(config, as_json, target, keep)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", help="Restore without a question.")] = False,
    config: Config = None,
    as_json: Json = False,
) -> int:
    """Puts a backup in the place of the store, which is kept. Stop the daemon first."""
    from syncd.cli.stores import restore

    return restore(config, as_json, file, yes)


@app.command()
def migrate(
    plan: Annotated[bool, typer.Option("--plan", help="Show what it would do, without doing it.")] = False,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Backs the store up and brings it to the schema of this program, which serve does too, without a backup."""
    from syncd.cli.stores import migrate

    migrate(config, as_json, plan=plan)


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


@employers.command("list")
def employer_list(config: Config = None, as_json: Json = False) -> None:
    """Lists the employers."""
    from syncd.cli.accounts import list_employers

    list_employers(config, as_json)


@keys.command("create")
def key_create(
    employer: Annotated[str, typer.Argument(metavar="EMPLOYER", help="Name or id.", show_default=False)],
    label: Annotated[str, typer.Option(metavar="L", help="What the key is for.")] = "",
    expires: Annotated[
        timedelta | None,
        typer.Option(
            metavar="TIME",
            parser=positive_time_span,
            help="How long the key is valid, such as 90d. Default: for ever.",
        ),
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
        typer.Option(
            metavar="TIME",
            parser=time_span,
            help="How long the old key stays valid. 0: it ends now.",
            show_default="24h",
        ),
    ] = None,
    expires: Annotated[
        timedelta | None,
        typer.Option(
            metavar="TIME",
            parser=positive_time_span,
            help="How long the new key is valid. Default: as long as the old one was.",
        ),
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
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new feed's name.", show_default=False)],
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
    name: Annotated[str, typer.Argument(metavar="NAME", help="The feed.", show_default=False)],
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
    name: Annotated[str, typer.Argument(metavar="NAME", help="The feed.", show_default=False)],
    file: File,
    config: Config = None,
    as_json: Json = False,
) -> int:
    """Lists each row of FILE that a run would reject, and why. Exit code 1 if there is one, else 0."""
    from syncd.cli.feeds import check_file

    return check_file(config, as_json, name, file)


@app.command()
def plan(
    file: File,
    feed: FeedName,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit 4 if something would change.")] = False,
    config: Config = None,
    as_json: Json = False,
) -> int:
    """Shows what a run of FILE would do, without doing it."""
    from syncd.cli.imports import plan

    return plan(config, as_json, file, feed, exit_code)


@app.command("import")
def import_(file: File, feed: FeedName, config: Config = None, as_json: Json = False) -> int:
    """Imports FILE now, with or without the daemon. FILE stays where it is."""
    from syncd.cli.imports import import_file

    return import_file(config, as_json, file, feed)


@runs.callback(invoke_without_command=True)
def runs_list(
    context: typer.Context,
    feed: Annotated[
        str | None, typer.Option("--feed", metavar="NAME", help="Only runs of this feed.")
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="COUNT", help="The most runs to list.", min=1, max=10_000)
    ] = 20,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Lists the last runs. Subcommands show a run, or decide a held one."""
    if context.invoked_subcommand is None:
        from syncd.cli.runs import list_runs

        list_runs(config, as_json, feed, limit)


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


@app.command()
def jobs(
    employer: Employer,
    q: Annotated[str | None, typer.Option("-q", "--q", metavar="Q", help="In title or referenceId.")] = None,
    status: Status = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Lists an employer's jobs, the newest first."""
    from syncd.cli.jobs import list_jobs

    list_jobs(config, as_json, employer, q, status)


@app.command()
def export(
    *,
    employer: Employer,
    form: Annotated[
        Literal["json", "xml", "csv", "jsonld", "indeed"],
        typer.Option(
            "--format", help="json, xml, csv: the service's own shape. The others: active jobs only."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Default, or -: standard output.")
    ] = None,
    status: Status = None,
    config: Config = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON about the file written.")] = False,
) -> int:
    """Writes an employer's jobs as a feed, and says how many have no referenceId and are left out."""
    from syncd.cli.jobs import export

    return export(config, as_json, employer=employer, form=form, status=status, output=output)
