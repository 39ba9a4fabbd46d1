"""JSON and JSON Lines, streamed."""

from syncd.feeds.readers.json.outer_parser import ARRAYS, ITEM, keyed_objects, walk
from syncd.feeds.readers.json.reader import JsonLinesReader, JsonReader
