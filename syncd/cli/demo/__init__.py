"""``syncd demo``: an installation of its own, a real daemon on it, and a week of feed files dropped one after the
other."""

from syncd.cli.demo.walkthrough import demo
