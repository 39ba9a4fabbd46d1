"""JSON and JSON Lines, streamed."""

from syncd.feeds.readers.json.discovery import events, keyed_objects
from syncd.feeds.readers.json.lines import JsonLinesReader
from syncd.feeds.readers.json.reader import JsonReader

__all__ = ["JsonLinesReader", "JsonReader", "events", "keyed_objects"]
