"""The fixtures of all tests, and the profile of Hypothesis."""

import compileall
import gc
import logging
import os
import shutil
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

from tests import stores
from tests.amounts import examples, lacking

# No example has a deadline: the machine may be busy. Where CI is set, as in .ci/run, Hypothesis tries the same examples in
# every run by itself, so that the result depends on the commit alone; other runs try new ones.
settings.register_profile("local", deadline=None, max_examples=examples(100))
if settings.get_current_profile_name() == "default":
    settings.load_profile("local")


# The tests are compiled once, also where Python was asked not to write what it compiles: each process would take seconds for it.
sys.dont_write_bytecode = False

# Tests make settings and stores, whose rights syncd checks: they are the same whatever the umask of the shell.
os.umask(0o022)


def pytest_configure(config: pytest.Config) -> None:
    """Compile the package once. Tests start hundreds of programs, and each would compile it anew where Python was asked not to
    write what it compiles (PYTHONDONTWRITEBYTECODE)."""
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(Path(__file__).parent.parent / "syncd", quiet=2)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, which takes a third of the time, and let it never look at what was collected."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def program():
    """``program("chromium", "google-chrome")``: the path of the first of these programs that the machine has. A test whose
    program is missing is skipped; in the nightly run (``.ci/nightly``) it fails."""

    def find(*names: str) -> str:
        found = next((path for name in names if (path := shutil.which(name))), None)
        if found is None:
            lacking(f"{names[0]} is not on this machine")
        return found

    return find


@pytest.fixture(autouse=True)
def _process():
    """Restores the log and the handler of SIGHUP, which a command in the process of the tests sets up."""
    root = logging.getLogger()
    handlers, level, on_reload = root.handlers[:], root.level, signal.getsignal(signal.SIGHUP)
    plain = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(
        [*structlog.get_config()["processors"][:-1], plain]
    )  # others take seconds for a traceback
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)
    signal.signal(signal.SIGHUP, on_reload)


@pytest.fixture(scope="session", autouse=True)
def _server():
    """Ends the PostgreSQL server of this process, if tests have started one (``TESTS_STORE=postgres``)."""
    yield
    stores.end_server()


@pytest.fixture(autouse=stores.POSTGRES)
def _databases():
    """Removes the databases of the test."""
    remove = stores.kept_databases()
    yield
    remove()
