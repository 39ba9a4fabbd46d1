"""One run: a delivery of a feed becomes postings.

The way of a file through a run (docs/reconciliation.md "What a run does"):

1. ``importer``   The file's digest is made. The bytes of the last run, with nothing changed since, end the run
                  here: ``unchanged``.
2. ``reading``    Every record is read, to the last byte, before a job is written. A record that the feed wrote before
                  and that nothing has changed since is *known*. Any other is mapped and checked
                  (``syncd.sync.validation``) and put into the scratch file of the run (``stage``); a rejected one also
                  into the file of rejected records (``rejects``).
3. ``planner``    Each row, and each job that the file does not name, is decided against the store as it is
                  (``deciding``). The result is a ``plan``: counts, a tally for the guard, a digest.
4. guard          ``syncd.domain`` decides on the tally whether a person has to be asked first.
5. ``applier``    Rows, then missing jobs, are written in batches. Each batch is decided again in its transaction.
6. ``ending``     State, counts, rejected rows, warnings and, for a held run, the plan that a person sees (``syncd.sync.report``)
                  are stored; one log event has all figures.

``importer`` has the three ways through these steps: normal, approved by a person (``approval``), and dry. A run can
be cut off at any instant and run again: the result is the same. ``checking`` is not a run: it reports what a run
would reject. ``reverting`` undoes a run, or archives the jobs of a feed that leaves: these read no file."""

from syncd.sync.run.approval import kept_file, to_rekey
from syncd.sync.run.checking import Checker, CheckResult
from syncd.sync.run.context import Feed, RunContext
from syncd.sync.run.ending import reconciled
from syncd.sync.run.faults import DISK, disk_fault, file_fault, names_elsewhere
from syncd.sync.run.host import ClockDoubted, Host, Stopped
from syncd.sync.run.importer import Importer, Planned
from syncd.sync.run.plan import PlannedChange
from syncd.sync.run.rejects import RejectsWriter
from syncd.sync.run.reverting import (
    NothingToRevert,
    RevertPlan,
    begin_close,
    begin_revert,
    carry_out,
    plan_revert,
)
from syncd.sync.run.stage import scratch_fault
