"""The HTTP interface (docs/specification.md 4): parse, check, one store call, render."""

from syncd.api.app import add_health, add_metrics, make_app
from syncd.api.server import make_runner, retire
from syncd.api.settings import ApiSettings
from syncd.api.timings import RequestTimes

__all__ = ["ApiSettings", "RequestTimes", "add_health", "add_metrics", "make_app", "make_runner", "retire"]
