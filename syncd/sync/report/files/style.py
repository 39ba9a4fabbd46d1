"""The stylesheet of reports, of the operator's pages and of the pages of problems."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path


@cache
def stylesheet() -> str:
    return (Path(__file__).parent / "templates" / "style.css").read_text("utf-8")


@cache
def style_source() -> str:
    """Return what allows a page that has the stylesheet inside it to use it, and no other: its hash, as a
    Content-Security-Policy names it."""
    return f"'sha256-{b64encode(sha256(stylesheet().encode()).digest()).decode()}'"
