"""``syncd.web`` is tested through the API, so the fixtures are those of ``tests/api``."""

from tests.api.conftest import api, clock, serve, store

__all__ = ["api", "clock", "serve", "store"]
