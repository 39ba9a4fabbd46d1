"""Drafts of feed files, made from a real file of the feed (``syncd feed new``)."""

from syncd.feeds.drafting.draft import Draft, Drafter, employer_named_in
from syncd.feeds.drafting.left_out import may_hide
from syncd.feeds.drafting.record_values import texts_in, ways_for_languages
from syncd.feeds.drafting.survey import RECORDS
