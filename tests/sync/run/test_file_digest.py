"""The digest of a large file, which is made while the file is read."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from syncd.domain import Run
from syncd.errors import FeedError
from syncd.sync.drop_file import DropFile
from syncd.sync.run import file_digest
from syncd.sync.run.context import Feed, FileRun, Stopped
from syncd.sync.run.file_digest import FileDigest
from tests.sync.board import Board, not_none, on_phase


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_digest, "LARGE", 0)


def begun(board: Board, content: bytes) -> tuple[Feed, DropFile, Run]:
    feed, source = board.feed(), board.file(content)
    return feed, source, board.begin(feed, source)


def rows(board: Board, number: int) -> bytes:
    return json.dumps([board.row(f"r{n}") for n in range(number)]).encode()


@pytest.mark.parametrize(("cut", "state"), [(0, "succeeded"), (40, "failed")])
def test_a_run_has_the_digest_of_its_file(board: Board, cut: int, state: str) -> None:
    content = rows(board, 3_000)
    content = content[: len(content) - cut]
    feed, source, run = begun(board, content)
    run = board.make_importer(processes=1).run(feed, source, run)
    assert (run.state, run.sha256) == (state, hashlib.sha256(content).hexdigest())
    assert board.saved(run.id).sha256 == run.sha256


def test_the_same_bytes_are_not_read_again(board: Board) -> None:
    content = rows(board, 3)
    importer = board.make_importer(processes=1)
    feed = board.feed()
    for state in ("succeeded", "unchanged"):
        run = board.deliver(feed, content, importer=importer)
        assert (run.state, run.sha256) == (state, hashlib.sha256(content).hexdigest())


@contextmanager
def mapped_file(path: Path) -> Iterator[mmap.mmap]:
    """Map a file all of whose pages are to be written to the disk already: a change leaves its times as they are."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:] = bytes(mapped)
        yield mapped


def test_a_change_through_a_memory_map_is_found_although_the_times_stay(board: Board) -> None:
    feed = board.feed()
    path = board.file(rows(board, 5_000)).path
    with mapped_file(path) as mapped:
        source = DropFile.at(path)
        run, last = board.begin(feed, source), mapped.rfind(b"Cook")

        def exchange() -> None:
            mapped[last : last + 4] = b"Cool"

        importer = board.make_importer(processes=1, progress=on_phase("reading", exchange))
        with pytest.raises(FeedError) as raised:
            importer.run(feed, source, run)
        assert DropFile.at(path) == source
    assert (raised.value.code, board.jobs()) == ("file_changed", [])


def test_what_is_read_again_is_checked_again(board: Board) -> None:
    feed = board.feed()
    path = board.file(os.urandom(3 << 20)).path
    with mapped_file(path) as mapped:
        source = DropFile.at(path)
        this = FileRun(board.make_importer(processes=1)._ctx, feed, source, board.begin(feed, source))
        with closing(FileDigest(this)) as digest:
            for change in (True, False):
                with digest.open() as file:
                    while file.read(1 << 18):
                        digest.check_behind()
                if change:
                    wait([not_none(digest._second)])  # nothing is left to check
                    mapped[0] ^= 1
            with pytest.raises(FeedError, match="written to while it was read"):
                digest.check()
        assert DropFile.at(path) == source


def test_a_file_that_stays_as_it_is_passes_the_check_in_whatever_order_it_is_read(board: Board) -> None:
    feed, source, run = begun(board, os.urandom(3 << 20))
    this = FileRun(board.make_importer(processes=1)._ctx, feed, source, run)
    for seeks in ([0], [1 << 21, 0], [0, 1 << 20, 0], [3 << 20, 5, 0, 7]):
        with closing(FileDigest(this)) as digest, digest.open() as file:
            for start in seeks:
                file.seek(start)
                while file.read(1 << 18):
                    digest.check_behind()
            digest.begin_check()
            digest.check()
            assert (
                not_none(digest.identified(run).sha256)
                == hashlib.sha256(source.path.read_bytes()).hexdigest()
            )


def test_a_run_that_is_stopped_while_it_reads_leaves_no_thread(board: Board) -> None:
    feed, source, run = begun(board, rows(board, 5_000))
    reached: list[str] = []
    importer = board.make_importer(
        processes=1,
        progress=lambda phase, done, total: reached.append(phase),
        stop=lambda: "reading" in reached,
    )
    with pytest.raises(Stopped):
        importer.run(feed, source, run)
    assert not any(thread.name.startswith("syncd-digest") for thread in threading.enumerate())
    assert not board.saved(run.id).state.ended


def test_what_is_not_in_the_digest_yet_cannot_be_read(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    feed, source, run = begun(board, rows(board, 3))
    going_on = threading.Event()
    made = file_digest.sha256

    def late(source: DropFile, on_block: Callable[[int], None]) -> bytes:
        going_on.wait()
        return made(source, on_block)

    monkeypatch.setattr(file_digest, "sha256", late)
    this = FileRun(board.make_importer(processes=1)._ctx, feed, source, run)
    with ThreadPoolExecutor() as threads, closing(FileDigest(this)) as digest, digest.open() as file:
        reading = threads.submit(file.read, 10)
        with pytest.raises(TimeoutError):
            reading.result(timeout=0.2)
        going_on.set()
        assert reading.result() == source.path.read_bytes()[:10]
        assert not_none(digest.identified(run).sha256) == hashlib.sha256(source.path.read_bytes()).hexdigest()
