"""The program: its commands with their options; those in groups are in ``groups``. The module that does the work of a command is
imported when the command is called, so that ``syncd --help`` starts fast. Annotations are values here, not texts that typer has
to evaluate at each start."""

import signal
from pathlib import Path
from typing import Annotated, Literal

import typer

from syncd import __version__
from syncd.cli.groups import employers, feeds, keys, notifications, runs, store
from syncd.cli.options import (
    GROUP,
    Config,
    Employer,
    FeedName,
    File,
    Status,
    argument,
    command,
    named_path,
)

EXIT_CODES = (
    "Exit codes: 0 done; 1 failed; 2 the command line cannot be understood; 3 an import that is held, or something that"
    " needs a yes; 4 with plan --exit-code: something would change; 130 interrupted."
)
app = typer.Typer(
    **GROUP,  # type: ignore[arg-type]
    pretty_exceptions_enable=False,
    help="Job feeds become job postings.",
    epilog=EXIT_CODES,
)
app.add_typer(employers, name="employer")
app.add_typer(keys, name="key")
app.add_typer(feeds, name="feed")
app.add_typer(runs, name="runs")
app.add_typer(store, name="store")
app.add_typer(notifications, name="notify")


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


@command(app, "init", "init.init", common=("as_json",))
def init(folder: Annotated[Path, argument("DIR", "Made if it is missing.", named_path)]) -> None:
    """Makes a complete installation in a folder: settings, examples of feeds, drop folder."""


@app.command()
def serve(config: Config = None) -> int:
    """Runs the daemon: API, drop folder and auto-refresh in one process."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a reload that comes before there is anything to reload
    from syncd import logs
    from syncd.cli.store_access import become_owner
    from syncd.config import load_settings
    from syncd.service import daemon, observability

    settings = load_settings(config)
    become_owner(settings)
    with observability.observing(settings) as observers:
        logs.set_up(settings.log.format, settings.log.level, observers=observers)
        return daemon.serve(settings)


@command(app, "reload", "reload.reload")
def reload() -> None:
    """Has the daemon read the files of feeds again. Exit code 1 if one is wrong; the others are renewed."""


@command(app, "check", "check.check")
def check() -> None:
    """Checks configuration, rights, store and port; lists all that is wrong."""


@command(app, "backup", "store_backups.backup")
def backup(
    target: Annotated[Path, argument("FILE|FOLDER", "In a folder it gets a name with the time.", named_path)],
    keep: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Then remove the oldest backups of the folder but N.", min=1, max=100_000
        ),
    ] = None,
) -> None:
    """Writes a verified backup of the store, also beside a running daemon."""


@command(app, "restore", "store_backups.restore")
def restore(
    file: Annotated[Path, argument("FILE", "A backup.", named_path)],
    yes: Annotated[bool, typer.Option("--yes", help="Restore without a question.")] = False,
) -> None:
    """Puts a backup in the place of the store, which is kept. Stop the daemon first."""


@command(app, "migrate", "store_moves.migrate")
def migrate(
    plan: Annotated[bool, typer.Option("--plan", help="Show what it would do, without doing it.")] = False,
) -> None:
    """Backs the store up and brings it to the schema of this program, which serve does too, without a backup."""


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


@command(app, "export", "jobs.export", common=())
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
) -> None:
    """Writes an employer's jobs as a feed, and says how many have no referenceId and are left out."""
