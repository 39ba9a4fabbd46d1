"""Answers kept for idempotency keys."""

from datetime import timedelta

from syncd.domain import Employer
from syncd.store import Store, keys, replies
from tests.clock import Clock


def test_a_reply_is_kept_for_its_key_and_time(store: Store, employer: Employer, clock: Clock) -> None:
    key, _ = store.write(lambda tx: keys.create(tx, employer.id))
    reply = replies.Reply(b"d" * 32, 201, {"Location": "/jobs/1"}, b'{"id":1}')
    since = clock() - timedelta(hours=24)
    store.write(lambda tx: replies.keep(tx, key.id, "once", reply))
    assert store.read(lambda tx: replies.find(tx, key.id, "once", since)) == reply
    assert store.read(lambda tx: replies.find(tx, key.id, "twice", since)) is None
    assert store.read(lambda tx: replies.find(tx, key.id + 1, "once", since)) is None
    later = clock() + timedelta(microseconds=1)
    assert store.read(lambda tx: replies.find(tx, key.id, "once", later)) is None
    assert store.write(lambda tx: replies.prune(tx, clock())) == 0
    assert store.write(lambda tx: replies.prune(tx, later)) == 1
