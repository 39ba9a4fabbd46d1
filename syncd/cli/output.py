"""Results of commands: exit codes; aligned columns for people, JSON for programs. Results go to standard output, remarks to
standard error."""

import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, tzinfo
from pathlib import Path
from typing import IO

from syncd.values import local_time

DONE, FAILED, USAGE, HELD = 0, 1, 2, 3
#: Under ``plan --exit-code``: the run would change something.
CHANGES = 4
INTERRUPTED = 130
#: The settings are wrong (EX_CONFIG of sysexits.h): systemd/syncd.service is not started again.
WRONG_SETTINGS = 78


def print_json(value: object) -> None:
    """Print one line of JSON. Decimals are exact numbers."""
    import msgspec

    sys.stdout.write(msgspec.json.Encoder(decimal_format="number").encode(value).decode() + "\n")


def print_result(as_json: bool, value: object, text: str) -> None:
    if as_json:
        print_json(value)
    else:
        print(text)


def print_list(
    as_json: bool, values: object, headings: Sequence[str], rows: Sequence[Sequence[object]], empty: str
) -> None:
    """Print ``values`` as JSON, or ``rows`` as columns, or without rows the remark ``empty``."""
    if as_json:
        print_json(values)
        return
    if not rows:
        remark(empty)
        return
    cells = [[cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    for number, line in enumerate([list(headings), *cells]):
        text = "  ".join(part.ljust(width) for part, width in zip(line, widths, strict=True)).rstrip()
        print(bold(text) if number == 0 else text)


def cell(value: object) -> str:
    if value is None:
        return "-"
    return clean(str(value))


def time_cell(instant: datetime | None, zone: tzinfo) -> str | None:
    """Return a time for ``print_list`` and ``cell``, in ``zone`` (that of the service) and with its name."""
    return None if instant is None else local_time(instant, zone)


def clean(text: str) -> str:
    """Return ``text`` without characters that control a terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


def bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() else text


def remark(text: str) -> None:
    print(text, file=sys.stderr)


def agreed(question: str, otherwise: str, *about: str) -> bool:
    """Ask on a terminal, after the remarks ``about``. Without one the answer is no; ``otherwise`` says how to agree there."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        remark(f"syncd: nothing was changed{otherwise}")
        return False
    for line in about:
        remark(line)
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    remark("syncd: nothing was changed")
    return False


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file that gets its name when it is complete and durable; a pipe is written to directly. Raises OSError, which
    names ``path``."""
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    draft = path.with_name(f".syncd-{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        error.filename, error.filename2 = str(path), None  # not the draft, which its user does not know
        raise
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def writable_by_owner_alone() -> Iterator[None]:
    """Let nobody but the owner write to files and folders that are made meanwhile, under any umask."""
    umask = os.umask(0o022)
    os.umask(umask | 0o022)
    try:
        yield
    finally:
        os.umask(umask)


def system_fault(error: OSError) -> str:
    """Return the reason of the system, with the file."""
    where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def complain(text: str, code: int) -> int:
    """Print lines on standard error, in the journal as errors, and return the exit code."""
    mark = ""
    if "JOURNAL_STREAM" in os.environ:
        from syncd.logs import journal_mark

        mark = journal_mark("error", sys.stderr)
    for line in text.splitlines():
        print(f"{mark}syncd: {line}", file=sys.stderr)
    return code
