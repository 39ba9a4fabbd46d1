"""Jobs written as feeds."""

from syncd.feeds.export.formats import EXPORTS, ExportFormat

__all__ = ["EXPORTS", "ExportFormat"]
