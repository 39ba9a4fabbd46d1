"""XML, streamed, strictly or as far as a broken file can be read."""

from syncd.feeds.readers.xml.elements import Event, local, names, new_parser, refuse_dtd
from syncd.feeds.readers.xml.enclosing import enclosing_markup
from syncd.feeds.readers.xml.lenient import LenientXmlReader
from syncd.feeds.readers.xml.reader import XmlReader

__all__ = [
    "Event",
    "LenientXmlReader",
    "XmlReader",
    "enclosing_markup",
    "local",
    "names",
    "new_parser",
    "refuse_dtd",
]
