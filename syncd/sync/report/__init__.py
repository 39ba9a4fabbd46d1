"""Reports of runs: as data (``reports``), as a page (``html``), and as files beside a run's file (``report_files``)."""

from syncd.sync.report.report_files import refresh_reports, written_reports
from syncd.sync.report.reports import planned_report, report
from syncd.sync.report.run_json import rejected_json, run_json, unknown_json

__all__ = [
    "planned_report",
    "refresh_reports",
    "rejected_json",
    "report",
    "run_json",
    "unknown_json",
    "written_reports",
]
