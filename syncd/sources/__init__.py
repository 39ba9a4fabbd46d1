"""Brings files from where partners publish them into the folders of feeds (docs/sources.md). ``Fetcher`` makes one fetch,
``Schedule`` those of all feeds at their turns. Runs know nothing of it: a file lies there as if it had been dropped."""

from syncd.sources.fetcher import Fetcher, Outcome
from syncd.sources.once import beside, faults_before, fetch_once, look
from syncd.sources.results import Fetched, NotModified, Seen, SourceError
from syncd.sources.schedule import Schedule
