"""Tests of PostgreSQL alone: they run with ``TESTS_STORE=postgres``."""

from tests.stores import POSTGRES

collect_ignore_glob = [] if POSTGRES else ["test_*.py"]
