"""A fetch that is killed at any instant: the file is there in the end, whole, and a second one has the same bytes."""

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.amounts import WHOLE

BODY = b"<jobs>" + b"<job><id>1</id></job>" * 150_000 + b"</jobs>"
KILLS = 50 if WHOLE else 8

#: For each instant a process of its own fetches until it is killed, and another one fetches once more.
WORLD = """
import asyncio, json, os, shutil, signal, sys, threading
from pathlib import Path
from zoneinfo import ZoneInfo
from syncd.config import load_settings
from syncd.domain import Catalogue
from syncd.feeds.configuration import FeedDefaults, parse_feed
from syncd.sources import Fetcher
from syncd.store import Store, employers, feeds
from syncd.sync.run import Feed

base, url, kills = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
TEXT = f'employer = "Acme"\\n[source]\\nurl = "{url}"\\ninsecure_hosts = ["127.0.0.1"]\\n'

def fetch(folder, deadly):
    "Fetch once; die at the call number ``deadly`` of syncd. Return the number of calls."
    calls, counting = 0, False

    def note(frame, event, _argument):
        nonlocal calls
        if counting and event == "call" and "/syncd/" in frame.f_code.co_filename:
            calls += 1
            if calls == deadly:
                os.kill(os.getpid(), signal.SIGKILL)

    threading.setprofile(note)
    sys.setprofile(note)
    with Store.open(f"sqlite:///{folder}/syncd.db", timezone=ZoneInfo("UTC")) as store:
        owners = store.read(employers.all)
        owner = owners[0] if owners else store.write(lambda tx: employers.add(tx, "Acme"))
        config = parse_feed("acme", TEXT, Catalogue.default(), FeedDefaults())
        number = store.write(lambda tx: feeds.feed_id(tx, "acme", owner.id))
        feed = Feed(number, config, owner, folder / "drop" / "acme")
        settings = load_settings(base / "syncd.toml", {})
        counting = True
        outcome = asyncio.run(Fetcher(store, settings).turn(feed, config.source))
        counting = False
    if outcome.result == "failed":
        raise SystemExit(outcome.reason)
    return calls

def apart(work):
    "Run ``work`` in a process of its own. Return its exit status, and its answer if it ended."
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.write(writing, json.dumps(work()).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    return os.waitpid(child, 0)[1], json.loads(text) if text else None

def seen(folder):
    drop = folder / "drop" / "acme"
    files = [path for path in drop.iterdir() if path.name != ".incoming"] if drop.exists() else []
    incoming = drop / ".incoming"
    left = [path.name for path in incoming.iterdir()] if incoming.exists() else []
    return [(path.name, path.stat().st_size) for path in files], left

_, total = apart(lambda: fetch(base / "first", 0))
for kill in range(kills):
    folder = base / str(kill)
    deadly = 1 + total * kill // kills
    killed, _ = apart(lambda: fetch(folder, deadly))
    after, _ = seen(folder)
    ended, _ = apart(lambda: fetch(folder, 0))
    files, left = seen(folder)
    whole = all(path.read_bytes() == (base / "body").read_bytes() for path in (folder / "drop" / "acme").glob("2*"))
    print(json.dumps([deadly, killed, after, ended, files, left, whole]), flush=True)
    shutil.rmtree(folder)
"""


class Handler(BaseHTTPRequestHandler):
    """Answers with the body, in pieces."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        for start in range(0, len(BODY), 1 << 18):
            self.wfile.write(BODY[start : start + (1 << 18)])

    def log_message(self, *_):
        pass


@pytest.mark.slow
def test_a_fetch_that_is_killed_loses_no_file_and_brings_no_other_bytes(tmp_path):
    (tmp_path / "syncd.toml").touch()
    (tmp_path / "body").write_bytes(BODY)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/jobs.xml"
        command = [sys.executable, "-c", WORLD, str(tmp_path), url, str(KILLS)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        server.shutdown()
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(lines) == KILLS
    kept = alive = 0
    for deadly, killed, after, ended, files, left, whole in lines:
        # where the bytes come in fewer pieces there are fewer calls: one of the last may not be reached
        assert killed in (0, 9), deadly
        assert (ended, left) == (0, []), deadly
        alive += not killed
        assert [size for _, size in after] in ([], [len(BODY)]), (
            deadly
        )  # no part of a file is ever in the folder
        assert [size for _, size in files] in ([len(BODY)], [len(BODY)] * 2), deadly
        assert whole, deadly
        kept += bool(after)
    assert alive <= KILLS // 5
    assert kept < KILLS  # some were killed before the file was in its place
