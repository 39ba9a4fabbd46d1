"""XML, streamed, strictly or as far as a broken file can be read."""

from syncd.feeds.readers.xml.lenient import LenientXmlReader
from syncd.feeds.readers.xml.reader import XmlReader
from syncd.feeds.readers.xml.scout import Event, local, names, new_parser, refuse_dtd
from syncd.feeds.readers.xml.surroundings import surroundings

__all__ = [
    "Event",
    "LenientXmlReader",
    "XmlReader",
    "local",
    "names",
    "new_parser",
    "refuse_dtd",
    "surroundings",
]
