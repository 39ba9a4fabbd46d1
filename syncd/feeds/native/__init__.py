"""The service's own shape of a feed in JSON, XML and CSV: read and written."""

from syncd.feeds.native.bodies import csv_feed, json_feed, members_of, native_body, xml_feed
from syncd.feeds.native.shape import COLUMNS

#: Part of the fingerprint of feeds in this shape: raise it when a record gives another body.
VERSION = 4
