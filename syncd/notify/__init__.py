"""Notifications: e-mail and webhooks say what needs the operator (docs/operations.md "Notifications"). How a notice gets to its
receivers is in docs/architecture.md "The way of a notice". Nothing here is in the way of a run: the store is all that they share.
``words``, ``timing`` and ``digest`` neither send nor wait."""

from syncd.notify.degraded import DegradedFeeds
from syncd.notify.delivery import Sending
from syncd.notify.notifier import Notifier, try_all, ways_of
from syncd.notify.words import pages_of
