"""Arrival: a file in a drop folder becomes a run, and is filed afterwards.

The way of a file (docs/reconciliation.md "When a file is taken"), in four modules:

1. ``worker``       Each feed has its turn.
2. ``feed_queue``   One visit to a feed, under its lock (``context``). The file of a run that a dead process left comes first,
                    then the complete files (``inbox``), the oldest first. A file is claimed: renamed into ``.claimed/``
                    (``claims``; ``syncd import`` copies it there). After a turn that failed the feed has a pause.
3. ``run_file``     Its run is begun in the store, taken to its end by the importer, and reported.
4. ``file_away``    Reports and file are moved to ``done/`` or ``failed/``; ``feed_folder`` removes them later.

A person's decision on a run needs the same lock (``decisions``). A process that dies leaves the file in ``.claimed/``. A step
that failed for a reason that can pass is tried again (``context``). ``feed_folder`` opens a feed's folder to the group of its
partner; ``inbox`` also shows people the files that lie there."""

from syncd.sync.arrival.context import ArrivalContext
from syncd.sync.arrival.decisions import close_employer, close_feed, decide, revert
from syncd.sync.arrival.feed_folder import FolderRights, open_to_group
from syncd.sync.arrival.inbox import folder_fault, look_into
from syncd.sync.arrival.worker import Worker
