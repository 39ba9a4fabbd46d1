"""Descriptions of jobs as candidates would see them, safe to put into a page."""

from __future__ import annotations

import nh3
from markupsafe import Markup

from syncd.domain import HTML_SCHEMES, HTML_TAGS

#: Characters of a description that a page shows: the time to clean nested elements grows with the square of their number.
LONGEST = 20_000

_CLEANER = nh3.Cleaner(
    tags=set(HTML_TAGS),
    clean_content_tags={"script", "style"},
    attributes={"a": {"href"}},
    strip_comments=True,
    link_rel="noopener noreferrer nofollow",
    url_schemes=set(HTML_SCHEMES),
    url_relative="deny",
)


def as_candidates_see(description: str) -> Markup:
    """Return the HTML of a description, cut to ``LONGEST`` characters: only the tags of docs/specification.md 2.6, each
    closed, links with their address alone."""
    return Markup(_CLEANER.clean(description[:LONGEST]))  # noqa: S704 - it is clean now
