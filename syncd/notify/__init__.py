"""Notifications by e-mail and webhook (docs/operations.md "Notifications", docs/architecture.md "The way of a notice"). Nothing
here is in the way of a run: they share the store alone."""

from syncd.notify.delivery import Sending
from syncd.notify.notifier import Notifier, ServiceNotices, try_all, ways_of
from syncd.notify.words import pages_of
