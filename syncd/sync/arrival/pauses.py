"""A feed is paused, and resumed: by a command or on the operator's pages."""

from __future__ import annotations

from syncd.errors import Conflict
from syncd.store import Tx, feeds


def pause(tx: Tx, name: str, why: str) -> None:
    """Have the files of the feed left lying; ``why`` in words. Raises Conflict if the store does not know the feed yet."""
    feeds.pause(tx, name, why)
    if name not in feeds.paused(tx):
        raise Conflict(
            f"feed {name} had no run yet and its file is wrong: its files are left lying in any case"
        )


def resume(tx: Tx, name: str) -> None:
    """Have the files of the feed taken again. Raises Conflict if it is not paused."""
    if name not in feeds.paused(tx):
        raise Conflict(f"feed {name} is not paused")
    feeds.resume(tx, name)
