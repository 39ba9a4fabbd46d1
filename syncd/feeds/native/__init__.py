"""The service's own shape of a feed in JSON, XML and CSV: read and written."""

from syncd.feeds.native.reading import NativeBodies
from syncd.feeds.native.shape import COLUMNS
from syncd.feeds.native.writing import csv_feed, json_feed, xml_feed

__all__ = ["COLUMNS", "NativeBodies", "csv_feed", "json_feed", "xml_feed"]
