"""Clients that two generators make from the document of a running daemon, by the commands of docs/api.md "A generated client".

They are checked by mypy and by tsc, and do what ``clients/everything.*`` says. The history of the jobs shows what arrived."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.amounts import nightly
from tests.e2e.conftest import BASE

pytestmark = [nightly, pytest.mark.slow]

CLIENTS = Path(__file__).with_name("clients")
GUIDE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
PYTHON, TYPESCRIPT = re.findall(
    r"^```bash\n(.*?)^```$",
    GUIDE.partition("\n## A generated client\n")[2].partition("\n## ")[0],
    re.S | re.M,
)
#: (action, fields that an update changed) of the first job, oldest first, and of the second.
HISTORY = [
    ("created", []),
    ("updated", ["title"]),
    ("published", ["status"]),
    ("updated", ["title"]),
    ("updated", ["salary"]),
    ("deleted", []),
]
HISTORY_OF_THE_SECOND = [("created", []), ("updated", ["title"]), ("deleted", [])]
#: What the generator writes into each client, whatever the document, is not for mypy.
MYPY = "[mypy]\n[mypy-jobs_client.client]\nignore_errors = True\n"
TSC = ("--strict", "--noEmitOnError", "--target", "es2022", "--module", "nodenext", "--skipLibCheck")


class Workshop:
    """A folder in which a client is generated for a daemon."""

    def __init__(self, folder, daemon, key, path=""):
        self.folder, self.daemon, self.key = folder, daemon, key
        # No lock file: it would name the address of a registry.
        npm = {f"npm_config_{name}": "false" for name in ("audit", "fund", "package_lock", "update_notifier")}
        base = f"http://{daemon.address()}{BASE}"
        self.environ = {**os.environ, **npm, "BASE": base, "KEY": key, "PATH": f"{path}{os.environ['PATH']}"}

    def run(self, *command):
        said = subprocess.run(
            [str(part) for part in command],
            cwd=self.folder, env=self.environ, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert said.returncode == 0, said.stdout + said.stderr
        return said.stdout

    def histories(self, printed):
        """Return what happened to each job whose id the client has printed."""
        found = []
        for job in printed.split():
            view = json.loads(self.daemon.text(f"/jobs/{job}", {"Accept": "application/json"}, "operator"))
            found.append([(step["action"], fields(step)) for step in reversed(view["history"])])
        return found


def fields(step):
    is_update = step["action"] not in ("created", "deleted")
    return [change["field"] for change in step["changes"] if is_update]


@pytest.fixture
def workshop(installation, start, tmp_path):
    def make(path=""):
        key = installation.employer_with_key(makes_store=True)
        folder = tmp_path / "workshop"
        folder.mkdir()
        return Workshop(folder, start(), key, path)

    return make


def test_a_client_of_openapi_python_client(workshop, tmp_path):
    """It is generated in an environment of its own: it needs an older typer than the tests."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    bench = workshop(f"{tmp_path}/venv/bin{os.pathsep}")
    bench.run("bash", "-euc", PYTHON)
    assert len(list((bench.folder / "jobs_client" / "api").glob("*/[!_]*.py"))) == operations(bench)
    shutil.copy(CLIENTS / "everything.py", bench.folder)
    (bench.folder / "mypy.ini").write_text(MYPY)
    python = tmp_path / "venv/bin/python"
    mypy = (sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--python-executable", python)
    bench.run(*mypy, "everything.py", "jobs_client")
    assert bench.histories(bench.run(python, "everything.py")) == [HISTORY, HISTORY_OF_THE_SECOND]


def test_a_client_of_openapi_typescript(workshop, program):
    program("node")
    program("npm")
    bench = workshop()
    (bench.folder / "package.json").write_text('{"private": true, "type": "module"}')
    bench.run("bash", "-euc", TYPESCRIPT)
    shutil.copy(CLIENTS / "everything.ts", bench.folder)
    bench.run("npx", "tsc", *TSC, "everything.ts")
    assert bench.histories(bench.run("node", "everything.js")) == [HISTORY, HISTORY_OF_THE_SECOND]


def operations(bench):
    status, document = bench.daemon.request("GET", f"{BASE}/openapi.json")
    assert status == 200
    return sum(len(item) for item in document["paths"].values())
