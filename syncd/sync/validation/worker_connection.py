"""The run's end of a worker process: starts it, sends batches, receives the rows."""

from __future__ import annotations

import fcntl
import os
import pickle
import subprocess
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from threading import Thread

from syncd.sync.validation.worker_process import FAILED, READY, ValidationTask

#: Bytes that a pipe holds: two batches.
PIPE = 1 << 20
#: Batches that a process has at once: it never waits, and little is lost with it.
_AHEAD = 2
#: Seconds after which a process that does not answer is given up: a batch takes some hundredths of one.
ANSWER = 15.0


class WorkerConnection:
    """A worker process. A thread sends the task and collects the answers, so neither side ever waits for the other to read.

    ``lost``: the process gives no more answers, ``why`` says the reason."""

    def __init__(self, task: ValidationTask) -> None:
        """Start the process. Raises OSError."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "syncd.sync.validation"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # an interrupt at the terminal is for the run alone
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests = Connection(os.dup(self._process.stdin.fileno()), readable=False)
        self._answers = Connection(os.dup(self._process.stdout.fileno()), writable=False)
        self._process.stdin.close()
        self._process.stdout.close()
        for pipe in (self._requests, self._answers):
            with suppress(OSError, AttributeError):  # only Linux has it, and may deny it: then a sender waits
                fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, PIPE)
        self._received: SimpleQueue[bytes | None] = SimpleQueue()
        message = pickle.dumps(task, pickle.HIGHEST_PROTOCOL)
        self._thread = Thread(target=self._converse, args=(message,), name="validation", daemon=True)
        self._ready = self.lost = False
        self.why = "a worker process ended early"
        self._batches = 0
        self._thread.start()

    def _converse(self, task: bytes) -> None:
        """Send the task, which may be more than a pipe holds before the process reads it, and collect the answers."""
        with suppress(EOFError, OSError):
            self._requests.send_bytes(task)
            while True:
                self._received.put(self._answers.recv_bytes())
        self._received.put(None)

    def ready(self, seconds: float = 0.0) -> bool:
        """Return whether the process takes batches; wait up to ``seconds`` for it."""
        if not self._ready and not self.lost:
            with suppress(Empty):
                first = self._received.get(timeout=seconds) if seconds else self._received.get_nowait()
                self._ready = first == READY
                self._check(first)
                self.lost = not self._ready
        return self._ready and not self.lost

    @property
    def has_room(self) -> bool:
        """Whether the process takes another batch now."""
        return self.ready() and self._batches < _AHEAD

    def send(self, batch: bytes) -> bool:
        """Return whether the batch is on its way."""
        try:
            self._requests.send_bytes(batch)
        except OSError:
            self.lost = True
        self._batches += not self.lost
        return not self.lost

    def has_answer(self) -> bool:
        """Return whether ``receive`` would not wait."""
        return self.lost or not self._received.empty()

    def receive(self) -> bytes | None:
        """Wait for the next answer. Return None if there will not be one."""
        if self.lost:
            return None
        self._batches -= 1
        answer = None
        with suppress(Empty):
            answer = self._received.get(timeout=ANSWER)
        self._check(answer)
        return None if self.lost else answer

    def _check(self, answer: bytes | None) -> None:
        self.lost = answer is None or answer.startswith(FAILED)
        if answer and self.lost:
            self.why = f"a worker process failed: {answer[len(FAILED) :].decode()}"

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._thread.join()
        self._requests.close()
        self._answers.close()
