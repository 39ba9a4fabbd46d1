"""The entry point. Each failure becomes one line on standard error with the remedy, and an exit code."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from syncd.cli.output import DONE, FAILED, INTERRUPTED, USAGE, complain, system_fault
from syncd.errors import ConfigError, SyncdError

if TYPE_CHECKING:
    import typer


def main(arguments: Sequence[str] | None = None) -> None:
    _prepare_streams()
    gc.disable()  # until a command opens the store: to search all that is imported costs a tenth of `runs`
    try:
        code = run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of a pipe has ended (`syncd jobs | head`): write nothing more, at exit neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = DONE
    raise SystemExit(code)


def _prepare_streams() -> None:
    """Write to nowhere where a standard stream is closed, and characters that the encoding of the output lacks as escapes."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - for the whole process
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def run(arguments: list[str]) -> int:
    import typer

    from syncd.cli.app import app

    try:
        result = app(arguments, prog_name="syncd", standalone_mode=False)
    except typer.TyperException as error:
        return _usage(error)
    except typer.Exit as leave:
        return leave.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except SystemExit as leave:  # after a completion, and when the reader of a pipe went away
        if isinstance(leave.__context__, OSError):
            raise BrokenPipeError from None
        return int(leave.code or DONE)
    except Exception as error:
        return complain(_reason(error, arguments), FAILED)
    return result if isinstance(result, int) else DONE


def _reason(error: Exception, arguments: list[str]) -> str:
    if isinstance(error, ConfigError):
        return "\n".join(error.faults)
    if isinstance(error, SyncdError):
        return str(error)
    hidden = next((file for file in (os.__file__, __file__) if not os.access(file, os.R_OK)), None)
    if hidden is not None:  # for the user that root became: nothing more can be imported
        user = f"the user {os.geteuid()}, who owns the store, cannot read {hidden}"
        return f"{user}: install Python and syncd where all users can read them, such as in /opt"
    if isinstance(error, OSError):
        return system_fault(error)
    wrong = next((each for each in arguments if each.encode(errors="ignore").decode() != each), None)
    if isinstance(error, UnicodeEncodeError) and wrong is not None:  # a name of a file need not be UTF-8
        return f"the argument {wrong!a} is not UTF-8"
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    words = " ".join(str(error).split())
    return f"this is a fault of syncd itself, please report it: {type(error).__name__}: {words}{where}"


def _usage(error: typer.TyperException) -> int:
    """Report a command line that does not parse, and name the help to read. A group of commands alone shows its help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message())
        return USAGE
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "syncd"
    message = " ".join(error.format_message().split()).replace("Value error, ", "")
    return complain(f"{message.rstrip('.')}; see `{path} --help`", USAGE)
