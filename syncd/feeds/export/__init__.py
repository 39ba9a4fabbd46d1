"""Jobs written as feeds."""

from syncd.feeds.export.formats import EXPORTS, ExportFormat, posting_terms

__all__ = ["EXPORTS", "ExportFormat", "posting_terms"]
