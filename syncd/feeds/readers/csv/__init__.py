"""CSV, streamed."""

from syncd.feeds.readers.csv.reader import CsvReader

__all__ = ["CsvReader"]
