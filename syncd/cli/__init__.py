"""The command line: reads options, calls the parts of the service, prints results. It holds no rules of its own."""

from syncd.cli.entry import main
