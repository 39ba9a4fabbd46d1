"""A store with a clock that the test moves, and a log that the test reads."""

from tests.sync.board_fixtures import board_fixture, clock_fixture, logged_fixture, store_fixture  # noqa: F401
