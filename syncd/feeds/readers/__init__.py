"""A feed file as a stream of Records, in flat memory, in every format and encoding."""

from syncd.feeds.readers.json_paths import ARRAYS, ITEM, keyed_objects, walk
from syncd.feeds.readers.opening import open_reader, read_stream
from syncd.feeds.readers.records import (
    EACH,
    ERRORS,
    WITHIN,
    FeedReader,
    Format,
    Known,
    ReadSpec,
    Record,
    Slice,
    column_names,
    element_path,
    header_key,
    member_path,
)
from syncd.feeds.readers.source import Opener
from syncd.feeds.readers.xml import FlatRecord, add_named
