"""Runs schedules by their seeds, and shortens the steps of one that fails."""

import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pprint import pformat
from typing import Any

from tests.simulation.engine import FEEDS, remove, template
from tests.simulation.schedules import Generator
from tests.simulation.simulation import Broken, Simulation, Step

_MEMORY = Path("/dev/shm")


class Runner:
    """``folder`` has the store of a new installation, of which each schedule gets a copy."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._template = folder, template(folder)

    def run(self, seed: int) -> str | None:
        """Run the schedule of the seed. Return what is broken, with the fewest steps that break it; None if nothing is."""
        steps = Generator(seed).steps()
        why = self.attempt(seed, steps)
        if why is None:
            return None
        steps, why = self._shortened(seed, steps, why)
        return f"seed {seed}, steps:\n{pformat(steps, width=120)}\n\n{why}"

    def attempt(self, seed: int, steps: list[Step]) -> str | None:
        """Carry out these steps. Return what is broken, or the traceback of a fault of the simulation itself."""
        try:
            self._carry_out(seed, steps)
        except Broken as error:
            return str(error)
        except Exception:
            return traceback.format_exc()
        return None

    def _carry_out(self, seed: int, steps: list[Step]) -> None:
        place = self._folder / "schedule"
        try:
            Simulation(self._template, place, feeds_of(steps), seed).run(steps)
        finally:
            remove(place)

    def _shortened(self, seed: int, steps: list[Step], why: str) -> tuple[list[Step], str]:
        """Leave out steps as long as something is broken all the same."""
        size = len(steps) // 2
        while size:
            at = 0
            while at < len(steps):
                fewer = steps[:at] + steps[at + size :]
                broken = self.attempt(seed, fewer)
                if broken is not None:
                    steps, why = fewer, broken
                else:
                    at += size
            size //= 2
        return steps, why


def feeds_of(steps: list[Step]) -> list[str]:
    """Return the names of the feeds that the steps concern; one of them, if they concern none."""
    return sorted(_named(steps)) or ["north"]


def _named(step: Any) -> set[str]:
    if isinstance(step, str):
        return {step} & FEEDS.keys()
    return set().union(*map(_named, step)) if isinstance(step, list | tuple) else set()


@contextmanager
def runner() -> Iterator[Runner]:
    """Yield a runner with a folder in memory, where there is one."""
    place = _MEMORY if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="syncd-simulation-", dir=place) as folder:
        yield Runner(Path(folder))
