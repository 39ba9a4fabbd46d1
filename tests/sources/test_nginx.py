"""Sources at a real nginx."""

import os
import shutil
import socket
import subprocess
import time
from datetime import timedelta

import pytest

from syncd.sources.http import Times
from syncd.sources.results import NotModified
from tests.nginx import CONFIGURATION

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
HTTP = """\
    types {{ application/xml xml; text/html html; }}
    gzip on;
    gzip_types application/xml;
    limit_req_zone $binary_remote_addr zone=few:1m rate=1r/m;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/root;
        location /private/ {{ auth_basic "jobs"; auth_basic_user_file {folder}/users; }}
        location /slow/ {{ limit_rate 100; gzip off; }}
        location /few/ {{ limit_req zone=few; limit_req_status 429; error_page 429 @few; }}
        location @few {{ internal; add_header Retry-After 30 always; return 429; }}
        location = /moved.xml {{ return 301 /jobs.xml; }}
        location = /login.xml {{ return 302 /login.html; }}
        location = /cut.xml {{ proxy_pass http://127.0.0.1:{cut}; }}
        location = /out {{ return 302 http://169.254.169.254/latest/meta-data/; }}
    }}
"""
FEED = b"<jobs>" + b"<job><id>1</id></job>" * 100 + b"</jobs>"


@pytest.fixture
def nginx(tmp_path, raw_site):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path / "nginx"
    for name in ("jobs.xml", "private/jobs.xml", "slow/jobs.xml", "few/jobs.xml"):
        (folder / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "root" / name).write_bytes(FEED)
    (folder / "root" / "login.html").write_text("<!doctype html><form>")
    hashed = subprocess.run(
        ["openssl", "passwd", "-apr1", "pa:ss"], check=True, capture_output=True, text=True
    )
    (folder / "users").write_text(f"acme:{hashed.stdout}")
    user = "user root;" if os.geteuid() == 0 else ""
    http = HTTP.format(folder=folder, port=port, cut=raw_site.port)
    (folder / "conf").write_text(CONFIGURATION.format(user=user, folder=folder, http=http))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([str(NGINX), "-p", folder, "-c", folder / "conf"], stdout=log, stderr=log)
    until = time.monotonic() + 30
    while True:
        assert process.poll() is None, (folder / "log").read_text()
        assert time.monotonic() < until, "nginx did not start"
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait()


async def test_a_file_at_a_real_server(nginx, incoming):
    file = await incoming.fetch(f"{nginx}/jobs.xml")
    assert file.path.read_bytes() == FEED
    assert file.seen.etag.startswith('W/"')  # it came with gzip
    file.path.unlink()
    assert await incoming.fetch(f"{nginx}/jobs.xml", file.seen) == NotModified("304 Not Modified")
    assert (await incoming.fetch(f"{nginx}/moved.xml")).path.read_bytes() == FEED


async def test_a_login_at_a_real_server(nginx, incoming):
    url = f"{nginx}/private/jobs.xml"
    for login in ({}, {"username": "acme", "password": "wrong"}):
        error = await incoming.refusal(url, **login)
        assert str(error) == "401 Unauthorized: see the credentials of [source]"
    assert (await incoming.fetch(url, username="acme", password="pa:ss")).size == len(FEED)


async def test_failures_of_a_real_server(nginx, raw_site, incoming):
    assert str(await incoming.refusal(f"{nginx}/none.xml")) == "404 Not Found: see the address of [source]"
    assert "HTML page" in str(await incoming.refusal(f"{nginx}/login.xml"))
    assert "169.254.169.254 is not a public address" in str(await incoming.refusal(f"{nginx}/out"))
    error = await incoming.refusal(f"{nginx}/slow/jobs.xml", times=Times(whole=0.5))
    assert str(error) == "the fetch took longer than 0.5 s"
    raw_site.pieces = [b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + FEED]
    error = await incoming.refusal(f"{nginx}/cut.xml")
    assert str(error) == "the answer is cut off or damaged"
    (await incoming.fetch(f"{nginx}/few/jobs.xml")).path.unlink()
    error = await incoming.refusal(f"{nginx}/few/jobs.xml")
    assert (error.status, error.temporary, error.retry_after) == (429, True, timedelta(seconds=30))
