"""The memory that a fetch of a large file takes."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from syncd.feeds.source import Request
from tests.sources.memory import MOST, SIZE, memory


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
        size, more = memory(tmp_path, Request(f"{url}/small"), Request(f"{url}/large"))
        server.shutdown()
    assert size == SIZE
    assert more < MOST
