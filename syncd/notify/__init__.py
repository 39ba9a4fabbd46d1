"""Notifications: e-mail and webhooks say what needs the operator (docs/operations.md "Notifications").

1. A **notice** is written to the store in the transaction in which something happens (``syncd.store.notices``).
2. ``notifier``    Puts new notices into the outbox of each receiver (``syncd.store.outbox``), and writes the digest.
3. ``delivery``    Takes them from there, in order for each feed, and sends them: at once, later or not at all
                   (``timing``). Only what a receiver has accepted is marked as sent.
4. ``webhook``, ``email``  Send one message. ``words`` say what is in it.

Nothing here is in the way of a run: the store is all that they share. ``words``, ``timing`` and ``digest``
neither send nor wait."""

from syncd.notify.degraded import DegradedFeeds
from syncd.notify.delivery import Sending
from syncd.notify.notifier import Notifier, try_all, ways_of
from syncd.notify.words import pages_of

__all__ = ["DegradedFeeds", "Notifier", "Sending", "pages_of", "try_all", "ways_of"]
