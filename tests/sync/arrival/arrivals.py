"""The arrival of files in a test: a drop folder, the worker that runs its files, and a clock that the test moves."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from syncd.domain import Run
from syncd.store import runs
from syncd.sync.arrival import ArrivalContext, Worker
from syncd.sync.drop_file import DropFile
from syncd.sync.run import Feed, Host, RejectsWriter
from tests.sync.board import Board, FakeHost

#: A file of the daemon, in the form of a delivery.
PRIVATE = b' [{"referenceId": "the secret of the daemon"}]'
WORKER_PROGRAM = Path(__file__).with_name("worker_program.py")


class Died(BaseException):
    """The process ends here: no handler of ``Exception`` sees it."""


class MonotonicClock(Host):
    """Seconds that only the test, or a sleep, moves forward. ``slept`` has the length of each sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 500.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class FaultyImporter:
    """An importer whose first calls raise ``faults``, one each; None lets the call succeed."""

    def __init__(self, importer: Any, *faults: BaseException | None) -> None:
        self.importer, self.faults, self.calls = importer, list(faults), 0

    def run(self, feed: Feed, source: DropFile, run: Run, rejects: RejectsWriter | None) -> Run:
        self.calls += 1
        if self.faults and (fault := self.faults.pop(0)) is not None:
            raise fault
        ended: Run = self.importer.run(feed, source, run, rejects)
        return ended


class Arrival:
    """The feeds of a board with their folders, and the worker that runs their files. ``monotonic`` is its clock."""

    row = staticmethod(Board.row)

    def __init__(self, board: Board) -> None:
        self.board, self.monotonic = board, MonotonicClock()
        self.feeds: dict[str, Feed] = {}
        self.worker = self.restart()

    def restart(self, importer: Any = None, **methods: Callable[..., Any]) -> Worker:
        """Start another worker, in a host with these ``methods``; the one before it is as if its process had died."""
        host = FakeHost(None, monotonic=self.monotonic.monotonic, sleep=self.monotonic.sleep, **methods)
        ctx = ArrivalContext(self.board.store, importer or self.board.importer, host)
        self.worker = Worker(ctx, self.feeds, drop=self.board.folder / "drop")
        return self.worker

    def restart_dying(self, step: str) -> None:
        """Start another worker that dies after ``step`` (a file that is ``claimed``, ``begun``, ``run`` …)."""

        def die(current: str) -> None:
            if current == step:
                raise Died

        self.restart(step=die)

    def feed(self, toml: str = "", name: str = "acme") -> Feed:
        """Add a feed to the worker, or replace it."""
        self.feeds[name] = self.board.feed(toml, name)
        self.worker.change_feeds(self.feeds)
        return self.feeds[name]

    def drop(self, feed: Feed, content: object, name: str = "jobs.json", mtime: float | None = None) -> Path:
        """Put a file of these bytes, or of this value as JSON, into the folder of the feed."""
        feed.folder.mkdir(parents=True, exist_ok=True)
        path = feed.folder / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        if mtime is not None:
            os.utime(path, (mtime, mtime))
        return path

    def feed_with(self, content: object, toml: str = "", name: str = "acme") -> Feed:
        """Add a feed to the worker, and put a file ``jobs.json`` of this content into its folder."""
        feed = self.feed(toml, name)
        self.drop(feed, content)
        return feed

    def run_files(self, *, wait: float = 61) -> list[Run]:
        """Let the worker find the files, and run them after ``wait`` seconds in which they settle. Return the runs that
        ended."""
        ended = self.worker.tick()
        self.monotonic.now += wait
        return ended + self.worker.tick()

    def runs(self) -> list[Run]:
        return sorted(self.board.store.read(lambda tx: list(runs.newest(tx))), key=lambda run: run.id)

    def states(self) -> list[str]:
        return [run.state.value for run in self.runs()]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def claims(feed: Feed) -> list[str]:
    return [name for name in names(feed.folder / ".claimed") if not name.startswith(".")]


def partly_rejected() -> list[object]:
    """Return a row that is valid and one that is rejected."""
    return [Board.row("a"), Board.row("b", title=None)]
