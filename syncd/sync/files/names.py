"""File names on their way: which are never taken, how one is displayed, and what it is called once it is claimed or
filed. Pure."""

from __future__ import annotations

import os
import re

#: The folders inside a feed's folder.
CLAIMED, DONE, FAILED = ".claimed", "done", "failed"
#: Bytes that are left of a file's name once it is claimed or filed.
KEPT_BYTES = 180

_UNFINISHED = (".tmp", ".part", ".partial", ".filepart", ".crdownload", ".swp", "~")
_ESCAPED = re.compile("[\udc80-\udcff]")
_CLAIM = re.compile(r"([0-9a-f]{8})-(.+)", re.DOTALL)
_FILED = re.compile(r"(\d+)(?:\.\d+)?-.")


def never_taken(name: str) -> bool:
    """Return whether ``name`` is hidden or looks like an unfinished file, in upper or lower case."""
    return name.startswith(".") or name.lower().endswith(_UNFINISHED)


def display_name(name: str) -> str:
    """Return ``name`` (as ``os.listdir`` gives it) as text for stores and terminals: bytes that are not UTF-8 as %FF."""
    text = os.fsencode(name).decode("utf-8", "surrogateescape")
    return _ESCAPED.sub(lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", text)


def short_name(name: str) -> str:
    """Return the first 180 bytes of a displayed name, without half a character at the end."""
    return name.encode()[:KEPT_BYTES].decode("utf-8", "ignore")


def claim_name(token: str, name: str) -> str:
    """Return what a claimed file is called: 8 hex digits and its name."""
    return f"{token}-{short_name(display_name(name))}"


def parse_claim(name: str) -> tuple[str, str] | None:
    """Return (8 hex digits, the file's name) of a claimed file, None for anything else."""
    found = _CLAIM.fullmatch(name)
    return (found[1], found[2]) if found else None


def filed_name(run_id: int, name: str, copy: int = 1) -> str:
    """Return ``42-jobs.xml``; ``copy`` from 2 makes ``42.2-jobs.xml``, for a name that is taken."""
    return f"{run_id}-{short_name(name)}" if copy == 1 else f"{run_id}.{copy}-{short_name(name)}"


def is_filed_as(name: str, run_id: int, file: str) -> bool:
    """Return whether ``name`` is one that the file of a run may have got; ``file`` is the file's displayed name."""
    number, _, rest = name.partition("-")
    return number.partition(".")[0] == str(run_id) and rest == short_name(file)


def parse_filed(name: str) -> int | None:
    """Return the number of the run that filed ``name``, None for a name that no run makes."""
    found = _FILED.match(name)
    return int(found[1]) if found else None
