"""The program, as Typer reads it: its commands with their parameters and help. The module with the work of a command is imported
when the command is called, so that ``syncd --help`` starts fast. Annotations are values, not texts that Typer has to evaluate."""

import signal
from pathlib import Path
from typing import Annotated, Literal

import typer

from syncd import __version__
from syncd.cli import options
from syncd.cli.grammar import Grammar
from syncd.cli.options import (
    Config,
    Parameter,
    State,
    argument,
    command,
    number_option,
    option,
    switch,
    time_option,
)

EXIT_CODES = (
    "Exit codes: 0 done; 1 failed, or an import of which no row went in; 2 the command line cannot be understood; 3 an import"
    " that is held, or something that needs a yes; 4 with plan --exit-code: something would change;"
    " 78 serve: the settings are wrong; 130 interrupted."
)
app = typer.Typer(
    cls=Grammar,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Job feeds become job postings.",
    epilog=EXIT_CODES,
)


def _group(name: str, about: str) -> typer.Typer:
    """Return a new group of commands. Without one it prints its help, or lists (see ``Grammar``)."""
    group = typer.Typer(cls=Grammar, help=about, no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(group, name=name)
    return group


employers = _group("employer", "The employers that own jobs. `syncd employers` lists them.")
keys = _group("key", "API keys. `syncd keys` lists them.")
feeds = _group("feed", "The configured feeds. `syncd feeds` lists them.")
runs = _group("runs", "Runs: the result of each file. `syncd runs` lists the last ones.")
jobs = _group("jobs", "The jobs of employers. `syncd jobs` lists them.")
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


# -- the service and its store ---------------------------------------------------------------------------------

command(app, "demo", "demo.demo", common=())(
    "Plays a try-out in a folder of its own. Three feeds become postings while you watch.",
    port=number_option("--port", "The port. Default: 8080, or the next free one.", "N", 65535),
    folder=option("--dir", "The folder of the try-out. Default: a new temporary one.", "D", Path),
    once=switch("--once", "Stop after the last run."),
)
command(app, "init", "installation.init", common=("as_json",))(
    "Makes an installation in a folder. It has settings, examples of feeds and a drop folder.",
    folder=argument("DIR", "The folder. It is made if it is missing.", Path, parser=options.named_path),
)


@app.command()
def serve(config: Config = None) -> int:
    """Runs the daemon: the API, the drop folder and the timers."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a reload that comes before there is anything to reload
    from syncd import logs
    from syncd.cli.output import WRONG_SETTINGS, complain
    from syncd.cli.store_access import become_owner
    from syncd.config import load_settings
    from syncd.errors import ConfigError
    from syncd.service import daemon

    try:
        settings = load_settings(config)
        become_owner(settings)
        logs.set_up(settings.log.format, settings.log.level)
        return daemon.serve(settings)
    except ConfigError as error:
        return complain("\n".join(error.faults), WRONG_SETTINGS)


command(app, "status", "daemon.status")(
    "Prints how things are. It names each feed that needs somebody, the clock, the disk and the store. Exit code 0: all is well."
)
command(app, "reload", "daemon.reload")(
    "Has the daemon read the files of feeds again. Exit code 1 if one is wrong; the others are renewed."
)
command(app, "check", "installation.check", common=("as_json",))(
    "Names all faults of the settings, rights, store and port.",
    config=Parameter(Config, None),
    sources=switch("--sources", "Ask the address of each [source] once, too."),
)
command(app, "backup", "store.backup")(
    "Writes a verified backup of the store. The daemon may run.",
    target=argument(
        "FILE|FOLDER",
        "The file, or a folder for a file with the time in its name.",
        Path,
        parser=options.file_or_folder,
    ),
    keep=number_option(
        "--keep", "Keep the newest N backups of the folder, and remove the others.", "N", 100_000
    ),
)
command(app, "restore", "store.restore")(
    "Puts a backup in the place of the store, which is kept. Stop the daemon first.",
    file=argument("FILE", "A backup.", Path, parser=options.named_path),
    yes=switch("--yes", "Restore without a question."),
)
command(store, "copy", "store.copy_store", common=("as_json",))(
    "Copies a store into an empty one, and verifies the copy. One can be SQLite, the other PostgreSQL. Stop the daemons first.",
    source=argument("FROM", "The address of a store (store.url)."),
    target=argument("TO", "The address of an empty store."),
)
command(notifications, "test", "daemon.try_notifications")(
    "Sends a test message to each receiver. It prints what became of each."
)

# -- files and jobs --------------------------------------------------------------------------------------------

command(app, "plan", "imports.plan")(
    "Shows the effect that a run of FILE, or of the file at URL, would have. Nothing is changed.",
    first=options.FILE_OR_URL,
    second=options.FEED,
    feed=options.OF_FEED,
    exit_code=switch("--exit-code", "Exit with 4 if something would change."),
)
command(app, "import", "imports.import_file")(
    "Imports FILE now. The daemon may run or not. FILE stays where it is.",
    first=options.FILE,
    second=options.FEED,
    feed=options.OF_FEED,
)
command(jobs, "list", "employers.list_jobs")(
    "Lists the jobs of an employer or a feed, the newest first.",
    employer=options.OF_EMPLOYER,
    feed=option("--feed", "Only jobs that this feed owns.", "NAME"),
    q=option("-q --q", "Only jobs with this text in title or referenceId.", "Q"),
    status=options.STATUS,
)
command(jobs, "show", "employers.show_job")(
    "A job with all its fields, and its history: who changed what, when, and through which run.",
    number=options.JOB,
    page=number_option("--page", "Which 100 of the changes.", "P", default=1),
)
command(app, "export", "employers.export")(
    "Writes an employer's jobs to a file. Jobs without a referenceId are left out, and counted.",
    employer=options.OF_EMPLOYER,
    form=option(
        "--format",
        "json, xml, csv: the service's own shape. jsonld: for search engines, active jobs only.",
        kind=Literal["json", "xml", "csv", "jsonld"],
        default=options.REQUIRED,
    ),
    target=option("-o --output", "The file to write. Default, or -: standard output.", "FILE", Path),
    spreadsheet=switch("--spreadsheet", "csv: put ' before a cell that a spreadsheet would run."),
    status=options.STATUS,
    as_json=switch("--json", "Print JSON about the file written."),
)

# -- employers and keys ----------------------------------------------------------------------------------------

command(employers, "add", "employers.add_employer")(
    "Adds an employer. Auto-refresh takes effect on the plan unlimited only.",
    name=argument("NAME"),
    plan=option("--plan", "The job plan.", kind=Literal["unlimited", "standard"], default="unlimited"),
)
command(employers, "rename", "employers.rename_employer")(
    "Gives an employer another name. The files of its feeds have to name it, too.",
    employer=options.EMPLOYER,
    name=argument("NAME", "The new name."),
)
command(employers, "close", "leaving.close_employer")(
    "Closes an employer that leaves: its feeds are removed, all its jobs archived and its keys revoked.",
    employer=options.EMPLOYER,
    yes=switch("--yes", "Close it without a question."),
)
command(employers, "list", "employers.list_employers")("Lists the employers.")
command(keys, "create", "employers.create_key")(
    "Creates a key and prints it. It is never shown again.",
    employer=options.EMPLOYER,
    label=option("--label", "What the key is for.", "L", default=""),
    expires=time_option("--expires", "How long the key is valid, such as 90d. Default: for ever."),
)
command(keys, "rotate", "employers.rotate_key")(
    "Creates a successor of a key and prints it. Both are valid until the old one ends.",
    key_id=options.KEY,
    grace=time_option("--grace", "How long the old key stays valid. 0: it ends now.", zero=True, shown="24h"),
    expires=time_option("--expires", "How long the new key is valid. Default: as long as the old one was."),
)
command(keys, "list", "employers.list_keys")("Lists the keys by number. The keys themselves are not stored.")
command(keys, "revoke", "employers.revoke_key")(
    "Revokes a key: it is not valid from now on.", key_id=options.KEY
)

# -- feeds -----------------------------------------------------------------------------------------------------

command(feeds, "list", "feeds.list_feeds")("Lists the configured feeds and the last run of each.")
command(feeds, "new", "feed_new.new_feed")(
    "Drafts a new feed from one of its files. The draft is config/feeds.d/NAME.toml.",
    name=argument("NAME", "The new feed's name."),
    file=option("--from", "A file of the feed, as the partner sends it, or its address.", "FILE|URL"),
    insecure_host=option("--insecure-host", "The host of URL. Its address may be a private one.", "H"),
    employer=option("--employer", "Name or id. Default: the only employer.", "E"),
    group=option(
        "--group",
        "The group of the partner, to which alone the feed's folder is opened; also of a feed that exists. As root.",
        "G",
    ),
    force=switch("--force", "Replace the file of an existing feed."),
)
command(feeds, "pause", "feeds.pause_feed")(
    "Leaves the files of a feed lying until it is resumed.",
    name=options.FEED_NAME,
    why=option("--why", "The reason, for others to see.", "W", default=""),
)
command(feeds, "resume", "feeds.pause_feed", why=None)(
    "Has the files of a paused feed taken again.", name=options.FEED_NAME
)
command(feeds, "fetch", "feeds.fetch_feed")(
    "Fetches the file of a feed from its [source] now. The daemon may run or not. Exit code 1 if the fetch fails.",
    name=options.FEED_NAME,
    dry=switch("--dry-run", "Show the file that would come, and keep nothing."),
)
command(feeds, "remove", "leaving.remove_feed")(
    "Removes a feed, and archives or keeps its jobs. Its file goes to feeds.d/removed/.",
    name=options.FEED_NAME,
    archive=option("--archive/--keep", "Archive its active jobs, or keep them live.", kind=bool),
    yes=switch("--yes", "Archive without a question."),
)
command(feeds, "show", "feeds.show_feed")(
    "Prints the mapping of a feed. Each line that is in force has its origin.", name=options.FEED_NAME
)
command(feeds, "sheet", "feeds.write_sheet")(
    "Writes the page that a partner gets before his first file: the columns with examples, and how a file is sent.",
    name=options.FEED_NAME,
    target=option("-o --output", "Default, or -: standard output.", "FILE", Path),
)
command(feeds, "check", "feeds.check_file")(
    "Lists each row of FILE that a run would reject, and why. Exit code 1 if there is one.",
    first=options.FEED_NAME,
    second=options.OTHER_FILE,
    feed=options.OF_FEED,
)

# -- runs ------------------------------------------------------------------------------------------------------


command(runs, "list", "runs.list_runs")(
    "Lists the last runs, the newest first.",
    feed=option("--feed", "Only runs of this feed.", "NAME"),
    state=Parameter(State, None),
    limit=number_option("--limit", "How many runs to list at most.", "COUNT", 10_000, default=20),
)
command(runs, "show", "runs.show_run")(
    "Shows a run: counts, rejected rows, warnings, changes.",
    number=options.RUN,
    changes=switch("--changes", "Show the changes alone, with the values before and after."),
    page=number_option(
        "--page", "The page of changes that --changes and --json show; a page has 1,000.", "P", default=1
    ),
)
command(runs, "approve", "imports.decide_run", approved=True)(
    "Approves a held run: its waiting changes are made.", number=options.RUN
)
command(runs, "rekey", "imports.rekey_run")(
    "For a run held because jobs have other ids in its file: they are kept and take the new ids; the rest goes in as usual.",
    number=options.RUN,
    yes=switch("--yes", "Do it without a question."),
)
command(runs, "reject", "imports.decide_run", approved=False)(
    "Rejects a run that is held or was cut off. Its waiting changes are not made.", number=options.RUN
)
command(runs, "revert", "imports.revert_run")(
    "Reverts a run. Values that it changed and nobody changed since are put back.",
    number=options.RUN,
    plan=switch("--plan", "Show the effect of the revert, and change nothing."),
    yes=switch("--yes", "Revert without a question, also over the guard's limits."),
    pause=switch("--pause", "Pause the feed too."),
)
command(runs, "again", "imports.run_again")(
    "Runs the kept file of a run once more. Today's mapping is used.", number=options.RUN
)
