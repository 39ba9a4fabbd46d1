"""The HTTP interface (docs/specification.md 4): parse, check, one store call, render."""

from syncd.api.app import add_health, add_metrics, make_app
from syncd.api.limits import server_limits

__all__ = ["add_health", "add_metrics", "make_app", "server_limits"]
