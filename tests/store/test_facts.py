"""Catalogue entries that the configuration drops again: jobs may have their ids, so they are only retired."""

import pytest

from syncd.domain import Catalogue
from syncd.store import facts

SEASONAL = Catalogue.default().extended(position_types={6: "Seasonal"}, categories={33: "Film & Television"})


def test_what_was_configured_once_stays_known_and_retired(store):
    store.write(lambda tx: facts.remember_catalogue(tx, SEASONAL))
    now = store.read(lambda tx: facts.complete_catalogue(tx, Catalogue.default()))
    entry = now.position_types.get(6)
    assert entry is not None
    assert (entry.name, entry.retired) == ("Seasonal", True)
    assert now.categories.get(33) is not None
    assert now.find("categories", "Film & Television") is None
    assert now.digest() not in (SEASONAL.digest(), Catalogue.default().digest())


def test_it_is_offered_again_when_it_is_configured_again(store):
    store.write(lambda tx: facts.remember_catalogue(tx, SEASONAL))
    store.write(lambda tx: facts.remember_catalogue(tx, facts.complete_catalogue(tx, Catalogue.default())))
    assert store.read(lambda tx: facts.complete_catalogue(tx, SEASONAL)).digest() == SEASONAL.digest()


def test_its_name_is_free_for_another_id(store):
    store.write(lambda tx: facts.remember_catalogue(tx, SEASONAL))
    renumbered = Catalogue.default().extended(position_types={7: "Seasonal"})
    now = store.read(lambda tx: facts.complete_catalogue(tx, renumbered))
    assert now.find("position_types", "seasonal") == 7
    assert {6, 7} <= set(now.position_types)


@pytest.mark.parametrize(
    "catalogue", [Catalogue.default(), Catalogue.default().extended(categories={1: "Books"})]
)
def test_a_catalogue_of_shipped_ids_is_nothing_to_remember(store, catalogue):
    store.write(lambda tx: facts.remember_catalogue(tx, catalogue))
    assert (
        store.read(lambda tx: tx.execute("SELECT 1 FROM setting WHERE name = 'catalogue'").fetchone()) is None
    )
