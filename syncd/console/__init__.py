"""The operator's pages (docs/pages.md): decisions that wait, feeds and runs, and the actions on them.

A page is one module of ``pages`` with its handlers, a template, and, where it has one, its row in ``NAVIGATION``. It shows the
objects that the commands print with ``--json``."""

from syncd.console.app import add_console
from syncd.console.gate import for_known_hosts
from syncd.console.visit import Console
