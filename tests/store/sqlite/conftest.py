"""Tests of SQLite alone."""

from tests.stores import POSTGRES

collect_ignore_glob = ["test_*.py"] if POSTGRES else []
