"""The files of a report: JSON for programs and a page for people; and the stylesheet that all pages of syncd share. Only these
need the templates of pages."""

from syncd.sync.report.files.html import (
    refresh_reports,
    size,
    stylesheet,
    visible,
    write_page,
    written_reports,
)
from syncd.sync.report.files.sheet import Sheet, sheet_of
