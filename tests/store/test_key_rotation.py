"""A key's successor."""

from datetime import timedelta
from functools import partial

import pytest

from syncd.domain import Employer
from syncd.errors import Conflict, NotFound
from syncd.store import Store, keys
from tests.clock import Clock

DAY = timedelta(days=1)


def live(store: Store, plain: str) -> bool:
    return store.read(lambda tx: keys.authenticate(tx, plain)) is not None


def test_both_work_until_the_old_one_ends(store: Store, employer: Employer, clock: Clock) -> None:
    old, plain_old = store.write(lambda tx: keys.create(tx, employer.id, "board"))
    new, plain_new = store.write(lambda tx: keys.rotate(tx, old.id, DAY))
    assert (new.label, new.employer_id, new.expires_at) == ("board", employer.id, None)
    assert plain_new != plain_old
    clock.forward(hours=23, minutes=59)
    assert live(store, plain_old)
    assert live(store, plain_new)
    clock.forward(minutes=1)
    assert not live(store, plain_old)
    assert live(store, plain_new)


def test_without_grace_the_old_one_ends_at_once(store: Store, employer: Employer) -> None:
    old, plain_old = store.write(lambda tx: keys.create(tx, employer.id))
    _, plain_new = store.write(lambda tx: keys.rotate(tx, old.id, timedelta(0)))
    assert (live(store, plain_old), live(store, plain_new)) == (False, True)


def test_the_successor_lasts_as_long_as_its_predecessor_did_or_until_the_date_that_is_given(
    store: Store, employer: Employer, clock: Clock
) -> None:
    old, _ = store.write(lambda tx: keys.create(tx, employer.id, "", clock() + 90 * DAY))
    clock.forward(days=80)
    heir, _ = store.write(lambda tx: keys.rotate(tx, old.id, DAY))
    assert heir.expires_at == clock() + 90 * DAY
    dated, _ = store.write(lambda tx: keys.rotate(tx, heir.id, DAY, clock() + 7 * DAY))
    assert dated.expires_at == clock() + 7 * DAY


def test_grace_never_prolongs_a_key(store: Store, employer: Employer, clock: Clock) -> None:
    old, _ = store.write(lambda tx: keys.create(tx, employer.id, "", clock() + timedelta(hours=1)))
    store.write(lambda tx: keys.rotate(tx, old.id, DAY))
    assert store.read(lambda tx: keys.get(tx, old.id)).expires_at == clock() + timedelta(hours=1)


def test_a_dead_key_has_no_successor(store: Store, employer: Employer, clock: Clock) -> None:
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
