"""The HTTP interface (specification, section 4): parse, check, one store call, render."""

from syncd.api.app import add_health, add_metrics, make_app
from syncd.api.settings import ApiSettings

__all__ = ["ApiSettings", "add_health", "add_metrics", "make_app"]
