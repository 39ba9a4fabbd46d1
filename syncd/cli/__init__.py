"""The command line. Thin: reads options, calls the service's parts, prints; decides nothing."""

from syncd.cli.entry import main

__all__ = ["main"]
