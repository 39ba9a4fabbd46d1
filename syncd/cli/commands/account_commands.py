"""The commands ``syncd employer …`` and ``syncd key …`` with their options."""

from datetime import timedelta
from typing import Annotated, Literal

import typer

from syncd.cli.options import GROUP, Config, Json, KeyId, positive_time_span, time_span

employers = typer.Typer(**GROUP, help="The employers that own jobs.")  # type: ignore[arg-type]
keys = typer.Typer(**GROUP, help="API keys.")  # type: ignore[arg-type]


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
    employer: Annotated[str, typer.Argument(metavar="EMPLOYER", help="Name or id.", show_default=False)],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new name.", show_default=False)],
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
