"""The commands ``syncd runs …`` with their options."""

from typing import Annotated

import typer

from syncd.cli.options import Config, Json, Number, State

runs = typer.Typer(help="Runs: the result of each file.", rich_markup_mode=None)


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
