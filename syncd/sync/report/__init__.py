"""Reports of runs: as data, as JSON and as a page."""

from syncd.sync.report.reports import (
    FORMAT,
    refresh_reports,
    rejected_json,
    report,
    run_json,
    unknown_json,
    warning_json,
    would_archive_json,
    written_reports,
)

__all__ = [
    "FORMAT",
    "refresh_reports",
    "rejected_json",
    "report",
    "run_json",
    "unknown_json",
    "warning_json",
    "would_archive_json",
    "written_reports",
]
