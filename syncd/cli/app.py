"""The program, as Typer reads it: its commands with their options and help. The module with the work of a command is imported
when the command is called, so that ``syncd --help`` starts fast. Annotations are values, not texts that typer has to evaluate."""

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
    State,
    Status,
    argument,
    command,
    file_or_folder,
    named_path,
    settings_of,
    time_option,
)

EXIT_CODES = (
    "Exit codes: 0 done; 1 failed; 2 the command line cannot be understood; 3 an import that is held, or something that"
    " needs a yes; 4 with plan --exit-code: something would change; 130 interrupted."
)
app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Job feeds become job postings.",
    epilog=EXIT_CODES,
)


def _group(name: str, about: str, *, no_args_is_help: bool = True) -> typer.Typer:
    """Return a new group of commands. ``no_args_is_help``: without a command it prints its help."""
    group = typer.Typer(help=about, no_args_is_help=no_args_is_help, rich_markup_mode=None)
    app.add_typer(group, name=name)
    return group


employers = _group("employer", "The employers that own jobs.")
keys = _group("key", "API keys.")
feeds = _group("feed", "The configured feeds.")
runs = _group("runs", "Runs: the result of each file.", no_args_is_help=False)
store = _group("store", "The store as a whole.")
notifications = _group("notify", "Notifications by e-mail and webhook.")


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


@command(app, "demo", "demo.demo", common=())
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


@command(app, "init", "installation.init", common=("as_json",))
def init(folder: Annotated[Path, argument("DIR", "Made if it is missing.", named_path)]) -> None:
    """Makes a complete installation in a folder: settings, examples of feeds, drop folder."""


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


@command(app, "reload", "daemon.reload")
def reload() -> None:
    """Has the daemon read the files of feeds again. Exit code 1 if one is wrong; the others are renewed."""


@command(app, "check", "installation.check", common=("as_json",))
def check(config: Config = None) -> None:
    """Checks configuration, rights, store and port; lists all that is wrong."""


@command(app, "backup", "store.backup")
def backup(
    target: Annotated[
        Path, argument("FILE|FOLDER", "In a folder it gets a name with the time.", file_or_folder)
    ],
    keep: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Then remove the oldest backups of the folder but N.", min=1, max=100_000
        ),
    ] = None,
) -> None:
    """Writes a verified backup of the store, also beside a running daemon."""


@command(app, "restore", "store.restore")
def restore(
    file: Annotated[Path, argument("FILE", "A backup.", named_path)],
    yes: Annotated[bool, typer.Option("--yes", help="Restore without a question.")] = False,
) -> None:
    """Puts a backup in the place of the store, which is kept. Stop the daemon first."""


@command(app, "plan", "imports.plan")
def plan(
    file: File,
    name: FeedName,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit 4 if something would change.")] = False,
) -> None:
    """Shows what a run of FILE would do, without doing it."""


@command(app, "import", "imports.import_file")
def import_(file: File, name: FeedName) -> None:
    """Imports FILE now, with or without the daemon. FILE stays where it is."""


@command(app, "jobs", "jobs.list_jobs")
def jobs(
    employer: Employer,
    q: Annotated[str | None, typer.Option("-q", "--q", metavar="Q", help="In title or referenceId.")] = None,
    status: Status = None,
) -> None:
    """Lists an employer's jobs, the newest first."""


@command(app, "export", "jobs.export")
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
    spreadsheet: Annotated[
        bool, typer.Option("--spreadsheet", help="csv: put ' before a cell that a spreadsheet would run.")
    ] = False,
    status: Status = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON about the file written.")] = False,
) -> None:
    """Writes an employer's jobs as a feed, and says how many have no referenceId and are left out."""


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
        time_option("How long the old key stays valid. 0: it ends now.", zero=True, default="24h"),
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
    file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="A real file of the feed.")
    ] = None,
    employer: Annotated[
        str | None, typer.Option("--employer", metavar="E", help="Name or id. Default: the only employer.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="G",
            help="Open its folder to this group of the partner, and to nobody else; also of a feed that exists. As root.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of an existing feed.")] = False,
) -> None:
    """Drafts the file of a new feed, config/feeds.d/NAME.toml, from a real file."""


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

        list_runs(settings_of(config), as_json, feed, state, limit)


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
    """Rejects a run that is held, or was cut off: its waiting changes are not made."""


@command(runs, "revert", "imports.revert_run")
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


@command(store, "copy", "store.copy_store", common=("as_json",))
def store_copy(
    source: Annotated[str, argument("FROM", "The address of a store (store.url).")],
    target: Annotated[str, argument("TO", "The address of an empty store.")],
) -> None:
    """Copies a store into another one, such as SQLite into PostgreSQL, and verifies it. Stop the daemons first."""


@command(notifications, "test", "daemon.try_notifications")
def notify_test() -> None:
    """Sends a test message to each receiver that is configured, and says what became of it."""
