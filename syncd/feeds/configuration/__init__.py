"""Feed files (``config/feeds.d/NAME.toml``): read and checked."""

from syncd.feeds.configuration.feed_files import FeedConfig, FeedDefaults, check_name, load_feeds, parse_feed

__all__ = ["FeedConfig", "FeedDefaults", "check_name", "load_feeds", "parse_feed"]
