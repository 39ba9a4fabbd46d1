"""A record that is far too large is one rejected row, and takes little memory; what cannot be held fails the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.amounts import some
from tests.sync.board import Board
from tests.sync.measured import syncd

MB = 1_000_000
MOST = 200  # MiB
SHAPES = {
    "csv": 'referenceId,title,description\na,x,"{text}"\nb,y,z\n',
    "json": '[{{"referenceId":"a","title":"x","description":"{text}"}},{{"referenceId":"b"}}]',
    "xml": "<jobs><job><referenceId>a</referenceId><description>{text}</description></job>"
    "<job><referenceId>b</referenceId></job></jobs>",
}
NAMES = some(["csv", "json", "xml"], 1)


def import_in_a_process(folder: Path, name: str, size: int) -> tuple[dict[str, Any], int]:
    """Import a file whose first record has a field of about this many bytes, with the command in a process of its own. Return
    the run, and the most memory of that process in MiB."""
    file = folder / f"jobs.{name}"
    file.write_text(SHAPES[name].format(text="word " * (size // 5)))
    ran = syncd(folder, "import", str(file), "--feed", "f", "--json")
    return json.loads(ran.out), ran.peak


@pytest.mark.parametrize("name", NAMES)
def test_a_field_of_8_mb_is_one_rejected_row_in_less_than_200_mb_of_memory(tmp_path: Path, name: str) -> None:
    run, used = import_in_a_process(tmp_path, name, 8 * MB)
    assert (run["state"], run["counts"]["read"], run["counts"]["rejected"]) == ("partial", 2, 2)
    assert used < MOST


@pytest.mark.parametrize("name", NAMES)
def test_a_record_that_is_longer_than_any_reader_holds_fails_the_file(tmp_path: Path, name: str) -> None:
    run, _ = import_in_a_process(tmp_path, name, 9 << 20)
    assert run["state"] == "failed"
    assert run["reason"].startswith("limit_exceeded")


@pytest.mark.parametrize("lines", [False, True])
def test_a_json_record_that_is_too_long_is_named_by_its_beginning(board: Board, lines: bool) -> None:
    feed, others = board.feed(), board.rows(1, 20)
    board.deliver(feed, [*others, board.row("long")])
    long = board.row("long", description="x" * (1 << 20))
    rows = [*others[2:], long]
    content = "\n".join(map(json.dumps, rows)) + "\n" if lines else json.dumps(rows)
    run = board.deliver(feed, content.encode())
    assert (run.state, run.counts.archived, run.counts.rejected) == ("partial", 2, 1)
    [rejected] = board.rejected(run)
    assert (rejected.reference_id, [problem.code for problem in rejected.errors]) == ("long", ["too_long"])
    assert board.job("long").status == "active"
    assert [warning.code for warning in board.warnings(run)] == []
