"""Copies of files: they are equal and independent, and the kernel makes them where it can. Drafts, in a folder of the
daemon's own."""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from syncd.sync import files

MIB = 1024 * 1024


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let this process write no file over ``size`` bytes. This takes the place of a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def copied(source: Path, folder: Path) -> bytes:
    """Copy ``source``. Return the content of the copy."""
    into = os.open(folder, os.O_RDONLY)
    try:
        with source.open("rb", buffering=0) as file:
            files.copy_into(file, "copy", into)
    finally:
        os.close(into)
    return (folder / "copy").read_bytes()


def test_a_copy_is_equal_and_does_not_change_with_the_source(tmp_path):
    source, content = tmp_path / "source", os.urandom(1000) * 40_000
    source.write_bytes(content)
    assert copied(source, tmp_path) == content
    with source.open("r+b") as file:
        file.write(b"changed")
    assert (tmp_path / "copy").read_bytes() == content
    assert (tmp_path / "copy").stat().st_nlink == 1


def test_the_kernel_copies_where_it_can(tmp_path, monkeypatch):
    by_this_process: list[bytes] = []
    monkeypatch.setattr(
        files.shutil, "copyfileobj", lambda source, copy: by_this_process.append(source.read())
    )
    (tmp_path / "source").write_bytes(bytes(8 * MIB))
    assert len(copied(tmp_path / "source", tmp_path)) == 8 * MIB
    assert by_this_process == [b""]


@pytest.mark.parametrize("source", ["/proc/version", "/proc/self/cmdline"])
def test_a_file_that_the_kernel_cannot_copy_is_read_and_written(tmp_path, source):
    assert copied(Path(source), tmp_path) == Path(source).read_bytes() != b""


def test_a_file_that_exists_is_not_overwritten(tmp_path):
    (tmp_path / "source").write_bytes(b"new")
    (tmp_path / "copy").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        copied(tmp_path / "source", tmp_path)
    assert (tmp_path / "copy").read_bytes() == b"old"


def test_a_full_disk_is_an_error_also_when_the_kernel_copies(tmp_path):
    (tmp_path / "source").write_bytes(bytes(2 * MIB))
    with largest_file(MIB), pytest.raises(OSError, match="File too large"):
        copied(tmp_path / "source", tmp_path)


def test_a_draft_that_cannot_be_written_leaves_no_file(tmp_path):
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with largest_file(1000), pytest.raises(OSError, match="too large"):
            files.write_draft(folder, lambda file: file.write(b"x" * 1001))
        assert os.listdir(tmp_path) == []
        name = files.write_draft(folder, lambda file: file.write(b"x" * 1001))
        assert os.listdir(tmp_path) == [name]
    finally:
        os.close(folder)
