"""A daemon in a process that conftest.py forks from one in which everything is imported."""

import os
import sys

from syncd.cli.entry import run

log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)  # type: ignore[name-defined]  # noqa: F821
os.dup2(log, 1)
os.dup2(log, 2)
sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", buffering=1, closefd=False)
os.environ.clear()
os.environ.update(ENVIRON)  # type: ignore[name-defined]  # noqa: F821
sys.exit(run(ARGUMENTS))  # type: ignore[name-defined]  # noqa: F821
