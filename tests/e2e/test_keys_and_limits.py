"""Keys from the command line beside a running daemon, its limits from the settings file, and hostile clients."""

import re
import socket
import time
import zlib

import pytest

from tests.e2e.conftest import BASE

FIELDS = ["id", "employer", "label", "createdAt", "lastUsedAt", "expiresAt", "revokedAt"]


def test_a_rotated_key_is_printed_alone_with_the_end_of_the_old_one_as_a_remark(acme):
    rotated = acme.run("key", "rotate", "1", "--grace", "2h", "--expires", "90d")
    assert re.fullmatch(r"syncd_[\w-]{43}\n", rotated.out)
    assert re.fullmatch(r"key 1 is valid until \d{4}-\S+ \S+ E[SD]T; give every client [^\n]+\n", rotated.err)
    old, new = acme.run("key", "list", "--json").json
    assert list(old) == list(new) == FIELDS
    assert old["expiresAt"] < new["expiresAt"]
    as_json = acme.run("key", "rotate", "2", "--json")
    assert (as_json.json["id"], as_json.json["key"][:6], as_json.err) == (3, "syncd_", "")


def status(daemon, key):
    return daemon.request("GET", f"{BASE}/jobs", key)[0]


@pytest.mark.slow
def test_keys_change_beside_the_daemon_within_a_second_and_their_use_is_noted(acme, start, until):
    daemon = start()
    assert status(daemon, acme.key) == 200
    new = acme.run("key", "rotate", "1", "--grace", "0").out.strip()
    assert status(daemon, new) == 200
    time.sleep(1)
    assert (status(daemon, acme.key), status(daemon, new)) == (401, 200)
    acme.run("key", "revoke", "2")
    time.sleep(1)
    assert status(daemon, new) == 401
    assert daemon.stop() == 0
    used = [key["lastUsedAt"] for key in acme.run("key", "list", "--json").json]
    assert all(at and at.endswith("Z") for at in used)


def open_socket(daemon):
    host, port = daemon.address().split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def memory(daemon, field="VmRSS"):
    """Return the memory of a process in KiB, as the system counts it."""
    with open(f"/proc/{daemon.process.pid}/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))


def forget_peak(daemon):
    with open(f"/proc/{daemon.process.pid}/clear_refs", "w") as control:
        control.write("5")


@pytest.mark.slow
def test_bombs_leave_memory_flat_and_a_line_each_in_the_log(acme, start, until):
    daemon = start()
    assert status(daemon, acme.key) == 200
    keyed = (
        f"POST {BASE}/jobs HTTP/1.1\r\nHost: x\r\nAPI-Key: {acme.key}\r\nContent-Type: application/json\r\n"
    )
    stream = zlib.compressobj(1, zlib.DEFLATED, 31)
    bomb = b"".join(stream.compress(b" " * (1 << 20)) for _ in range(200)) + stream.flush()
    assert len(bomb) < 1 << 20
    packed = f"{keyed}Content-Encoding: gzip\r\nContent-Length: {len(bomb)}\r\n\r\n".encode() + bomb
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    requests = [
        ([packed], 413),
        ([f"{keyed}Content-Length: {10**12}\r\n\r\n".encode(), *[b" " * 65_536] * 100], 413),
        ([f"{keyed}Transfer-Encoding: chunked\r\n\r\n".encode(), *[chunk] * 100], 413),
        ([f"{keyed}Transfer-Encoding: chunked\r\n\r\n1;".encode(), *[b"a" * 65_536] * 100], None),
        ([f"{keyed}X-A: ".encode(), *[b"a" * 65_536] * 100], 431),
        ([keyed.encode(), *[b"X-A: " + b"a" * 8_000 + b"\r\n"] * 500], 431),
        ([keyed.encode() + b"\r\n" * 2, *[b"\r\n" * 32_768] * 50], 400),
        ([f"GET {BASE}/jobs/1 HTTP/1.1\r\nHost: x\r\nAPI-Key: {acme.key}\r\n\r\n".encode() * 5_000], 404),
    ]
    for parts, _ in requests:
        hurl(daemon, parts)
    before, lines = memory(daemon), len(daemon.events("api.request"))
    forget_peak(daemon)
    answers = []
    for parts, expected in requests:
        answer = hurl(daemon, parts)
        answers.append(answer)
        assert answer in (expected, None), (expected, answer)  # None: closed before the answer could be read
    assert len([answer for answer in answers if answer]) >= 4
    peak = memory(daemon, "VmHWM")
    print(f"memory: {before} KiB before, {peak} KiB at the most")
    assert peak - before < 24 * 1024
    assert status(daemon, acme.key) == 200
    log = daemon.log.read_text()
    assert "Traceback" not in log
    assert not [event for event in daemon.events() if event["level"] in ("error", "critical")]
    assert len(daemon.events("api.request")) - lines <= len(requests) - 1 + 5_000 + 1


def hurl(daemon, parts):
    """Send as much as possible. Return the status of the first answer, or None."""
    with open_socket(daemon) as one:
        try:
            for part in parts:
                one.sendall(part)
        except (ConnectionError, TimeoutError):
            pass
        try:
            answer = one.recv(4096)
        except (ConnectionError, TimeoutError):
            return None
        return int(answer.split()[1]) if answer else None
