"""What a file is, by its first bytes and never by its name."""

from __future__ import annotations

import json
import re

from syncd.errors import FeedError
from syncd.feeds.records import Format

_HTML = re.compile(
    rb"(?i)\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*(?:<!doctype\s+html|<html[\s>])", re.DOTALL
)
_MAGIC = (
    (b"\x1f\x8b", "a gzip archive"),
    (b"PK\x03\x04", "a zip archive or a spreadsheet"),
    (b"%PDF", "a PDF document"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet or Word document"),
    (b"\x89PNG", "an image"),
)
#: Members whose array holds the records, the likeliest first.
ARRAYS = ("jobs", "items", "data", "results", "content", "offers", "@graph")


def refuse_page(head: bytes) -> None:
    """Raises FeedError ``not_a_feed`` for an HTML page, which a web server may send in place of the feed."""
    if _HTML.match(head):
        raise FeedError("not_a_feed", "this is an HTML page, not a feed", line=1)


def refuse_foreign(raw: bytes) -> None:
    """Raises FeedError ``not_a_feed`` for the well-known things that are none."""
    for magic, what in _MAGIC:
        if raw.startswith(magic):
            raise FeedError("not_a_feed", f"this is {what}, not a feed")


def detect(head: bytes) -> Format:
    """``head``: the start of the file in UTF-8. Raises FeedError ``not_well_formed`` for XML with a banner
    before it.
    """
    text = head.lstrip()
    if text.startswith(b"<"):
        return "xml"
    if text.startswith(b"["):
        return "json"
    if text.startswith(b"{"):
        return "jsonl" if _lines_of_objects(text) else "json"
    if b"<?xml" in head[:4096]:
        line = head[: head.index(b"<?xml")].count(b"\n") + 1
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
