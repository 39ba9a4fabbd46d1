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
def test_a_script_says_how_it_is_used(script: str) -> None:
    assert f"{script}.py" in run(script, "--help")


@nightly
@pytest.mark.slow
def test_the_http_bench_measures_every_operation_without_a_failure(tmp_path: Path) -> None:
    options = ("--jobs", "50", "--seconds", "1", "--rounds", "1", "--no-peer", "--folder", str(tmp_path))
    rows = [line.split("|") for line in run("http", *options).splitlines() if line.startswith("| ")][1:]
    assert {row[1].strip() for row in rows} == {"GET one", "list of 10", "PUT"}
    assert {row[3].strip() for row in rows} == {"syncd", "bare aiohttp"}
    assert {row[9].strip() for row in rows} == {"0"}


@nightly
@pytest.mark.slow
def test_the_import_bench_finds_every_row_unchanged(tmp_path: Path) -> None:
    options = ("--rows", "300", "--reps", "1", "--unchanged", "--helpers", "0", "--folder", str(tmp_path))
    (row,) = [line.split("|") for line in run("import", *options).splitlines() if line.startswith("| every")]
    assert "apply 0.00" in row[8]


@nightly
@pytest.mark.slow
def test_the_load_bench_loses_no_write(tmp_path: Path) -> None:
    options = (
        "--rows",
        "500",
        "--seconds",
        "0.5",
        "--jobs",
        "100",
        "--cases",
        "paced",
        "--folder",
        str(tmp_path),
    )
    rows = [line.split("|") for line in run("load", *options).splitlines() if line.startswith("| paced")]
    assert [(row[2].strip(), row[7].strip()) for row in rows] == [("idle", "0"), ("import", "0")]


@nightly
@pytest.mark.slow
def test_the_scale_bench_finds_the_same_in_every_store(tmp_path: Path) -> None:
    options = ["--jobs", "12000", "--runs", "1", "--folder", str(tmp_path)]
    for request in ("rare q (7 jobs)", "common q (5 in 100)"):
        options += ["--only", request]
    lines = run("scale", *options).splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    rare = [row for row in rows if row[0].startswith("rare q (7")]
    assert [row[0].rpartition(", ")[2] for row in rare] == ["anew", "changed", "again"] * 3
    assert [row[4:] for row in rare] == [["7", "7"]] * 9
    common = [row for row in rows if row[0].startswith("common q (5")]
    few, varied = (
        [int(number.replace(",", "")) // 10 for number in row[4:]] for row in (common[0], common[3])
    )
    assert few == [49, 59]
    assert varied[0] < varied[1] < 80


@nightly
@pytest.mark.slow
def test_the_bench_of_the_pages_asks_each_page_in_both_stores(tmp_path: Path) -> None:
    options = ("--jobs", "400", "--runs", "400", "--times", "1", "--only", "run", "--folder", str(tmp_path))
    lines = run("pages", *options).splitlines()
    rows = [line.split("|")[1].strip() for line in lines if line.startswith("| ") and "page |" not in line]
    assert len(rows) == 2 * len(set(rows)) > 20
