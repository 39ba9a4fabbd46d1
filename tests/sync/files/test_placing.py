"""Drafts of files, in a folder of the daemon's own."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from syncd.sync import files


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let this process write no file over ``size`` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_draft_that_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with largest_file(1000), pytest.raises(OSError, match="too large"):
            files.write_draft(folder, b"x" * 1001)
        assert os.listdir(tmp_path) == []
        name = files.write_draft(folder, b"x" * 1001)
        assert os.listdir(tmp_path) == [name]
    finally:
        os.close(folder)
