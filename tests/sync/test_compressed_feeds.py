"""Compressed files, and files read leniently, through the importer: they behave like any other delivery."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from syncd.sync.rejects import RejectsWriter


def zipped(data: bytes) -> bytes:
    """Two members, each with half of the array's rows."""
    rows = json.loads(data)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in (("a.json", rows[::2]), ("b.json", rows[1::2])):
            archive.writestr(name, json.dumps(part))
    return out.getvalue()


@pytest.mark.parametrize("pack", [gzip.compress, zipped])
def test_a_compressed_feed_creates_archives_rejects_and_knows_its_rows_again(
    board: Any, pack: Any, tmp_path: Path
) -> None:
    feed = board.feed("max_rejected = 90")

    def drop(*rows: dict[str, Any], rejects: RejectsWriter | None = None) -> Any:
        return board.drop(feed, pack(json.dumps(rows).encode()), rejects=rejects)

    writer = RejectsWriter(tmp_path / "rejected")
    first = drop(*map(board.row, "abc"), board.row("d", title=""), rejects=writer)
    assert (first.counts.created, first.counts.rejected) == (3, 1)
    path = writer.close()
    assert path is not None
    assert [row["referenceId"] for row in json.loads(path.read_text())] == ["d"]
    again = drop(*map(board.row, "abc"), board.row("d"))
    assert (again.counts.unchanged, again.counts.created) == (3, 1)
    same = drop(*map(board.row, "abc"), board.row("d"))
    assert same.state == "unchanged"
    less = drop(*map(board.row, "bcd"))
    assert (less.counts.archived, board.statuses()["a"]) == (1, "archived")


def test_a_bomb_and_a_cut_archive_fail_and_archive_nothing(board: Any) -> None:
    feed = board.feed()
    board.drop(feed, [board.row("a"), board.row("b")])
    cut = gzip.compress(json.dumps([board.row("a")] * 50).encode())[:-9]
    bomb = gzip.compress(b'[{"referenceId": "' + b"x" * 20_000_000)
    assert (board.drop(feed, cut).state, board.drop(feed, bomb).state) == ("failed", "failed")
    assert board.statuses() == {"a": "active", "b": "active"}


XML = "<jobs><job><referenceId>a</referenceId><title>Cook & chef</title></job></jobs>"


def test_xml_that_is_read_leniently_updates_but_never_archives_and_says_so(board: Any) -> None:
    strict, feed = board.feed(), board.feed("[read]\nrecover = true")
    board.drop(strict, [board.row("a"), board.row("b")])
    assert board.drop(strict, XML.encode()).state == "failed"
    run = board.drop(feed, XML.encode())
    assert (run.counts.updated, run.counts.archived) == (1, 0)
    assert board.statuses() == {"a": "active", "b": "active"}
    assert (run.state, "leniently" in run.withheld) == ("partial", True)
