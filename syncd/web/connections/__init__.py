"""The server under an application, its connections and their limits."""

from syncd.web.connections.server import STOPPING, make_runner, retire

__all__ = ["STOPPING", "make_runner", "retire"]
