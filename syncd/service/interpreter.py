"""Settings of the Python interpreter for a process that works through many rows."""

from __future__ import annotations

import gc
import sys

#: New objects between two searches for cycles in the youngest generation; searches there between two in the older ones.
YOUNG, OLDER, OLDEST = 20_000, 10, 10
#: Seconds that a thread may compute while another one waits for the interpreter.
SWITCH = 0.0001


def tune_garbage_collector() -> None:
    """Search less often for cycles, and not among the objects that exist now: call it once everything is imported and
    built. The collector is on afterwards.

    Rows are freed by counting references, and few cycles are ever made. By default the collector searches after every
    700 new objects, through everything that was imported too: a tenth of the time of an import."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, OLDER, OLDEST)
    gc.enable()


def end_of_imports() -> None:
    """Switch the garbage collector on, if the command line has switched it off: the objects that exist now are not
    searched."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def tune_thread_switches() -> None:
    """Let a waiting thread have the interpreter soon. Event loop, writer and importer take turns: a thread gives the
    interpreter up at every system call and every step of SQLite, and while an importer computes it gets it back only
    after the switch interval. With Python's 5 ms a PUT, which waits a dozen times, would take tens of milliseconds."""
    sys.setswitchinterval(SWITCH)
