"""Mappings: from a record of a feed to the body of a job, as ``[fields]`` of a feed file describes it."""

from syncd.feeds.mapping.lookups import lookups_in
from syncd.feeds.mapping.mapping import MappedRow, Mapping
from syncd.feeds.mapping.routing import EMAIL_FIELD, ROUTING_FIELD, URL_FIELD
from syncd.feeds.mapping.selectors import compile_selector
from syncd.feeds.mapping.text_fields import STATUSES
from syncd.feeds.mapping.unknown_values import MOST_LISTED, USUAL, UnknownCounter, suggestions, unknown_places

__all__ = [
    "EMAIL_FIELD",
    "MOST_LISTED",
    "ROUTING_FIELD",
    "STATUSES",
    "URL_FIELD",
    "USUAL",
    "MappedRow",
    "Mapping",
    "UnknownCounter",
    "compile_selector",
    "lookups_in",
    "suggestions",
    "unknown_places",
]
