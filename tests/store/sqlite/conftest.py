"""Tests of what only SQLite has."""

from tests.stores import POSTGRES

collect_ignore_glob = ["test_*.py"] if POSTGRES else []
