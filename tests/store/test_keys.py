"""Employers, the life of an API key, and the answers that are kept for it."""

from datetime import timedelta
from functools import partial
from hashlib import sha256

import pytest

from syncd.errors import Conflict, Invalid, NotFound
from syncd.store import Store, employers, keys, replies
from tests.stores import rows_in


def test_an_employer_is_found_by_name_or_id(store):
    acme = store.write(lambda tx: employers.add(tx, "  Acme   Ltd. "))
    number = store.write(lambda tx: employers.add(tx, "No. 1", unlimited=False))
    assert (acme.id, acme.name, acme.unlimited) == (1, "Acme Ltd.", True)
    for wanted, found in ((acme.name, acme), ("2", number), (2, number), ("No. 1", number)):
        assert store.read(partial(employers.find, name_or_id=wanted)) == found
    assert store.read(employers.all) == [acme, number]


def test_an_unknown_employer_is_reported_with_the_nearest_name(store):
    store.write(lambda tx: employers.add(tx, "Acme Ltd."))
    with pytest.raises(NotFound, match=r"did you mean 'Acme Ltd\.'"):
        store.read(lambda tx: employers.find(tx, "Acme Ldt."))
    with pytest.raises(NotFound):
        store.read(lambda tx: employers.get(tx, 7))


def test_names_are_unique_and_of_a_length(store):
    store.write(lambda tx: employers.add(tx, "x" * 128))
    with pytest.raises(Conflict):
        store.write(lambda tx: employers.add(tx, "x" * 128))
    for name in ("", "   ", "x" * 129, "1", " 23 ", "a\x1b[31mb", "a\ufffeb", "a\x85\x00b"):
        with pytest.raises(Invalid):
            store.write(partial(employers.add, name=name))


def test_a_label_has_no_control_characters_and_an_end(store, employer):
    for label in ("a\x1b[31mb", "x" * 129):
        with pytest.raises(Invalid):
            store.write(partial(keys.create, employer_id=employer.id, label=label))
    info, _ = store.write(lambda tx: keys.create(tx, employer.id, " a\n b ", None))
    assert info.label == "a b"
    with pytest.raises(NotFound):
        store.write(lambda tx: keys.create(tx, employer.id + 1))


def test_a_key_is_shown_once_and_only_its_hash_is_kept(store, employer, path):
    info, plain = store.write(lambda tx: keys.create(tx, employer.id, "laptop", None))
    assert plain.startswith("syncd_")
    assert len(plain) == 49
    assert (info.label, info.employer, info.employer_id) == ("laptop", "Acme Ltd.", employer.id)
    assert store.read(lambda tx: keys.authenticate(tx, plain)) == info
    kept = store.read(lambda tx: tx.execute("SELECT digest FROM api_key").fetchone())
    assert kept == (sha256(plain.encode()).digest(),)
    assert plain.removeprefix("syncd_") not in str(rows_in(path, "SELECT * FROM api_key"))


def test_uses_are_noted_in_batches_and_never_move_back(store, employer, clock):
    one, _ = store.write(lambda tx: keys.create(tx, employer.id))
    two, _ = store.write(lambda tx: keys.create(tx, employer.id))
    now = clock()
    store.write(lambda tx: keys.touch(tx, {one.id: now, two.id: now, 99: now}))
    store.write(lambda tx: keys.touch(tx, {one.id: now - timedelta(hours=1)}))
    assert [key.last_used_at for key in store.read(keys.all)] == [now, now]


# -- a key's successor -----------------------------------------------------------------------------------------

DAY = timedelta(days=1)


def live(store: Store, plain: str) -> bool:
    return store.read(lambda tx: keys.authenticate(tx, plain)) is not None


def test_the_successor_lasts_as_long_as_its_predecessor_did_or_until_the_date_that_is_given(
    store, employer, clock
):
    old, _ = store.write(lambda tx: keys.create(tx, employer.id, "", clock() + 90 * DAY))
    clock.forward(days=80)
    heir, _ = store.write(lambda tx: keys.rotate(tx, old.id, DAY))
    assert heir.expires_at == clock() + 90 * DAY
    dated, _ = store.write(lambda tx: keys.rotate(tx, heir.id, DAY, clock() + 7 * DAY))
    assert dated.expires_at == clock() + 7 * DAY
    store.write(lambda tx: keys.rotate(tx, dated.id, 30 * DAY))  # no grace prolongs a key
    assert store.read(lambda tx: keys.get(tx, dated.id)).expires_at == clock() + 7 * DAY


def test_a_dead_key_has_no_successor(store, employer, clock):
    revoked, _ = store.write(lambda tx: keys.create(tx, employer.id))
    store.write(lambda tx: keys.revoke(tx, revoked.id))
    expired, _ = store.write(lambda tx: keys.create(tx, employer.id, "", clock() + DAY))
    clock.forward(days=2)
    for key, state in ((revoked, "revoked"), (expired, "expired")):
        with pytest.raises(Conflict, match=f"is {state}"):
            store.write(partial(keys.rotate, key_id=key.id, grace=DAY))
    with pytest.raises(NotFound):
        store.write(lambda tx: keys.rotate(tx, 99, DAY))
    assert len(store.read(keys.all)) == 2


def test_a_key_whose_successor_has_ended_is_rotated_again(store, employer):
    old, _ = store.write(lambda tx: keys.create(tx, employer.id, "board"))
    lost, _ = store.write(lambda tx: keys.rotate(tx, old.id, DAY))
    store.write(lambda tx: keys.revoke(tx, lost.id))
    heir, _ = store.write(lambda tx: keys.rotate(tx, old.id, DAY))
    assert (heir.id, store.read(lambda tx: keys.get(tx, old.id)).successor_id) == (3, 3)


def test_a_reply_is_kept_for_its_key_and_time(store, employer, clock):
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
