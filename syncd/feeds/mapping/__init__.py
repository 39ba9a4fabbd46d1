"""Mappings: from a record of a feed to the body of a job, as ``[fields]`` of a feed file describes it."""

from syncd.feeds.catalogue_values import USUAL, UnknownCounter, lookup_lines, unknown_places
from syncd.feeds.mapping.catalogue_fields import flag_positions, position_of
from syncd.feeds.mapping.column_names import has_constants, proposed_columns
from syncd.feeds.mapping.mapping import MappedRow, Mapping
from syncd.feeds.mapping.place_fields import PLACE_ASSUMED
from syncd.feeds.mapping.routing import EMAIL_FIELD, ROUTING_FIELD, URL_FIELD
from syncd.feeds.mapping.selectors import compile_selector
from syncd.feeds.mapping.sources import PlacesRule, lookups_in
from syncd.feeds.mapping.status_fields import TITLE_NOT_OPEN, flag_statuses, status_word
