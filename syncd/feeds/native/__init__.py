"""The service's own shape of a feed in JSON, XML and CSV: read and written."""

from syncd.feeds.native.reading import COLUMNS, native_body
from syncd.feeds.native.writing import csv_feed, json_feed, xml_feed

__all__ = ["COLUMNS", "csv_feed", "json_feed", "native_body", "xml_feed"]
