"""Spreadsheets (.xlsx), read as a table."""

from syncd.feeds.readers.xlsx.book import is_spreadsheet
from syncd.feeds.readers.xlsx.reader import XlsxReader

__all__ = ["XlsxReader", "is_spreadsheet"]
