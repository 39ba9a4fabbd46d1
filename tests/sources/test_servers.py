"""Files on servers as far as no server is needed: folders of this machine, packages that are missing, and servers that hang."""

import asyncio
import os
import time

import pytest

from syncd.feeds.source import Request
from syncd.sources import connections, servers
from syncd.sources.results import NotModified, Seen, Times
from syncd.sources.threads import apart
from tests.sources.conftest import example


@pytest.fixture
def out(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def put(folder, name, text, when=1_700_000_000):
    (folder / name).write_text(text)
    os.utime(folder / name, (when, when))


async def test_a_file_of_this_machine(out, incoming):
    put(out, "jobs.xml", "<jobs/>")
    request = Request(f"file://{out}/jobs.xml")
    (file,) = await incoming.take(request)
    assert (file.name, file.size) == ("jobs.xml", 7)
    assert await incoming.take(request, file.seen) == NotModified("the file has not changed")
    put(out, "jobs.xml", "<more/>", 1_700_000_001)
    (file,) = await incoming.take(request, file.seen)
    await servers.delete(request, file.seen)
    assert [*out.iterdir()] == []
    missing = "there is no such file at this machine: see the address of [source]"
    assert await incoming.refused(request) == (missing, False)


async def test_links_and_devices_are_not_read(out, incoming):
    put(out, "a.xml", "<a/>")
    (out / "b.xml").symlink_to("/etc/passwd")
    os.mkfifo(out / "c.xml")
    (file,) = await incoming.take(Request(f"file://{out}/*.xml"))
    assert file.name == "a.xml"
    for name in ("b.xml", "c.xml"):
        text = f"{name} is a link, a folder or a device: see the address of [source]"
        assert await incoming.refused(Request(f"file://{out}/{name}")) == (text, False)


async def test_a_file_that_is_empty_or_too_large_leaves_nothing(out, incoming):
    put(out, "a.xml", "<a/>", 10)
    put(out, "b.xml", "", 20)
    put(out, "c.xml", "x" * 100)
    assert await incoming.refused(Request(f"file://{out}/*.xml")) == ("b.xml: the file is empty", False)
    text = "the file is larger than 50 bytes ([limits] file)"
    assert await incoming.refused(Request(f"file://{out}/c.xml"), max_bytes=50) == (text, False)


async def test_a_file_that_grows_is_tried_again(out, incoming, monkeypatch):
    put(out, "a.xml", "<a/>")
    real = connections.Folder.read

    async def grow(self, path, size):
        async for chunk in real(self, path, size):
            yield chunk
        put(out, "a.xml", "<a/><b/>")

    monkeypatch.setattr(connections.Folder, "read", grow)
    text = "the file changed while it was fetched, or its end is missing"
    assert await incoming.refused(Request(f"file://{out}/a.xml")) == (text, True)


async def test_a_turn_takes_some_files_and_the_next_one_goes_on(out, incoming, monkeypatch):
    monkeypatch.setattr(servers, "MAX_NEW", 2)
    for number in range(3):
        put(out, f"{number}.xml", f"<{number}/>", number)
    request, seen, came = Request(f"file://{out}/*.xml"), Seen(), []
    while isinstance(files := await incoming.take(request, seen), list):
        came.append([file.name for file in files])
        seen = files[-1].seen
    assert came == [["0.xml", "1.xml"], ["2.xml"]]
    monkeypatch.setattr(servers, "MAX_FILES", 2)
    text = '*.xml matches 3 files, more than 2: say after = "delete", or move old ones'
    assert await incoming.refused(request) == (text, False)


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("sftp://a.example/x", "sftp needs the package asyncssh, which is not installed: pip install 'syncd[sources]'"),
        ("s3://acme/x", "s3 needs the package s3fs, which is not installed: pip install 'syncd[sources]'"),
        ("gs://acme/x", "gs needs the package gcsfs, which is not installed: pip install gcsfs"),
        ("az://acme/x", "az needs the package azure.storage.blob, which is not installed: pip install azure-storage-blob"),
    ],
)  # fmt: skip
async def test_a_package_that_is_missing(url, text, incoming, monkeypatch):
    monkeypatch.setattr(connections, "find_spec", lambda name: None)
    assert await incoming.refused(Request(url)) == (text, False)


async def test_a_server_that_hangs_ends_with_its_time_or_its_cancellation(incoming, out):
    put(out, "a.xml", "<a/>")
    request = Request("sftp://127.0.0.1:1/x", insecure_hosts=frozenset(("127.0.0.1",)), known_hosts="")

    async def hang(*_):
        await asyncio.sleep(60)

    class Hanging(connections.Folder):
        entries = entry = hang

    began = time.monotonic()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connections, "Folder", Hanging)
        request = Request(f"file://{out}/a.xml")
        text = ("the server sent nothing for 0.1 s", True)
        assert await incoming.refused(request, times=Times(silence=0.1)) == text
        assert await incoming.refused(request, times=Times(whole=0.1)) == (
            "the fetch took longer than 0.1 s",
            True,
        )
        task = asyncio.create_task(incoming.take(request))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert time.monotonic() - began < 5


async def test_work_apart_has_its_end_when_it_is_cancelled():
    ended = []

    async def work():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    task = asyncio.create_task(apart(work()))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]


async def test_the_examples_of_the_guide(out, incoming, monkeypatch):
    put(out, "jobs-1.xml", "<jobs/>")
    (file,) = await incoming.take(example("file", "/srv/acme/export", str(out)))
    assert file.name == "jobs-1.xml"
    monkeypatch.setattr(connections, "find_spec", lambda _name: None)
    for name, address in [("gs", "gs://"), ("az", "az://")]:
        request = example(name, address, address, {"acme.service-account": "{}", "acme.account-key": "x"})
        text, _ = await incoming.refused(request)
        assert text.startswith(f"{name} needs the package ")
