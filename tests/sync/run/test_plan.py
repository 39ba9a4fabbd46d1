"""A dry run reports what the run of the same file then reports (docs/reconciliation.md "Dry run")."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from syncd.domain import RunCounts
from tests.sync.board import Board
from tests.sync.native_files import as_xml

#: The settings, and the file that comes after one with r1 to r20.
CASES: dict[str, tuple[str, Callable[[Board], Any]]] = {
    "archives": ("", lambda b: [*b.rows(1, 18, confidential=True), b.row("new")]),
    "nothing": ("", lambda b: [*b.rows(1, 20), b.row("r20")]),
    "rows that archive": ("", lambda b: [*b.rows(1, 2, closeDate="2026-11-15"), *b.rows(3, 19)]),
    "grace": ("grace = 2", lambda b: b.rows(1, 18)),
    "held archive": ("", lambda b: b.rows(1, 9, confidential=True)),
    "held rows that archive": (
        "",
        lambda b: [
            *b.rows(1, 2, closeDate="2026-11-15"),
            *b.rows(3, 5, status="archived"),
            *b.rows(6, 16, confidential=True),
            b.row("new"),
        ],
    ),
    "held all": ("", lambda b: [*b.rows(1, 8, title="Chef"), *b.rows(9, 14, title="")]),
    "held settings": ("renew = false", lambda b: b.rows(1, 19)),
    "empty": ("", lambda b: []),
    "withheld": (
        "",
        lambda b: as_xml(b.rows(1, 9, confidential=True), "<expectedJobCount>20</expectedJobCount>"),
    ),
    "warnings": ("", lambda b: [*b.rows(1, 19), b.row("r19", title="Chef"), b.row(None, title="Cook r20")]),
    "rejected": ("", lambda b: [*b.rows(1, 18), *b.rows(19, 20, title="")]),
    "left out": ('[rows]\nskip = { title = "Chef" }', lambda b: [*b.rows(1, 20), b.row("new", title="Chef")]),
    "delta": ('mode = "delta"', lambda b: b.rows(1, 3, title="Chef")),
}


@pytest.mark.parametrize("case", CASES)
def test_a_dry_run_reports_what_the_run_then_reports(board, case):
    toml, content = CASES[case]
    board.deliver(board.feed(), board.rows(1, 20))
    feed, before = board.feed(toml), board.jobs()
    planned = board.importer.plan(feed, board.file(content(board)).path)
    assert board.jobs() == before
    run = board.deliver(feed, content(board))
    same = replace(
        planned.run,
        id=run.id,
        state=run.state,
        claimed_at=run.claimed_at,
        ended_at=run.ended_at,
        phases=run.phases,
        planned=run.planned,
    )
    if run.holds == "all":  # nothing happened yet
        assert run.planned == replace(same.counts, archived=same.counts.missing)
        happened = replace(run.counts, read=0, replaced=0, rejected=0, filtered=0, missing=0, warnings=0)
        assert happened == RunCounts()
        same = replace(same, counts=run.counts)
    assert same == run
    assert list(planned.warnings) == board.warnings(run)
    assert list(planned.rejected) == board.rejected(run)
