"""JSON and JSON Lines, streamed."""

from syncd.feeds.readers.json.outer_parser import ARRAYS, events, keyed_objects
from syncd.feeds.readers.json.reader import JsonLinesReader, JsonReader

__all__ = ["ARRAYS", "JsonLinesReader", "JsonReader", "events", "keyed_objects"]
