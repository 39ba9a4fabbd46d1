"""How much more memory a process takes by the fetch of a large file than by that of a small one."""

import json
import subprocess
import sys
from dataclasses import asdict

from tests.amounts import WHOLE

SIZE, MOST = (1 << 30 if WHOLE else 1 << 27), 40 << 20
FETCH = r"""
import asyncio, json, re, sys
from pathlib import Path
from syncd.feeds.source import Request
from syncd.sources import http, servers
from syncd.sources.results import Seen, Terms
from tests.sources.conftest import LOOPBACK, NOW

def most():  # not ru_maxrss, which begins with that of the process that started this one
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) << 10

def fetch(values):
    request = Request(**values | {"insecure_hosts": LOOPBACK})
    module = http if request.by_http else servers
    taken = module.fetch(request, Seen(), Path(sys.argv[1]), Terms("x", NOW, 1 << 31))
    (file,) = asyncio.run(taken)
    return file.size, most()

small, large = json.load(sys.stdin)
idle = most()
_, before = fetch(small)
size, after = fetch(large)
print(size, after - before, before - idle)
"""


def memory(folder, small, large):
    """Return the size of ``large``, and the bytes by which its fetch into ``folder`` raises what the fetch of ``small`` needs, of
    a process that makes both."""
    requests = [{**asdict(request), "insecure_hosts": []} for request in (small, large)]
    command = [sys.executable, "-c", FETCH, str(folder)]
    done = subprocess.run(
        command, input=json.dumps(requests, default=list), capture_output=True, text=True, check=True
    )
    print(done.stdout)
    size, more, *_ = map(int, done.stdout.split())
    return size, more
