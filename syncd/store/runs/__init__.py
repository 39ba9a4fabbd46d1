"""Runs as the store keeps them: the log of all runs, and the newest runs of each feed. ``results`` has the rejected rows,
warnings and values that a run found, ``former_owners`` the feeds that owned its jobs before."""

from syncd.store.runs.log import (
    applied_before,
    begin,
    by_claimed,
    claimed_name,
    clock_went_back,
    get,
    held,
    is_behind,
    last,
    list,
    page,
    prune,
    resume,
    save,
    set_checkpoint,
    set_progress,
    stopped,
    unfinished,
    unfinished_of,
    waiting,
)
from syncd.store.runs.newest import NO_RUNS, LastRuns, last_file, last_runs, last_success, strips
