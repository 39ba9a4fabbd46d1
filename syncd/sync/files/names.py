"""File names on their way: which are never taken, how one is shown, and what it is called once it is filed.
Pure."""

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
    """Whether ``name`` is hidden or looks like somebody's unfinished file, in any case."""
    return name.startswith(".") or name.lower().endswith(_UNFINISHED)


def shown(name: str) -> str:
    """``name`` (as ``os.listdir`` gives it) as text that every store and terminal takes: undecodable bytes as
    %FF."""
    text = os.fsencode(name).decode("utf-8", "surrogateescape")
    return _ESCAPED.sub(lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", text)


def cut(name: str) -> str:
    """The first 180 bytes of a shown name, without half a character at the end."""
    return name.encode()[:KEPT_BYTES].decode("utf-8", "ignore")


def claim_name(token: str, name: str) -> str:
    """What a claimed file is called: 8 hex digits and its name."""
    return f"{token}-{cut(shown(name))}"


def parse_claim(name: str) -> tuple[str, str] | None:
    """(8 hex digits, the file's name) of a claimed file, None for anything else."""
    found = _CLAIM.fullmatch(name)
    return (found[1], found[2]) if found else None


def filed_name(run_id: int, name: str, copy: int = 1) -> str:
    """``42-jobs.xml``; ``copy`` from 2 makes ``42.2-jobs.xml`` where that name is taken."""
    return f"{run_id}-{cut(name)}" if copy == 1 else f"{run_id}.{copy}-{cut(name)}"


def is_filed_as(name: str, run_id: int, file: str) -> bool:
    """Whether ``name`` is one that the file of a run may have got; ``file`` is its name as shown."""
    number, _, rest = name.partition("-")
    return number.partition(".")[0] == str(run_id) and rest == cut(file)


def parse_filed(name: str) -> int | None:
    """The number of the run that filed ``name``, None for a name that no run makes."""
    found = _FILED.match(name)
    return int(found[1]) if found else None
