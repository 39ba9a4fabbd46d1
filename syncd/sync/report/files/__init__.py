"""The files of a report: JSON for programs and a page for people. Only these need the templates of pages."""

from syncd.sync.report.files.writing import refresh_reports, written_reports

__all__ = ["refresh_reports", "written_reports"]
