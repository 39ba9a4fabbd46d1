"""The benches start, and a script named like a module of the standard library shadows nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.amounts import nightly, some

ROOT = Path(__file__).parent.parent
SCRIPTS = ("http", "import", "load", "pages", "readers", "scale")


def run(script: str, *arguments: str) -> str:
    command = [sys.executable, str(ROOT / "bench" / f"{script}.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("script", some(SCRIPTS, 2))
def test_a_script_says_how_it_is_used(script):
    assert f"{script}.py" in run(script, "--help")


@nightly
@pytest.mark.slow
def test_the_http_bench_measures_every_operation_without_a_failure(tmp_path):
    options = ("--jobs", "50", "--seconds", "1", "--rounds", "1", "--no-peer", "--folder", str(tmp_path))
    rows = [line.split("|") for line in run("http", *options).splitlines() if line.startswith("| ")][1:]
    assert {row[1].strip() for row in rows} == {"GET one", "list of 10", "PUT"}
    assert {row[3].strip() for row in rows} == {"syncd", "bare aiohttp"}
    assert {row[9].strip() for row in rows} == {"0"}


@nightly
@pytest.mark.slow
def test_the_import_bench_finds_every_row_unchanged(tmp_path):
    options = ("--rows", "300", "--reps", "1", "--unchanged", "--helpers", "0", "--folder", str(tmp_path))
    (row,) = [line.split("|") for line in run("import", *options).splitlines() if line.startswith("| every")]
    assert "apply 0.00" in row[8]
