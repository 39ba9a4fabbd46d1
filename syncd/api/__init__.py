"""The HTTP API (docs/specification.md 4): each request is parsed and checked, calls the store once, and is answered."""

from syncd.api.app import add_open, make_app
