"""``syncd.web`` is tested through the API, so the fixtures are those of ``tests/api``."""

from tests.api.conftest import api, clock_fixture, serve, store_fixture  # noqa: F401
