"""Small grammars from the texts of employers to the values of the API. Pure functions, which report each guess and omission."""

from syncd.feeds.mapping.transforms import money
from syncd.feeds.mapping.transforms.dates import compile_dates, is_null_date, readings, says_no_date
from syncd.feeds.mapping.transforms.hours import full_or_part, unit_of, with_unit
from syncd.feeds.mapping.transforms.html import clean, paragraphs, text_behind, unescaped, without_tags
from syncd.feeds.mapping.transforms.place_lists import each_city, each_known, each_place
from syncd.feeds.mapping.transforms.places import (
    TidyPlace,
    has_postal_code,
    is_canada,
    is_country,
    other_province,
    read_place,
    without_region,
)

#: Part of every feed's fingerprint: raise it when a transform gives another result for the same text.
VERSION = 17
