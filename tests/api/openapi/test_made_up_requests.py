"""Requests that schemathesis makes from the served document, with every check and every phase."""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from tests.amounts import nightly

FORMATS = Path(__file__).with_name("schemathesis_formats.py")
PROGRAM = Path(sys.executable).with_name("schemathesis")
BOUNDS = ["--max-examples", "10", "--seed", "20261121", "--continue-on-failure"]


@nightly
@pytest.mark.slow
async def test_no_made_up_request_surprises_the_service(api, tmp_path):
    document = f"http://127.0.0.1:{api.port}/api/v1.1/openapi.json"
    process = await asyncio.create_subprocess_exec(
        str(PROGRAM), "--config-file", str(Path(__file__).with_name("schemathesis.toml")),
        "run", document, "--header", f"API-Key: {api.key}", "--checks", "all", *BOUNDS,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd=tmp_path,
        env={**os.environ, "SCHEMATHESIS_HOOKS": str(FORMATS)},
    )  # fmt: skip
    output, _ = await process.communicate()
    said = output.decode()
    assert process.returncode == 0, said
    for phase in ("Examples", "Coverage", "Fuzzing", "Stateful"):
        assert re.search(rf"✅\s+{phase}", said), said
    tried = re.search(r"(\d+) generated, (\d+) passed", said)
    assert tried, said
    assert int(tried[1]) > 1_000
    actions = api.store.read(
        lambda tx: {row[0] for row in tx.execute("SELECT action FROM history").fetchall()}
    )
    assert {"created", "updated", "deleted"} <= actions, "hardly a request got as far as a write"
