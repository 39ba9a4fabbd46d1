"""One file's journey from the drop folder to a reconciled set of jobs.

This face is small because each worker process loads it; see ``arrival``, ``run`` and ``report`` for theirs. The system
calls on files and folders are in ``files`` and ``folders``."""

from syncd.sync.folders import CLAIMED, DROP_MODE, FEED_MODE, INNER_MODES, folder_faults, make_drop_folder
