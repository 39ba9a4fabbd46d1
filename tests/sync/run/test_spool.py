"""A list that goes to a scratch file when it is long."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncd.sync.run import spool
from syncd.sync.run.spool import Spool


@pytest.mark.parametrize("in_memory", [1 << 20, 10])
def test_a_spool_has_its_values_in_order_and_may_be_read_and_added_to_in_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int
) -> None:
    monkeypatch.setattr(spool, "MAX_IN_MEMORY", in_memory)
    values = Spool[object](tmp_path)
    assert (len(values), list(values), bool(values)) == (0, [], False)
    for number in range(100):
        values.append((number, "é" * number))
        reading = iter(values)
        assert next(reading) == (0, "")
    assert list(zip(values, values, strict=True)) == [((n, "é" * n), (n, "é" * n)) for n in range(100)]
    assert ((99, "é" * 99) in values, 7 in values, len(values)) == (True, False, 100)
    assert list(tmp_path.iterdir()) == []
