"""What is in front of the API is tested with the API behind it."""

from tests.api.conftest import api, clock, serve, store, template

__all__ = ["api", "clock", "serve", "store", "template"]
