"""Stops threads of a process, as a debugger does, until the process is killed: so a part of it hangs while the others go on.

    hang.py PID loop      the first thread, which runs the event loop
    hang.py PID others    all threads but the first

It prints "stopped" when they are, and ends with the process."""

import ctypes
import os
import sys

SEIZE, INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def ptrace(request: int, thread: int) -> None:
    if libc.ptrace(request, thread, None, None) != 0:
        raise OSError(ctypes.get_errno(), f"ptrace of {thread}")


pid, which = int(sys.argv[1]), sys.argv[2]
threads = {int(name) for name in os.listdir(f"/proc/{pid}/task")}
for thread in {pid} if which == "loop" else threads - {pid}:
    ptrace(SEIZE, thread)
    ptrace(INTERRUPT, thread)
print("stopped", flush=True)
try:
    while True:  # the parent of the process learns of its end only after its debugger has
        os.waitpid(-1, WALL)
except ChildProcessError:
    pass
