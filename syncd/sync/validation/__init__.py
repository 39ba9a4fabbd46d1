"""From a record to a validated row, in this process and in worker processes."""

from syncd.sync.validation.packing import Packed, pack_problems, unpack_problems
from syncd.sync.validation.pool import Judges, Unclear
from syncd.sync.validation.validator import Judge, Kind, Outcome, judge
from syncd.sync.validation.worker_process import Brief

__all__ = [
    "Brief",
    "Judge",
    "Judges",
    "Kind",
    "Outcome",
    "Packed",
    "Unclear",
    "judge",
    "pack_problems",
    "unpack_problems",
]
