"""One run: a delivery of a feed is read, planned and applied."""

from syncd.sync.run import held_plan
from syncd.sync.run.checking import Checker, Findings, field_of
from syncd.sync.run.context import Progress
from syncd.sync.run.feed import Feed, Stopped
from syncd.sync.run.importer import Importer, Planned
from syncd.sync.run.outcome import particulars, reconciled
from syncd.sync.run.planner import PlannedChange
from syncd.sync.run.rejects import RejectsWriter
from syncd.sync.run.source import FILE_CHANGED, SourceFile

__all__ = [
    "FILE_CHANGED",
    "Checker",
    "Feed",
    "Findings",
    "Importer",
    "Planned",
    "PlannedChange",
    "Progress",
    "RejectsWriter",
    "SourceFile",
    "Stopped",
    "field_of",
    "held_plan",
    "particulars",
    "reconciled",
]
