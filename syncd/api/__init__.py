"""The HTTP interface (docs/specification.md 4): parse, check, one store call, render."""

from syncd.api.app import add_health, add_metrics, make_app

__all__ = ["add_health", "add_metrics", "make_app"]
