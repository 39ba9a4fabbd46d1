"""The package is tested with the API as its application."""

from tests.api.conftest import api, clock, serve, store, template

__all__ = ["api", "clock", "serve", "store", "template"]
