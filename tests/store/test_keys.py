"""Employers and the life of an API key."""

from datetime import timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest

from syncd.domain import Employer
from syncd.errors import Conflict, Invalid, NotFound
from syncd.store import Store, employers, keys
from tests.clock import Clock


def test_an_employer_is_found_by_name_or_id(store: Store) -> None:
    acme = store.write(lambda tx: employers.add(tx, "  Acme   Ltd. "))
    number = store.write(lambda tx: employers.add(tx, "1", unlimited=False))
    assert (acme.id, acme.name, acme.unlimited) == (1, "Acme Ltd.", True)
    for wanted, found in ((acme.name, acme), ("2", number), (2, number), ("1", number)):
        assert store.read(partial(employers.find, name_or_id=wanted)) == found
    assert store.read(employers.all) == [acme, number]


def test_an_unknown_employer_is_reported_with_the_nearest_name(store: Store) -> None:
    store.write(lambda tx: employers.add(tx, "Acme Ltd."))
    with pytest.raises(NotFound, match=r"did you mean 'Acme Ltd\.'"):
        store.read(lambda tx: employers.find(tx, "Acme Ldt."))
    with pytest.raises(NotFound):
        store.read(lambda tx: employers.get(tx, 7))


def test_names_are_unique_and_of_a_length(store: Store) -> None:
    store.write(lambda tx: employers.add(tx, "x" * 128))
    with pytest.raises(Conflict):
        store.write(lambda tx: employers.add(tx, "x" * 128))
    for name in ("", "   ", "x" * 129):
        with pytest.raises(Invalid):
            store.write(partial(employers.add, name=name))


def test_a_key_is_shown_once_and_only_its_hash_is_kept(store: Store, employer: Employer, path: Path) -> None:
    info, plain = store.write(lambda tx: keys.create(tx, employer.id, "laptop", None))
    assert plain.startswith("syncd_")
    assert len(plain) == 49
    assert (info.label, info.employer, info.employer_id) == ("laptop", "Acme Ltd.", employer.id)
    assert store.read(lambda tx: keys.authenticate(tx, plain)) == info
    kept = store.read(lambda tx: tx.execute("SELECT digest FROM api_key").fetchone())
    assert kept == (sha256(plain.encode()).digest(),)
    store.close()
    assert plain.encode() not in path.read_bytes()
    assert plain.removeprefix("syncd_").encode() not in path.read_bytes()


@pytest.mark.parametrize("wrong", ["", "syncd_", "x" * 49, "\udcff", "' OR 1=1 --"])
def test_a_wrong_key_is_nobody(store: Store, employer: Employer, wrong: str) -> None:
    _, plain = store.write(lambda tx: keys.create(tx, employer.id))
    for text in (wrong, plain + wrong if wrong else plain[:-1], plain.upper()):
        assert store.read(partial(keys.authenticate, plain=text)) is None


def test_a_key_ends_at_its_expiry(store: Store, employer: Employer, clock: Clock) -> None:
    _, plain = store.write(lambda tx: keys.create(tx, employer.id, "", clock() + timedelta(days=1)))
    clock.forward(hours=23, minutes=59)
    assert store.read(lambda tx: keys.authenticate(tx, plain)) is not None
    clock.forward(minutes=1)
    assert store.read(lambda tx: keys.authenticate(tx, plain)) is None


def test_a_revoked_key_is_nobody_and_others_go_on(store: Store, employer: Employer, clock: Clock) -> None:
    old, plain_old = store.write(lambda tx: keys.create(tx, employer.id, "old"))
    new, plain_new = store.write(lambda tx: keys.create(tx, employer.id, "new"))
    revoked = store.write(lambda tx: keys.revoke(tx, old.id))
    at = clock()
    clock.forward(days=1)
    assert store.write(lambda tx: keys.revoke(tx, old.id)) == revoked
    assert revoked.revoked_at == at
    assert store.read(lambda tx: keys.authenticate(tx, plain_old)) is None
    assert store.read(lambda tx: keys.authenticate(tx, plain_new)) == new
    assert [key.label for key in store.read(keys.all)] == ["old", "new"]
    with pytest.raises(NotFound):
        store.write(lambda tx: keys.revoke(tx, 99))


def test_uses_are_noted_in_batches_and_never_move_back(
    store: Store, employer: Employer, clock: Clock
) -> None:
    one, _ = store.write(lambda tx: keys.create(tx, employer.id))
    two, _ = store.write(lambda tx: keys.create(tx, employer.id))
    now = clock()
    store.write(lambda tx: keys.touch(tx, {one.id: now, two.id: now, 99: now}))
    store.write(lambda tx: keys.touch(tx, {one.id: now - timedelta(hours=1)}))
    assert [key.last_used_at for key in store.read(keys.all)] == [now, now]


def test_a_key_needs_an_employer(store: Store) -> None:
    with pytest.raises(NotFound):
        store.write(lambda tx: keys.create(tx, 7))
