"""The commands ``syncd store …`` with their options."""

from typing import Annotated

import typer

from syncd.cli.options import GROUP, Json

store = typer.Typer(**GROUP, help="The store as a whole.")  # type: ignore[arg-type]


@store.callback()
def about() -> None:
    """The store as a whole."""


@store.command("copy")
def store_copy(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="The address of a store (store.url).", show_default=False)
    ],
    target: Annotated[
        str, typer.Argument(metavar="TO", help="The address of an empty store.", show_default=False)
    ],
    as_json: Json = False,
) -> None:
    """Copies a store into another one, such as SQLite into PostgreSQL, and verifies it. Stop the daemons first."""
    from syncd.cli.store_copy import copy_store

    copy_store(source, target, as_json)
