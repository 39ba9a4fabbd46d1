"""The service's own shape of a feed in JSON, XML and CSV: read and written."""

from syncd.feeds.native.bodies import NativeBodies, csv_feed, json_feed, xml_feed
from syncd.feeds.native.shape import COLUMNS

__all__ = ["COLUMNS", "NativeBodies", "csv_feed", "json_feed", "xml_feed"]
