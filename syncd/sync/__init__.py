"""One file's journey from the drop folder to a reconciled set of jobs.

This face is small because each worker process loads it; see ``arrival``, ``run`` and ``report`` for theirs."""

from syncd.sync.folders import folder_faults

__all__ = ["folder_faults"]
