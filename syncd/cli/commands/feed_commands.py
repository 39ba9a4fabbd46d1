"""The commands ``syncd feed …`` with their options."""

from pathlib import Path
from typing import Annotated

import typer

from syncd.cli.options import GROUP, Config, FeedArgument, File, Json

feeds = typer.Typer(**GROUP, help="The configured feeds.")  # type: ignore[arg-type]


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
