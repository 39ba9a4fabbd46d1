"""The declaration of a command, and the arguments and options that several commands have."""

import inspect
import sys
from collections.abc import Callable, Collection
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

if TYPE_CHECKING:
    from syncd.config import Settings

#: The largest number that a store can hold.
MAX_NUMBER = 2**63 - 1
REQUIRED = inspect.Parameter.empty


class Parameter(NamedTuple):
    """An argument or an option. Its annotation is that of a parameter of a function, as Typer reads it."""

    annotation: Any
    default: Any = REQUIRED


def argument(metavar: str, about: str | None = None, kind: Any = str, **more: Any) -> Parameter:
    return Parameter(Annotated[kind, typer.Argument(metavar=metavar, help=about, show_default=False, **more)])


def option(
    names: str, about: str, metavar: str | None = None, kind: Any = str, default: Any = None, **more: Any
) -> Parameter:
    """Return an option; a switch if its ``kind`` is bool. ``names`` have spaces between them."""
    annotation = kind | None if default is None else kind
    return Parameter(
        Annotated[annotation, typer.Option(*names.split(), help=about, metavar=metavar, **more)], default
    )


def switch(name: str, about: str) -> Parameter:
    return option(name, about, kind=bool, default=False)


def whole_number(low: int, high: int) -> Callable[[str | int], int]:

    def parse(value: str | int) -> int:
        text = str(value)  # a default is a number
        if text.isascii() and text.isdecimal() and len(text) < 20 and low <= int(text) <= high:
            return int(text)
        raise ValueError(f'must be a whole number from {low} to {high}, not "{text[:40]}"')

    return parse


def number_argument(metavar: str, about: str | None = None) -> Parameter:
    return argument(metavar, about, int, parser=whole_number(1, MAX_NUMBER))


def number_option(
    name: str, about: str, metavar: str, high: int = MAX_NUMBER, default: int | None = None
) -> Parameter:
    return option(name, about, metavar, int, default, parser=whole_number(1, high))


def time_option(name: str, about: str, *, zero: bool = False, shown: bool | str = True) -> Parameter:
    """Return an option that takes a time span such as 90d, with ``zero`` also 0; its help has ``shown`` as its default."""

    def time_span(text: str) -> timedelta:
        from syncd.values import duration

        span = duration(text)
        if not span and not zero:
            raise ValueError("must be more than 0")
        return span

    return option(name, about, "TIME", timedelta, parser=time_span, show_default=shown)


def _settings_file(context: typer.Context, path: Path | None) -> Path | None:
    """Return the file that is named here, or before the command: ``syncd --config PATH runs``."""
    if path is not None:
        context.obj = path
    return context.obj  # type: ignore[no-any-return]


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


Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="PATH", callback=_settings_file, help="The settings file."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
State = Annotated[
    Literal[
        "claimed", "reading", "applying", "archiving", "succeeded", "partial", "held", "failed", "unchanged", "superseded",
        "rejected",
    ] | None,
    typer.Option(help="Only runs in this state."),
]  # fmt: skip
_COMMON = {"config": Parameter(Config, None), "as_json": Parameter(Json, False)}
#: A file and its feed, for ``file_and_feed`` of ``imports``: in either order, or the feed as an option.
FILE = argument("FILE", "A feed file.")
FILE_OR_URL = argument("FILE|URL", "A feed file, or its address.")
FEED = Parameter(
    Annotated[str | None, typer.Argument(metavar="FEED", help="The feed whose mapping and rules apply.")],
    None,
)
OTHER_FILE = Parameter(Annotated[str | None, typer.Argument(metavar="FILE", help="A feed file.")], None)
OF_FEED = option("--feed", "The feed, if it is not an argument.", "NAME")
FEED_NAME = argument("NAME", "The feed.")
EMPLOYER = argument("EMPLOYER", "Name or id.")
KEY = number_argument("ID")
OF_EMPLOYER = option("--employer", "Name or id. Default: the only employer.", "E")
STATUS = option("--status", "Only jobs of this status.", kind=Literal["active", "archived", "draft"])
RUN = number_argument("N", "The run's number.")
JOB = number_argument("ID", "The job's number.")


def settings_of(config: Path | None) -> "Settings":
    """Return the settings, with the log silent, because a command prints its result itself. Raises ConfigError,
    StoreError if the daemon serves another store."""
    from syncd.config import load_settings
    from syncd.service import served

    settings = load_settings(config)
    served.refuse_other(settings)
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
) -> Callable[..., None]:
    """Return a function that adds a command to ``group``: it takes the help and, by name, the parameters of the command.

    The function ``work`` (``module.function`` of this package) is imported when the command is called, and may return an exit
    code. It gets values by name: those of the command's parameters, of the ``common`` ones (the command may have its own form
    of one; for ``config`` it gets ``settings``), and ``fixed``."""
    module, _, function = work.rpartition(".")

    def add(about: str, /, **own: Parameter) -> None:
        def do(**values: Any) -> object:
            work = getattr(import_module(f"syncd.cli.{module}"), function)
            if "config" in common:
                values["settings"] = settings_of(values.pop("config"))
            return work(**values, **fixed)

        shared = {each: own.pop(each, _COMMON[each]) for each in common}
        parameters = [
            inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for each, (annotation, default) in (own | shared).items()
        ]
        do.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        do.__doc__ = about
        group.command(name)(do)

    return add
