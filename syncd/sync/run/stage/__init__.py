"""The scratch file of one run: the records of a file, before anything is written to the store.

A run must not keep a file in memory. So its records, and the jobs that they name, are kept in SQLite on disk
(``rows``, ``stage``), and the bodies of the rows, most of the bytes, in a plain file beside it. Both are unlinked when
they are opened: a run that is killed leaves nothing behind. One thread uses a stage."""

from syncd.sync.run.stage.rows import MAX_LOOKED_UP, StagedRow
from syncd.sync.run.stage.stage import Stage, scratch_fault
