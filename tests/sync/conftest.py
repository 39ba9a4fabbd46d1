"""The fixtures of the tests that reconcile files (board.py)."""

from tests.sync.board_fixtures import board_fixture, clock_fixture, store_fixture  # noqa: F401
