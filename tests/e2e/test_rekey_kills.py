"""``syncd runs rekey`` is killed at instants from its first change to its end: the next commands find the run done or waiting,
and bring it to the end that it has without a kill."""

import os
import shutil
import signal
import sys
import threading

import pytest

from syncd.cli.entry import run
from syncd.sync.run import importer
from tests.amounts import WHOLE
from tests.e2e.conftest import FORKSERVER, row

pytestmark = pytest.mark.slow
#: More jobs than one write has, so that a kill also hits between two; those that are gone from the file, and as many new ones.
JOBS, OTHERS, KILLS = 1200, 30, 60 if WHOLE else 10


def rekey(config, at, counted):
    """Take new ids in this process, and kill it at the step ``at`` of Python after the plan; else write how many there were."""
    seen, applying, carry_out = 0, False, importer._carry_out

    def step(_frame, _event, _arg):
        nonlocal seen
        if applying:
            seen += 1
            if seen == at:
                os.kill(os.getpid(), signal.SIGKILL)

    def watched(*args, **options):
        nonlocal applying
        applying = True
        try:
            return carry_out(*args, **options)
        finally:
            applying = False

    threading.setprofile(step)
    sys.setprofile(step)
    importer._carry_out = watched
    code = run(["--config", str(config), "runs", "rekey", "2", "--yes"])
    counted.write_text(str(seen))
    sys.exit(code)


def in_a_process(base, at, counted):
    process = FORKSERVER.Process(target=rekey, args=(base / "config" / "syncd.toml", at, counted))
    process.start()
    process.join(60)
    return process.exitcode


def result(installation):
    """Return title → referenceId and status of each job, and the id of each that was there before."""
    jobs = installation.jobs("title", "status", "id").items()
    return {
        title: (ref, status, number if number <= JOBS + OTHERS else None)
        for ref, (title, status, number) in jobs
    }


def test_a_kill_at_any_instant_leaves_a_run_that_is_done_or_waits(acme, tmp_path_factory, monkeypatch):
    old = [row(f"R-{n}", f"Welder {n}") for n in range(JOBS)]
    gone = [row(f"G-{n}", f"Cook {n}") for n in range(OTHERS)]
    assert acme.deliver("one.csv", [*old, *gone]).code == 0
    new = [row(f"N-{n}", f"Welder {n}") for n in range(JOBS)]
    assert acme.deliver("two.csv", [*new, *(row(f"A-{n}", f"Driver {n}") for n in range(OTHERS))]).code == 3

    folder = tmp_path_factory.mktemp("kills")
    original, counted = acme.base, folder / "steps"
    shutil.copytree(original, folder / "before")
    assert in_a_process(original, 0, counted) == 0
    expected, steps = result(acme), int(counted.read_text())
    assert len(expected) == JOBS + 2 * OTHERS
    assert sorted(status for _, status, _ in expected.values()).count("archived") == OTHERS

    ends = []
    for kill in range(KILLS):
        shutil.rmtree(original)
        shutil.copytree(folder / "before", original)
        assert in_a_process(original, 1 + kill * steps // KILLS, counted) == -signal.SIGKILL
        states = {one["id"]: one["state"] for one in acme.run("runs", "--json").json}
        assert states[2] in ("held", "succeeded"), kill
        found = acme.jobs("title", "status")
        assert len({title for title, _ in found.values()}) == len(found), "no job is there twice"
        tries = 0
        while states[2] == "held":
            tries += 1
            assert tries < 4, acme.run("runs", "show", "2").out
            done = acme.run("runs", "rekey", "2", "--yes")
            if "approve or reject it" in done.err:
                done = acme.run("runs", "approve", "2")
            states = {one["id"]: one["state"] for one in acme.run("runs", "--json").json}
        ends.append(tries)
        assert result(acme) == expected, kill
        assert [one["state"] for one in acme.run("runs", "--json").json] == ["succeeded"] * 2
    assert 1 in ends, "some kills come before the first change"
    assert max(ends) > 1, "and some between two"
