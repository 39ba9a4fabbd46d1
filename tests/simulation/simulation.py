"""One schedule, carried out: partners, people and the system act on the service, step by step, and the law is checked."""

import random
from collections.abc import Callable, Collection
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from tests.simulation.actors import Clients, Operators, Partners
from tests.simulation.contents import ShortRow
from tests.simulation.engine import without_threads
from tests.simulation.faults import Fault
from tests.simulation.layer import Call, Died, Process, installed
from tests.simulation.scene import Scene
from tests.simulation.service import FULL, Service

Step = tuple[Any, ...]
#: Seconds within which all is done once the faults are over and the clock is trusted.
SETTLED = 900.0
#: The longest time in seconds for which the service does not trust the clock.
UNTRUSTED = 3600.0
#: The most calls of a schedule; usual are some ten thousand.
CALLS = 100_000


class Broken(AssertionError):
    """The service broke the law or an invariant."""


class Simulation:
    """``folder`` must not exist yet, ``feeds`` are configured. ``seed`` decides what the steps leave open. ``steps`` has what a
    step does, by its name."""

    def __init__(self, template: Path, folder: Path, feeds: Collection[str], seed: object) -> None:
        self.scene = scene = Scene(template, folder, feeds, seed)
        scene.layer.before = self._before_call
        self.service = service = Service(scene)
        self.partners, clients = Partners(scene, service), Clients(scene, service)
        self.operators = operators = Operators(scene, service, lambda: self._struck is not None)
        self.steps: dict[str, Callable[..., None]] = {
            "drop": self.partners.drop,
            "finish": self.partners.finish,
            "remove": self.partners.remove,
            "marker": self.partners.marker,
            "put": clients.put,
            "edit": clients.edit,
            "delete": clients.delete,
            "approve": partial(operators.decide, approves=True),
            "reject": partial(operators.decide, approves=False),
            "import": operators.bring,
            "revert": operators.revert,
            "run again": operators.again,
            "pause": operators.pause,
            "resume": operators.resume,
            "wait": service.wait,
            "deaf": service.deaf,
            "stop": self._stop,
            "turn": self._turn,
            "thread": self._thread,
            "jump": scene.jump,
            "at": self._at,
            "fault": self._fault,
            "probe": self._probe,
        }
        self._random = random.Random(f"steps {seed}")
        self._faults: list[Fault] = []
        self._armed: list[tuple[int, Step]] = []
        self._struck: Process | None = None

    def run(self, steps: list[Step]) -> None:
        """Carry out the steps, let everything settle, and check. Raises Broken."""
        random.seed(f"pauses {self._random.random()}")
        scene = self.scene
        with ExitStack() as stack:
            for context in (without_threads(), scene.logging(), installed(scene.layer)):
                stack.enter_context(context)
            scene.begin(stack.enter_context(scene.engine.open_store()))
            stack.callback(self.service.throw_away)
            stack.callback(self.partners.close)
            try:
                for step in steps:
                    self._do(step)
                self._settle()
                scene.ledger.check_all()
            except AssertionError as error:
                raise Broken(str(scene.broken or error)) from error

    def _do(self, step: Step) -> None:
        name, *args = step
        self.steps[name](*args)
        if self._struck is None:
            self.service.after_request()
        self.scene.look()

    def _settle(self) -> None:
        """End all faults and everything that partners began, and wait until the service has done all."""
        self._calm()
        self.service.deaf_until = 0.0
        self.service.end_if_stopping()
        for feed in self.scene.ledger.paused():
            self.operators.resume(feed)
        self.partners.finish_all()
        end = self.scene.monotonic + UNTRUSTED + SETTLED
        while self.scene.monotonic < end:
            self.service.wait(FULL)
            if self.scene.ledger.is_done():
                break
        self.service.wait(UNTRUSTED + FULL)

    def _calm(self) -> None:
        self._faults.clear()
        self._armed.clear()

    # -- steps that concern the system ------------------------------------------------------------------------

    def _at(self, calls: int, step: Step) -> None:
        """Carry out the step before one of the next calls of a process."""
        self._armed.append((self.scene.layer.calls + calls, tuple(step)))
        self._armed.sort(key=lambda armed: armed[0])

    def _fault(self, name: str, seconds: float, share: float, feed: str | None) -> None:
        """Have calls fail for a time."""
        scene = self.scene
        folder = None if feed is None else scene.engine.drop / feed
        source = random.Random(self._random.random())
        until = scene.monotonic + seconds
        self._faults.append(Fault(name, until, share, folder, source, lambda: scene.monotonic))

    def _stop(self) -> None:
        self.service.stop(at_once=self._struck is None)

    def _turn(self, seconds: float = 0.0) -> None:
        """The service works while a command does: once, or for a time."""
        if self.service.daemon is not None and self._struck is not self.service.process:
            self.service.wait(seconds) if seconds else self.service.tick()

    def _thread(self) -> None:
        """Another thread of the service works while one does."""
        daemon, process = self.service.daemon, self.service.process
        if daemon is not None and process is self._struck and daemon.has_other_threads:
            with self.scene.layer.running(process):
                daemon.worker.work()

    def _probe(self, feed: str, other: str, row: ShortRow) -> None:
        """While no file of another feed can be read or written, a file of this one is run within a minute."""
        self._calm()
        self.service.deaf_until = 0.0
        self.operators.resume(feed)
        self.service.wait(FULL)
        if not self.service.trusts_time():
            self.service.wait(UNTRUSTED)
        if feed != other:
            for name in ("EIO", "EACCES"):
                self._fault(name, 300.0, 1.0, other)
        self.partners.drop(feed, "a.json", ("json", [row], 1.0), "rename")
        inode = self.partners.path(feed, "a.json").stat().st_ino
        if feed == "marked":
            self.partners.marker(feed, "a.json")
        self.service.wait(FULL)
        ended = [seen.run.state.ended for seen in self.scene.ledger.runs.values() if seen.inode == inode]
        assert ended == [True], f"a file of {feed} waits for {other}"

    # -- at a call of a process -----------------------------------------------------------------------------------

    def _before_call(self, call: Call) -> None:
        process = self.scene.layer.process
        assert process is not None
        if self.scene.layer.calls > CALLS:
            self.scene.fail(AssertionError("the service works without an end"))
            process.dead = True
            raise Died
        while (step := self._next_armed(process)) is not None:
            self._strike(step, process)
        if self._faults:
            self._faults = [fault for fault in self._faults if not fault.over]
            for fault in self._faults:
                fault.strike(call)

    def _next_armed(self, process: Process) -> Step | None:
        """Take the next step that is due. Only a death comes in the middle of a transaction or of another such step."""
        for at, (calls, step) in enumerate(self._armed):
            if calls > self.scene.layer.calls:
                return None
            if step[0] == "die" or not (process.writing or self._struck):
                del self._armed[at]
                return step
        return None

    def _strike(self, step: Step, process: Process) -> None:
        """Carry out a step in the middle of the work of a process."""
        if step[0] == "die":
            process.dead = True
            raise Died
        self._struck = process
        try:
            with self.scene.layer.running(None):
                self.scene.look()
                self._do(step)
        except AssertionError as error:
            self.scene.fail(error)
            process.dead = True
        finally:
            self._struck = None
