"""Runs commands of syncd in a process of their own, and says how much memory they took."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

#: Prints the most memory of the process in KiB at the end. (What `wait4` reports includes that of the parent before exec.)
MEASURED = """
import atexit, pathlib, runpy, sys
status = pathlib.Path("/proc/self/status")
atexit.register(lambda: print(status.read_text().split("VmHWM:")[1].split()[0], file=sys.stderr))
runpy.run_module("syncd", run_name="__main__", alter_sys=True)
"""


class Outcome(NamedTuple):
    """What a command printed, its exit code, and the most memory of its process in MiB."""

    out: str
    errors: str
    code: int
    peak: int


def syncd(folder: Path, *command: str) -> Outcome:
    """Run a command with an installation in ``folder`` that has one employer, A, and one feed of the service's own shape, f."""
    config = folder / "config"
    environ = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")}
    environ["SYNCD_CONFIG"] = str(config / "syncd.toml")
    if not config.exists():
        (config / "feeds.d").mkdir(parents=True)
        (config / "syncd.toml").write_text('[log]\nlevel = "error"\n')
        (config / "feeds.d" / "f.toml").write_text('employer = "A"\n')
        add = [sys.executable, "-m", "syncd", "employer", "add", "A"]
        subprocess.run(add, env=environ, check=True, capture_output=True)
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED, *command], env=environ, capture_output=True, text=True, check=False
    )
    errors, _, peak = ran.stderr.rstrip().rpartition("\n")
    return Outcome(ran.stdout, errors, ran.returncode, int(peak) // 1024)
