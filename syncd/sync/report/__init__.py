"""Reports of runs as data. The files that are made of them are in ``syncd.sync.report.files``."""

from syncd.sync.report.reports import FORMAT, ShownPlan, report
from syncd.sync.report.run_json import (
    change_json,
    field_of,
    filtered_json,
    particulars,
    rejected_json,
    run_json,
    unknown_json,
    warning_json,
    would_archive_json,
)

__all__ = [
    "FORMAT",
    "ShownPlan",
    "change_json",
    "field_of",
    "filtered_json",
    "particulars",
    "rejected_json",
    "report",
    "run_json",
    "unknown_json",
    "warning_json",
    "would_archive_json",
]
