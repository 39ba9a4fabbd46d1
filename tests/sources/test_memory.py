"""The memory that a fetch of a large file takes."""

import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.amounts import WHOLE

SIZE, MOST = (1 << 30 if WHOLE else 1 << 27), 40 << 20
FETCH = """
import asyncio, resource, sys
from pathlib import Path
from syncd.feeds.source import Request
from syncd.sources import http
from syncd.sources.results import Seen
from tests.sources.conftest import LOOPBACK, NOW

def fetch(url):
    request = Request(url, insecure_hosts=LOOPBACK)
    (file,) = asyncio.run(
        http.fetch(request, Seen(), Path(sys.argv[1]), max_bytes=1 << 31, user_agent="x", now=NOW)
    )
    return file.size, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

_, before = fetch(sys.argv[2] + "/small")
size, after = fetch(sys.argv[2] + "/large")
print(size, after - before)
"""


class Handler(BaseHTTPRequestHandler):
    """Answers with a file of ``SIZE``, or of some bytes."""

    def do_GET(self):
        pieces = SIZE >> 20 if self.path == "/large" else 1
        self.send_response(200)
        self.send_header("Content-Length", str(pieces << 20))
        self.end_headers()
        for _ in range(pieces):
            self.wfile.write(b"<job/>xx" * (1 << 17))

    def log_message(self, *_):
        pass


def test_a_large_file_takes_little_memory(tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        command = [sys.executable, "-c", FETCH, str(tmp_path), url]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        server.shutdown()
    size, more = map(int, done.stdout.split())
    assert size == SIZE
    assert more < MOST
