"""The digest of a run's file, which is made before the file is read, and again before anything is applied."""

from __future__ import annotations

import hashlib
import json
import mmap

import pytest

from syncd.errors import FeedError
from syncd.sync.drop_file import DropFile
from tests.sync.board import Board, on_phase


@pytest.mark.parametrize(("cut", "state"), [(0, "succeeded"), (40, "failed")])
def test_a_run_has_the_digest_of_its_file(board: Board, cut: int, state: str) -> None:
    content = rows(board, 3_000)
    content = content[: len(content) - cut]
    run = board.deliver(board.feed(), content)
    assert (run.state, run.sha256) == (state, hashlib.sha256(content).hexdigest())
    assert board.saved(run.id).sha256 == run.sha256


def rows(board: Board, number: int) -> bytes:
    return json.dumps([board.row(f"r{n}") for n in range(number)]).encode()


def test_a_change_through_a_memory_map_is_found_although_the_times_stay(board: Board) -> None:
    feed = board.feed()
    path = board.file(rows(board, 5_000)).path
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:] = bytes(
            mapped
        )  # all pages are to be written to the disk already: a change leaves the times as they are
        source = DropFile.at(path)
        run, last = board.begin(feed, source), mapped.rfind(b"Cook")

        def exchange() -> None:
            mapped[last : last + 4] = b"Cool"

        importer = board.make_importer(progress=on_phase("reading", exchange))
        with pytest.raises(FeedError) as raised:
            importer.run(feed, source, run)
        assert DropFile.at(path) == source
    assert (raised.value.code, board.jobs()) == ("file_changed", [])
