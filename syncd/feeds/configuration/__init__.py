"""Feed files (``config/feeds.d/NAME.toml``): read and checked."""

from syncd.feeds.configuration.feed_files import (
    FeedConfig,
    FeedDefaults,
    FeedFile,
    check_name,
    parse_feed,
    read_feed_files,
)
from syncd.feeds.configuration.in_force import MappingLine, mapping_in_force, mapping_toml
