"""Notifications: e-mail and webhooks say what needs the operator (docs/operations.md "Notifications"). The way of a notice to its
receivers is in docs/architecture.md "The way of a notice". Nothing here is in the way of a run: they share the store alone."""

from syncd.notify.delivery import Sending
from syncd.notify.notifier import Notifier, try_all, ways_of
from syncd.notify.words import pages_of
