"""The examples of docs/deploy/proxy.md, with the real proxies: TLS in front of a daemon."""

import contextlib
import http.client
import json
import os
import re
import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from tests.certificates import make_certificate
from tests.e2e.conftest import BASE, free_port, wait_until
from tests.nginx import CONFIGURATION

pytestmark = pytest.mark.slow
DEPLOY = Path(__file__).parents[2] / "docs" / "deploy"
NAME = "jobs.example.ca"
#: A client that the daemon can tell from the proxy.
CLIENT = "127.0.0.9"


class Proxy:
    """A proxy with the example as it is, but for ports and certificate."""

    def __init__(self, kind, path, folder, upstream):
        self.port, self.clear = free_port(), free_port()
        self._open = []
        self.certificate, key = make_certificate(folder, f"DNS:{NAME}")
        if kind == "nginx":
            site = (DEPLOY / "nginx.conf").read_text()
            changes = {
                "127.0.0.1:8080": upstream, "listen 443": f"listen 127.0.0.1:{self.port}",
                "listen 80": f"listen 127.0.0.1:{self.clear}", "/etc/ssl/jobs.example.ca.pem": str(self.certificate),
                "/etc/ssl/private/jobs.example.ca.key": str(key),
            }  # fmt: skip
            user = "user root;" if os.geteuid() == 0 else ""  # who can write in the folder
            text = CONFIGURATION.format(user=user, folder=folder, http=changed(site, changes))
            command = [path, "-p", folder, "-c", folder / "conf"]
        else:
            changes = {
                "127.0.0.1:8080": upstream,
                f"\n{NAME} {{": f"\nhttps://{NAME}:{self.port} {{\n\tbind 127.0.0.1\n\ttls {self.certificate} {key}",
            }
            options = "{\n\tadmin off\n\tauto_https disable_redirects\n}\n"
            text = options + changed((DEPLOY / "Caddyfile").read_text(), changes)
            command = [path, "run", "--adapter", "caddyfile", "--config", folder / "conf"]
        (folder / "conf").write_text(text)
        environ = {"HOME": str(folder), "PATH": "/usr/sbin:/usr/bin:/bin"}
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [*map(str, command)], stdout=log, stderr=log, env=environ, cwd=folder
            )
        wait_until(lambda: self.answers(folder), f"the start of {kind}")

    def answers(self, folder):
        assert self.process.poll() is None, (folder / "log").read_text()
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except OSError:
            return False
        return True

    def connect(self):
        """Return a connection of a client to the proxy, by the name of its certificate."""
        trust = ssl.create_default_context(cafile=self.certificate)
        connection = http.client.HTTPSConnection(NAME, self.port, timeout=30, context=trust)
        self._open.append(connection)
        plain = socket.create_connection(("127.0.0.1", self.port), 30, source_address=(CLIENT, 0))
        connection.sock = trust.wrap_socket(plain, server_hostname=NAME)
        return connection

    def ask(self, method, path, body=None, headers=None, connection=None):
        """Return status, headers and body of an answer."""
        connection = connection or self.connect()
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def close(self):
        for connection in self._open:
            connection.close()
        self.process.terminate()
        self.process.wait(30)


def changed(text, changes):
    """Return the text with each of these parts changed; each must be there."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


@pytest.fixture(params=["nginx", "caddy"])
def proxy(request, program, installation, start, tmp_path_factory):
    """(proxy, daemon, key): a proxy that the daemon trusts."""
    program("openssl")
    path = program(request.param, f"/usr/sbin/{request.param}")
    key = installation.employer_with_key()
    daemon = start({"SYNCD_API__TRUSTED_PROXIES": "127.0.0.1"})
    proxy = Proxy(request.param, path, tmp_path_factory.mktemp("proxy"), daemon.address())
    yield proxy, daemon, key
    proxy.close()


def job(**members):
    return json.dumps({"referenceId": "A-1", "title": "Welder", **members})


def test_links_lead_to_the_proxy(proxy, installation, make_row, until):
    proxy, daemon, key = proxy
    (installation.drop_folder / "acme").mkdir(exist_ok=True)
    installation.drop("jobs.csv", [make_row("A-1"), make_row("A-2")])
    until(lambda: daemon.events("feed.reconciled"), "the run")
    status, headers, body = proxy.ask("GET", f"{BASE}/jobs?pageSize=1", headers={"API-Key": key})
    assert (status, len(json.loads(body)["data"])) == (200, 1)
    links = re.findall(r"<([^>]+)>", headers["Link"])
    assert links
    assert {link.partition("/api/")[0] for link in links} <= {f"https://{NAME}:{proxy.port}"}


def test_the_daemon_sees_the_client_and_not_what_the_client_says_it_is(proxy):
    proxy, daemon, _key = proxy
    lies = {"API-Key": "wrong", "X-Forwarded-For": "203.0.113.7", "X-Forwarded-Host": "evil.example"}
    status, headers, body = proxy.ask("GET", f"{BASE}/jobs", headers=lies)
    assert status == 401
    assert b"evil.example" not in body + str(headers).encode()
    [event] = daemon.wait_for_event("api.request")
    assert event["client"] == CLIENT


def test_large_bodies_pass_and_too_large_ones_are_answered_by_the_daemon(proxy):
    proxy, _daemon, key = proxy
    headers = {"API-Key": key, "Content-Type": "application/json"}
    fits, beyond = job(description="x" * 1_000_000), job(description="x" * 1_500_000)
    status, _, body = proxy.ask("PUT", f"{BASE}/jobs", fits, headers)
    assert (status, json.loads(body)["code"]) == (422, "validation_failed")
    status, _, body = proxy.ask("PUT", f"{BASE}/jobs", beyond, headers)
    assert (status, json.loads(body)["code"]) == (413, "body_too_large")


def test_connections_are_kept_on_both_sides(proxy):
    proxy, daemon, key = proxy
    connection = proxy.connect()
    before = connection.sock.getsockname()
    for _ in range(30):
        assert proxy.ask("GET", f"{BASE}/jobs", headers={"API-Key": key}, connection=connection)[0] == 200
        assert connection.sock.getsockname() == before
    assert len(connections_of(int(daemon.address().rpartition(":")[2]))) <= 3


def connections_of(port):
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {line[1] for line in lines if line[2] == f"0100007F:{port:04X}" and line[3] != "0A"} | {
        line[2] for line in lines if line[1] == f"0100007F:{port:04X}" and line[3] != "0A"
    }


@pytest.mark.parametrize("proxy", ["nginx"], indirect=True)
def test_without_tls_nobody_gets_anything(proxy):
    """Caddy answers with a redirection to TLS on a port that only root may listen on."""
    proxy, daemon, key = proxy
    connection = http.client.HTTPConnection("127.0.0.1", proxy.clear, timeout=30)
    with contextlib.closing(connection):
        connection.request("GET", f"{BASE}/jobs", headers={"API-Key": key})
        assert connection.getresponse().status == 403
    assert daemon.events("api.request") == []
