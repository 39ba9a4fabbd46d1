"""The declaration of a command, and the arguments and options that several commands have. Annotations are values here, as in
``app``."""

import inspect
import sys
from collections.abc import Callable, Collection
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from syncd.config import Settings

Declaration = Callable[..., None]
#: The largest number that a store can hold.
MAX_NUMBER = 2**63 - 1


def _settings_file(context: typer.Context, path: Path | None) -> Path | None:
    """Return the file that is named here, or before the command: ``syncd --config PATH runs``."""
    if path is not None:
        context.obj = path
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
KeyId = Annotated[int, typer.Argument(metavar="ID", min=1, max=MAX_NUMBER, show_default=False)]
Employer = Annotated[str, typer.Option("--employer", metavar="E", help="Name or id.")]
Status = Annotated[
    Literal["active", "archived", "draft"] | None, typer.Option(help="Only jobs of this status.")
]
State = Annotated[
    Literal[
        "claimed", "reading", "applying", "archiving", "succeeded", "partial", "held", "failed", "unchanged", "superseded",
        "rejected",
    ] | None,
    typer.Option(help="Only runs in this state."),
]  # fmt: skip
Number = Annotated[
    int, typer.Argument(metavar="N", help="The run's number.", min=1, max=MAX_NUMBER, show_default=False)
]


def named_path(text: str) -> Path:
    """Return a path. An empty text, as from a variable of a shell that is not set, would be the present folder."""
    if not text:
        raise typer.BadParameter("the path is empty")
    return Path(text)


def file_or_folder(text: str) -> Path:
    """Return the path of a file, or of a folder that exists. A text that ends with a slash cannot name a file."""
    path = named_path(text)
    if text.endswith("/") and not path.is_dir():
        raise typer.BadParameter(f"there is no folder {path}")
    return path


def time_option(about: str, *, zero: bool = False, default: bool | str = True) -> Any:
    """Return an option that takes a time span such as 90d, with ``zero`` also 0; ``default`` is shown in its help."""

    def time_span(text: str) -> timedelta:
        from syncd.values import duration

        span = duration(text)
        if not span and not zero:
            raise ValueError("must be more than 0")
        return span

    return typer.Option(metavar="TIME", parser=time_span, help=about, show_default=default)


def _common(config: Config = None, as_json: Json = False) -> None:
    """Has the options that nearly every command has."""


_COMMON = inspect.signature(_common).parameters


def settings_of(config: Path | None) -> "Settings":
    """Return the settings, with the log silent, because a command prints its result itself. Raises ConfigError."""
    from syncd.config import load_settings

    settings = load_settings(config)
    # a command that logs nothing has not imported this module, which takes a tenth of the time of `syncd runs`
    if "syncd.logs" in sys.modules:
        from syncd import logs

        logs.set_up(settings.log.format, "critical")
    return settings


def command(
    group: typer.Typer,
    name: str,
    work: str,
    *,
    common: Collection[str] = ("config", "as_json"),
    **fixed: object,
) -> Callable[[Declaration], Declaration]:
    """Return a decorator that adds a command to ``group``. Of the decorated function only arguments, options and help are used.
    The function ``work`` (``module.function`` of this package) is imported when the command is called. It gets values by name:
    those of the command's own options, of the ``common`` ones (the declaration may have its own form of one; for ``config`` it
    gets ``settings``), and ``fixed``; it may return an exit code."""
    module, _, function = work.rpartition(".")
    shared = {name: option for name, option in _COMMON.items() if name in common}

    def add(declaration: Declaration) -> Declaration:
        def do(**values: Any) -> object:
            work = getattr(import_module(f"syncd.cli.{module}"), function)
            if "config" in common:
                values["settings"] = settings_of(values.pop("config"))
            return work(**values, **fixed)

        own = inspect.signature(declaration)
        others = [option for name, option in own.parameters.items() if name not in shared]
        last = (own.parameters.get(name, option) for name, option in shared.items())
        named = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in (*others, *last)]
        do.__signature__ = own.replace(parameters=named)  # type: ignore[attr-defined]
        do.__doc__ = declaration.__doc__
        group.command(name)(do)
        return declaration

    return add
