"""From a record to a validated row, in this process and in worker processes.

``rows`` maps, checks and packs; ``pool`` distributes the records of a file over worker processes, each of which runs
``worker``. The package stands beside ``syncd.sync.run`` and not within it because a
worker process imports it and must not load the store."""

from syncd.sync.validation.pool import NoWorker, ValidationPool
from syncd.sync.validation.rows import (
    ASSUMED_BIT,
    RowKind,
    RowValidator,
    ValidatedRow,
    pack,
    pack_problems,
    remaining_problems,
    unpack,
    unpack_problems,
)
from syncd.sync.validation.worker import NotOneRecord, ValidationTask
