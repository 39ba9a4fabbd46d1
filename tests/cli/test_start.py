"""Commands start fast: each imports what it needs, and nothing else."""

import subprocess
import sys

import pytest

from tests.amounts import some

#: Libraries that take long to import, and that only some commands need.
HEAVY = {
    "aiohttp", "alembic", "email_validator", "ijson", "jinja2", "lxml", "nh3", "prometheus_client", "pydantic", "rich",
    "sqlalchemy", "sqlmodel", "structlog", "tenacity", "watchfiles",
}  # fmt: skip
#: What the store itself needs.
STORE = {"pydantic", "sqlalchemy", "sqlmodel"}


def imported(*arguments, cwd=None):
    """Run a command in a process of its own; return which of the heavy libraries it has imported."""
    code = (
        "import sys; from syncd.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )
    assert done.returncode == 0, done.stderr
    return HEAVY & {name.partition(".")[0] for name in done.stderr.split()}


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """A folder whose store exists."""
    folder = tmp_path_factory.mktemp("installation")
    assert imported("employer", "add", "Acme Ltd.", cwd=folder) >= STORE
    return folder


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_no_heavy_library(option):
    assert imported(option) == set()


def test_the_help_of_a_command_imports_only_what_typer_itself_does():
    assert imported("runs", "--help") <= {"pydantic"}
    assert imported("plan", "--help") <= {"pydantic"}


@pytest.mark.parametrize("words", ["syncd ru", "syncd runs --"])
def test_completion_imports_only_what_typer_itself_does(monkeypatch, words):
    monkeypatch.setenv("_SYNCD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    assert imported() <= {"pydantic"}


@pytest.mark.parametrize(
    "arguments",
    some(
        [["runs"], ["jobs", "--employer", "1"], ["runs", "--json"], ["employer", "list"], ["key", "list"]], 2
    ),
)
def test_a_command_that_only_reads_imports_the_store_alone(installation, arguments):
    found = imported(*arguments, cwd=installation)
    assert "sqlalchemy" in found
    assert found <= STORE
