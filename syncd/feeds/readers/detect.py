"""What a file is, by its first bytes and never by its name."""

from __future__ import annotations

import json
import re

from syncd.errors import FeedError
from syncd.feeds.readers.spec import Format

_HTML = re.compile(
    rb"(?i)\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*(?:<!doctype\s+html|<html[\s>])", re.DOTALL
)
#: Offset, bytes, and what a file with these bytes is. Archives that are unpacked have been unpacked before.
_MAGIC = (
    (0, b"\x1f\x8b", "an archive within an archive"),
    (0, b"PK\x03\x04", "an archive or a spreadsheet within an archive"),
    (0, b"PK\x05\x06", "an archive within an archive"),
    (0, b"PK\x07\x08", "a part of a split zip archive"),
    (257, b"ustar", "a tar archive (only zip and gzip are unpacked)"),
    (0, b"BZh", "a bzip2 archive (only zip and gzip are unpacked)"),
    (0, b"\xfd7zXZ\x00", "an xz archive (only zip and gzip are unpacked)"),
    (0, b"\x28\xb5\x2f\xfd", "a zstd archive (only zip and gzip are unpacked)"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive (only zip and gzip are unpacked)"),
    (0, b"Rar!\x1a\x07", "a RAR archive (only zip and gzip are unpacked)"),
    (0, b"%PDF", "a PDF document"),
    (0, b"\xd0\xcf\x11\xe0", "an old spreadsheet (.xls) or Word document; save it as .xlsx or CSV"),
    (0, b"SQLite format 3\x00", "a database"),
    (0, b"\x89PNG", "an image"),
    (0, b"\xff\xd8\xff", "an image"),
    (0, b"GIF8", "an image"),
)
#: Members whose array holds the records, the likeliest first.
ARRAYS = ("jobs", "items", "data", "results", "content", "offers", "@graph")


def refuse_page(head: bytes) -> None:
    """Raise FeedError ``not_a_feed`` for an HTML page, which a web server may send in place of the feed."""
    if _HTML.match(head):
        raise FeedError("not_a_feed", "this is an HTML page, not a feed", line=1)


def refuse_foreign(raw: bytes) -> None:
    """Raise FeedError ``not_a_feed`` for well-known kinds of files that are not feeds."""
    for offset, magic, what in _MAGIC:
        if raw.startswith(magic, offset):
            raise FeedError("not_a_feed", f"this is {what}, not a feed")


def banner(head: bytes) -> int:
    """Return the length of the text that a browser or server has put before an XML declaration; 0 if there is none."""
    return max(0, head.find(b"<?xml", 0, 4096)) if not head.lstrip().startswith(b"<") else 0


def detect(head: bytes, *, recover: bool = False) -> Format:
    """Return the format of a file that begins with ``head``, in UTF-8.

    Raise FeedError ``not_well_formed`` for XML with text before it, unless it is to be read leniently."""
    text = head.lstrip()
    if text.startswith(b"<"):
        return "xml"
    if text.startswith(b"["):
        return "json"
    if text.startswith(b"{"):
        return "jsonl" if _lines_of_objects(text) else "json"
    if length := banner(head):
        if recover:
            return "xml"
        line = head.count(b"\n", 0, length) + 1
        raise FeedError("not_well_formed", "there is text before the XML declaration", line=line)
    return "csv"


def _lines_of_objects(text: bytes) -> bool:
    """Whether the first line is a whole object that another one follows, or a lone job."""
    first, _, rest = text.partition(b"\n")
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict):
        return False
    if any(isinstance(value.get(name), list) for name in ARRAYS):
        return False
    return bool(rest.strip()) or "referenceId" in value
