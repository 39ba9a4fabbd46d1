"""What is under an application: the server, its connections and their limits."""

from syncd.web.connections.server import STOPPING, make_runner, retire

__all__ = ["STOPPING", "make_runner", "retire"]
