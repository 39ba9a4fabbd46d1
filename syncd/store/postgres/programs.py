"""PostgreSQL's own programs, ``pg_dump`` and ``pg_restore``: where they are, how they connect, and what they report."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from syncd.errors import StoreError
from syncd.store.postgres.connections import Connection

#: Where Debian's packages put the programs of each version.
_VERSIONS = Path("/usr/lib/postgresql")
_VERSION = re.compile(r"\(PostgreSQL\) (\d+)")
#: How long a program waits for a table that somebody has locked.
LOCK_WAIT = "60s"
#: Values are written in one form, whatever the defaults of the database and its users are.
_OPTIONS = "-c bytea_output=hex -c timezone=UTC"


def program(name: str, server: int) -> str:
    """Return the path of the program ``name`` that can be used with a server of the version ``server``: it is not older than
    the server. Raises StoreError."""
    versions = {path: found for path in _candidates(name) if (found := _version(path)) is not None}
    path = next((path for path, version in versions.items() if version >= server), None)
    if path is not None:
        return path
    what = f"a backup of a store on PostgreSQL needs {name} of version {server} or newer"
    found = max(versions.values(), default=None)
    here = "it is not on this machine" if found is None else f"here it has version {found}"
    raise StoreError(f"{what}, and {here}: install it (Debian: postgresql-client-{server})")


def _candidates(name: str) -> list[str]:
    """Return the program that a shell would start, then those of Debian's packages, the newest first."""
    folders = sorted(_VERSIONS.glob("[0-9]*"), key=lambda path: int("0" + path.name.partition(".")[0]))
    first = shutil.which(name)
    others = [str(path) for folder in reversed(folders) if (path := folder / "bin" / name).exists()]
    return [first, *others] if first else others


def _version(path: str) -> int | None:
    """Return the version of a program, None if it cannot be started."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 - a program of PostgreSQL
    except OSError:
        return None
    found = _VERSION.search(done.stdout)
    return int(found[1]) if done.returncode == 0 and found else None


def environment(driver: Connection, database: str | None = None) -> dict[str, str]:
    """Return the environment in which a program connects as ``driver`` is connected, to ``database`` or to the same one. The
    password is in it, and not in the command, which all users of the machine can read."""
    names = {
        option.envvar.decode(): option.val.decode()
        for option in driver.pgconn.info
        if option.envvar and option.val
    }
    names |= {"PGHOST": driver.info.host, "PGPORT": str(driver.info.port)}  # of several hosts, the one in use
    names["PGDATABASE"] = database or driver.info.dbname
    names["PGOPTIONS"] = f"{names.get('PGOPTIONS', '')} {_OPTIONS}".strip()
    own = {name: value for name, value in os.environ.items() if name != "PGSERVICE"}
    return {**own, **names, "PGCLIENTENCODING": "UTF8", "LC_MESSAGES": "C"}


def run(command: list[str], names: Mapping[str, str], source: IO[bytes] | None = None) -> None:
    """Run a program to its end; ``source``: a file that it reads from the beginning. Raises StoreError with what it reports."""
    if source is not None:
        os.lseek(source.fileno(), 0, os.SEEK_SET)  # what Python has read ahead does not count
    with output_of(command, names, source) as output:
        output.read()


@contextmanager
def output_of(
    command: list[str], names: Mapping[str, str], source: IO[bytes] | None = None
) -> Iterator[IO[bytes]]:
    """Yield what a program writes. Raises StoreError with what it reports if it fails."""
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(  # noqa: S603 - a program of PostgreSQL
            command,
            env=dict(names),
            stdin=source or subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            yield process.stdout
        except BaseException:
            process.kill()
            raise
        if process.wait():
            errors.seek(0)
            raise StoreError(
                f"{Path(command[0]).name} failed: {_said(errors.read().decode(errors='replace'))}"
            )


def _said(text: str) -> str:
    """Return the first error of what a program has written, without its name; else the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = next((line for line in lines if "error:" in line), lines[-1] if lines else "it gives no reason")
    return first.partition("error:")[2].strip() or first
