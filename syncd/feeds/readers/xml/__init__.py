"""XML, streamed, strictly or as far as a broken file can be read."""

from syncd.feeds.readers.xml.flat import FlatRecord, add_named
from syncd.feeds.readers.xml.parsing import BYTES_A_TAG
from syncd.feeds.readers.xml.reader import LenientXmlReader, XmlReader
from syncd.feeds.readers.xml.tree import Event, enclosing_markup, local, names, new_parser, refuse_dtd
