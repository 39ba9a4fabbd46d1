"""Jobs written as feeds: the service's own shape, and what job boards and search engines read."""

from syncd.feeds.export.boards import posting_terms
from syncd.feeds.export.formats import EXPORTS, ExportFormat

__all__ = ["EXPORTS", "ExportFormat", "posting_terms"]
