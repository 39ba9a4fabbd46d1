"""The HTTP interface (specification, section 4): parse, check, one store call, render."""

from syncd.api.app import add_health, make_app
from syncd.api.server import make_runner, retire
from syncd.api.settings import ApiSettings

__all__ = ["ApiSettings", "add_health", "make_app", "make_runner", "retire"]
