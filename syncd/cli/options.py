"""The arguments and options that several commands have. Annotations are values here, as in ``app``."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

#: The largest number that a store can hold.
LARGEST = 2**63 - 1
#: How a program or a group of commands is set up: without a command it prints its help.
GROUP = {"no_args_is_help": True, "rich_markup_mode": None}


def _settings_file(context: typer.Context, given: Path | None) -> Path | None:
    """Return the file that is named here, or before the command: ``syncd --config PATH runs``."""
    if given is not None:
        context.obj = given
    return context.obj  # type: ignore[no-any-return]


def argument(metavar: str, about: str, parser: Callable[[str], object] | None = None) -> Any:
    """Return an argument that has to be there."""
    return typer.Argument(metavar=metavar, help=about, parser=parser, show_default=False)


Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="PATH", callback=_settings_file, help="The settings file."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
FeedName = Annotated[
    str, typer.Option("--feed", metavar="NAME", help="The feed whose mapping and rules apply.")
]
File = Annotated[Path, argument("FILE", "A feed file.")]
FeedArgument = Annotated[str, argument("NAME", "The feed.")]
KeyId = Annotated[int, typer.Argument(metavar="ID", min=1, max=LARGEST, show_default=False)]
Employer = Annotated[str, typer.Option("--employer", metavar="E", help="Name or id.")]
Status = Annotated[
    Literal["active", "archived", "draft"] | None, typer.Option(help="Only jobs of this status.")
]
State = Annotated[
    Literal[
        "claimed",
        "reading",
        "applying",
        "archiving",
        "succeeded",
        "partial",
        "held",
        "failed",
        "unchanged",
        "superseded",
        "rejected",
    ]
    | None,
    typer.Option(help="Only runs in this state."),
]
Number = Annotated[
    int, typer.Argument(metavar="N", help="The run's number.", min=1, max=LARGEST, show_default=False)
]


def named_path(text: str) -> Path:
    """Return a path. An empty text, as from a variable of a shell that is not set, would be the present folder."""
    if not text:
        raise typer.BadParameter("the path is empty")
    return Path(text)


def time_span(text: str) -> timedelta:
    """Return a time span such as 90d, or 0."""
    from syncd.values import duration

    return duration(text)


def positive_time_span(text: str) -> timedelta:
    span = time_span(text)
    if not span:
        raise ValueError("must be more than 0")
    return span


def time_option(
    about: str, parser: Callable[[str], timedelta] = positive_time_span, default: bool | str = True
) -> Any:
    """Return an option that takes a time span; ``default`` is shown in its help."""
    return typer.Option(metavar="TIME", parser=parser, help=about, show_default=default)
