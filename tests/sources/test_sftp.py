"""Sources at a real OpenSSH."""

import asyncio
import os
import shutil
import socket
import socketserver
import subprocess
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from syncd.feeds.source import Request
from syncd.sources import servers
from syncd.sources.results import NotModified, SourceError, Terms, Times
from tests.sources.conftest import LOOPBACK, NOW, Incoming, example
from tests.sources.memory import MOST, SIZE, memory

pytest.importorskip("asyncssh", reason="the extra sources is not installed")
SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin:/usr/local/sbin")
pytestmark = [
    pytest.mark.skipif(SSHD is None, reason="OpenSSH is not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who can give a user a password"),
]
PASSWORD = "pa:ss wörd"
CONFIGURATION = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host
PidFile none
AuthorizedKeysFile {folder}/authorized
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication yes
Subsystem sftp internal-sftp
Match User reader
    ForceCommand internal-sftp -R
"""
#: Users of the server are root under other names, and exist in it alone.
START = """\
set -e
for file in passwd shadow; do cp -p /etc/$file {folder}/$file; cat {folder}/$file.more >> {folder}/$file; done
mount --bind {folder}/passwd /etc/passwd
mount --bind {folder}/shadow /etc/shadow
mkdir -p /run/sshd
exec {sshd} -D -e -f {folder}/conf
"""


def make_key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path.read_text()


@dataclass
class Ssh:
    """A server, and a folder of it. ``request`` is one with the right key and the right host key."""

    folder: Path
    port: int
    key: str
    known: str
    out: Path = field(init=False)

    def request(self, path, **values):
        usual = {"username": "acme", "key": self.key, "known_hosts": self.known, "insecure_hosts": LOOPBACK}
        return Request(f"sftp://127.0.0.1:{self.port}{self.out}/{path}", **usual | values)

    def put(self, name, text, when=1_700_000_000):
        (self.out / name).write_text(text)
        os.utime(self.out / name, (when, when))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sshd")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    key = make_key(folder / "user")
    make_key(folder / "host")
    (folder / "authorized").write_text((folder / "user.pub").read_text())
    (folder / "conf").write_text(CONFIGURATION.format(folder=folder, port=port))
    hashed = subprocess.run(["openssl", "passwd", "-6", PASSWORD], check=True, capture_output=True, text=True)
    users = ("acme", "reader")
    (folder / "passwd.more").write_text("".join(f"{user}:x:0:0::{folder}:/bin/sh\n" for user in users))
    (folder / "shadow.more").write_text(
        "".join(f"{user}:{hashed.stdout.strip()}:19000::::::\n" for user in users)
    )
    command = [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        START.format(folder=folder, sshd=SSHD),
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    until = time.monotonic() + 30
    while b"listening" not in (folder / "log").read_bytes():
        if process.poll() is not None or time.monotonic() > until:
            process.kill()
            process.wait()
            pytest.skip(f"no OpenSSH with users of its own: {(folder / 'log').read_text()}")
        time.sleep(0.02)
    host = (folder / "host.pub").read_text()
    yield Ssh(folder, port, key, f"[127.0.0.1]:{port} {host}")
    process.terminate()
    process.wait()


@pytest.fixture
def ssh(server, tmp_path):
    server.out = tmp_path / "out"
    server.out.mkdir()
    server.put("jobs.xml", "<jobs/>")
    return server


class Stalling(socketserver.ThreadingTCPServer):
    """A way to a server that lets some bytes of each answer through, and then nothing."""

    daemon_threads, BYTES = True, 400_000

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), socketserver.BaseRequestHandler)
        self.there, self.stalled, self.ended = ("127.0.0.1", port), threading.Event(), threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, _address):
        with socket.create_connection(self.there) as there:
            threading.Thread(target=self.forward, args=(request, there), daemon=True).start()
            self.forward(there, request, self.BYTES)
            self.stalled.set()
            self.ended.wait()

    def forward(self, source, target, left=1 << 30):
        try:
            while left > 0 and (data := source.recv(min(left, 1 << 16))):
                target.sendall(data)
                left -= len(data)
        except OSError:
            pass  # one of them has gone


@pytest.fixture
def stalling(ssh):
    with Stalling(ssh.port) as proxy:
        yield proxy
        proxy.ended.set()
        proxy.shutdown()


async def test_a_file_by_key_and_by_password(ssh, incoming):
    for login in ({}, {"key": None, "password": PASSWORD}):
        (file,) = await incoming.take(ssh.request("jobs.xml", **login))
        assert (file.name, file.size) == ("jobs.xml", 7)
        assert await incoming.take(ssh.request("jobs.xml"), file.seen) == NotModified(
            "the file has not changed"
        )


async def test_what_is_refused_says_why(ssh, incoming, tmp_path):
    other = make_key(tmp_path / "other")
    subprocess.run(["ssh-keygen", "-q", "-N", "secret", "-f", tmp_path / "locked"], check=True)
    locked = (tmp_path / "locked").read_text()
    host = (tmp_path / "other.pub").read_text()
    login = "127.0.0.1 refuses the login: see username, password and key of [source]"
    advice = "it may be another server; ask its owner before known_hosts is changed"
    changed = f"the host key of 127.0.0.1 is not that of known_hosts: {advice}"
    key = "key cannot be read: it is the contents of a private key without passphrase"
    scan = f"ask its owner whether that of `ssh-keyscan -p {ssh.port} 127.0.0.1` is right, and add it"
    unknown = f"known_hosts has no key of 127.0.0.1: {scan}"
    for values, text in [
        ({"key": other}, login),
        ({"key": None, "password": "wrong"}, login),
        ({"username": "nobody-there"}, login),
        ({"known_hosts": f"[127.0.0.1]:{ssh.port} {host}"}, changed),
        ({"known_hosts": f"files.example {host}"}, unknown),
        ({"known_hosts": ""}, unknown),
        ({"key": locked}, key),
        ({"key": "/etc/key"}, key),
        ({"insecure_hosts": ()}, '127.0.0.1 is not a public address: if that is meant, say insecure_hosts = ["127.0.0.1"]'),
    ]:  # fmt: skip
        assert await incoming.refused(ssh.request("jobs.xml", **values)) == (text, False)
    missing = "there is no such file at 127.0.0.1: see the address of [source]"
    assert await incoming.refused(ssh.request("none.xml")) == (missing, False)
    assert await incoming.refused(ssh.request("none/*.xml")) == (missing, False)


async def test_a_pattern_takes_what_is_new_or_changed_the_oldest_first(ssh, incoming):
    for name, when in [("b.xml", 20), ("a.xml", 30), ("c.xml", 10), ("d.csv", 5), (".e.xml", 5)]:
        ssh.put(name, f"<{name}/>", when)
    (ssh.out / "f.xml").symlink_to("/etc/passwd")
    (ssh.out / "g.xml").mkdir()
    request = ssh.request("[a-z].xml")
    files = await incoming.take(request)
    assert [file.name for file in files] == ["c.xml", "b.xml", "a.xml"]
    seen = files[-1].seen
    assert await incoming.take(request, seen) == NotModified("none of 3 files that match [a-z].xml is new")
    ssh.put("b.xml", "<b2/>", 40)
    ssh.put("h.xml", "<h/>", 35)
    assert [file.name for file in await incoming.take(request, seen)] == ["h.xml", "b.xml"]
    assert await incoming.take(ssh.request("*.json"), seen) == NotModified("nothing matches *.json")


async def test_files_are_deleted_unless_they_changed(ssh, incoming):
    for name in ("a.xml", "b.xml", "c.xml"):
        ssh.put(name, f"<{name}/>")
    request = ssh.request("[a-z].xml")
    seen = (await incoming.take(request))[-1].seen
    ssh.put("b.xml", "<changed/>", 50)
    with pytest.raises(SourceError) as caught:
        await servers.delete(ssh.request("[a-z].xml", username="reader"), seen)
    assert (
        str(caught.value)
        == "a.xml cannot be deleted: 127.0.0.1 does not let this login do that: ask its owner for the rights"
    )
    await servers.delete(request, seen)
    assert sorted(path.name for path in ssh.out.iterdir()) == ["b.xml", "jobs.xml"]


async def test_a_look_asks_for_the_list_alone(ssh, incoming):
    await servers.look(ssh.request("*.json"), Terms("", NOW, 0))
    with pytest.raises(SourceError, match="no such file"):
        await servers.look(ssh.request("none.xml"), Terms("", NOW, 0))


async def test_a_file_that_is_too_large_leaves_nothing(ssh, incoming):
    ssh.put("a.xml", "<a/>")
    ssh.put("b.xml", "x" * 600_000, 1_800_000_000)
    text = "b.xml: the file is larger than 500000 bytes ([limits] file)"
    assert await incoming.refused(ssh.request("[ab].xml"), max_bytes=500_000) == (text, False)


def through(ssh, proxy, path):
    """Return a request that comes to the server by the proxy."""
    port = proxy.server_address[1]
    known = ssh.known.replace(f":{ssh.port} ", f":{port} ")
    request = ssh.request(path, known_hosts=known)
    return replace(request, url=request.url.replace(f":{ssh.port}/", f":{port}/"))


async def test_a_server_that_hangs_in_mid_file_delays_no_other_and_ends(ssh, stalling, incoming, tmp_path):
    ssh.put("large.xml", "x" * 4_000_000)
    own = tmp_path / "hangs" / ".incoming"
    own.mkdir(parents=True)
    hangs, request = Incoming(own), through(ssh, stalling, "large.xml")
    waiting = asyncio.create_task(hangs.refused(request, times=Times(silence=1)))
    await asyncio.to_thread(stalling.stalled.wait, 10)
    (file,) = await asyncio.wait_for(incoming.take(ssh.request("jobs.xml")), 5)
    assert (file.size, waiting.done(), len(hangs.names())) == (7, False, 1)
    assert await asyncio.wait_for(waiting, 10) == ("the server sent nothing for 1 s", True)
    stalling.stalled.clear()
    waiting = asyncio.create_task(hangs.take(request))
    await asyncio.to_thread(stalling.stalled.wait, 10)
    began = time.monotonic()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert time.monotonic() - began < 1
    assert hangs.names() == []


def test_a_server_that_hangs_delays_neither_another_feed_nor_the_stop_of_the_daemon(
    ssh, stalling, acme, start
):
    ssh.put("large.xml", "x" * 4_000_000)
    for name, request in {"hangs": through(ssh, stalling, "large.xml"), "acme": ssh.request("*.csv")}.items():
        for kind in ("key", "known_hosts"):
            secret(acme, f"{name}.{kind}", getattr(request, kind))
        keys = (
            f'key = {{ credential = "{name}.key" }}\nknown_hosts = {{ credential = "{name}.known_hosts" }}\n'
        )
        more = 'username = "acme"\nevery = "1s"\ninsecure_hosts = ["127.0.0.1"]\n'
        acme.feed(name, f'employer = "Acme Ltd."\n[source]\nurl = "{request.url}"\n{keys}{more}')
    daemon = start()
    assert stalling.stalled.wait(20)
    for number in (1, 2):
        ssh.put(f"jobs-{number}.csv", f"id\n{number}\n")
        fetched = daemon.wait_for_event("source.fetched", number)
        assert (fetched[-1]["feed"], len(fetched[-1]["files"])) == ("acme", 1)
    began = time.monotonic()
    assert daemon.stop() == 0
    assert time.monotonic() - began < 10
    assert [*(acme.drop_folder / "hangs" / ".incoming").iterdir()] == []


def secret(installation, name, text):
    path = installation.base / "config" / "credentials" / name
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.touch(0o600)
    path.write_text(text)


async def test_the_example_of_the_guide(ssh, incoming):
    texts = {"acme.key": ssh.key, "acme.known_hosts": ssh.known}
    place = f"127.0.0.1:{ssh.port}{ssh.out}/"
    request = replace(example("sftp", "sftp.acme.example/out/", place, texts), username="acme")
    ssh.put("jobs-1.xml", "<jobs/>")
    (file,) = await incoming.take(request)
    assert file.name == "jobs-1.xml"


def test_a_large_file_takes_little_memory(ssh, tmp_path):
    ssh.put("small.xml", "x" * (1 << 20))
    with (ssh.out / "large.xml").open("wb") as file:
        file.truncate(SIZE)
    size, more = memory(tmp_path, ssh.request("small.xml"), ssh.request("large.xml"))
    assert size == SIZE
    assert more < MOST
