"""Catalogues: the shipped entries, their names, and the changes by a configuration."""

import pytest

from syncd.domain.catalogue import Catalogue, CatalogueEntry
from syncd.domain.text import name_key
from syncd.errors import ConfigError
from syncd.shipped_data import catalogue_entries

CATALOGUE = Catalogue.default()


def test_the_shipped_catalogue_is_that_of_the_contract():
    types = ["Full Time", "Part Time", "Contract", "Temp", "Volunteer"]
    assert {e.id: e.name for e in CATALOGUE.position_types.values()} == dict(enumerate(types, 1))
    assert CATALOGUE.periods.get(1) == CatalogueEntry(1, "Yearly", unit="Year")
    assert [p.name for p in CATALOGUE.periods.values()] == ["Yearly", "Monthly", "Weekly", "Daily", "Hourly"]
    assert [r.name for r in CATALOGUE.routing_types.values()] == ["Email", "URL"]
    assert list(CATALOGUE.categories) == list(range(1, len(CATALOGUE.categories) + 1))
    assert 28 <= len(CATALOGUE.categories) <= 34
    assert max(len(e.name) for e in CATALOGUE.categories.values()) <= 40
    assert max(len(e.name) for e in CATALOGUE.position_types.values()) <= 10


@pytest.mark.parametrize(
    ("id", "names"),
    [
        (1, ["FULL_TIME", "full time", "Temps plein", "FullTime", "Permanent", "cdi"]),
        (2, ["PART_TIME", "temps partiel", "Part-Time"]),
        (3, ["CONTRACTOR", "Freelance"]),
        (4, ["TEMPORARY", "seasonal", "INTERN", "Temporaire"]),
        (5, ["bénévole", "VOLUNTEER"]),
        (None, ["nonsense", "", "OTHER"]),
    ],
)
def test_position_types_are_found_by_their_names(id, names):
    assert {CATALOGUE.find("position_types", name) for name in names} == {id}


def test_every_entry_is_found_by_its_own_name():
    for entry in CATALOGUE.categories.values():
        assert CATALOGUE.find("categories", entry.name.upper()) == entry.id
        assert CATALOGUE.find("categories", entry.name.replace(" & ", " and ")) == entry.id, entry
    for period in CATALOGUE.periods.values():
        assert (
            CATALOGUE.find("periods", period.name)
            == CATALOGUE.find("periods", period.unit.lower())
            == period.id
        )


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("Information Technology", "IT & Software"),
        ("Comptabilité", "Accounting & Finance"),
        ("ressources humaines", "Human Resources"),
        ("Construction/Skilled Trade", "Skilled Trades"),
        ("autre", "Other"),
        ("Nursing", "Healthcare"),
    ],
)
def test_categories_are_found_by_synonyms(name, category):
    found = CATALOGUE.find("categories", name)
    assert found is not None
    assert CATALOGUE.categories[found].name == category


LIKELY = {
    "Healthcare": "Nursing Services|Helthcare|Direction des soins infirmiers|Allied Health",
    "Security & Protection": "Securty|Fire Services|Securty Team",
    "Human Resources": "Human Ressources|Ressources humaine",
    "Real Estate & Property": "Property Management Team",
    "Other": "Othr",
    None: "Xylo|Baking|Support Services|Waste Management|Engineering & Construction|Technology Support||"
    + "x " * 5000,
}


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in LIKELY.items() for text in texts.split("|")]
)
def test_an_unknown_text_gets_the_one_entry_that_it_is_likely_meant_for(name, text):
    assert CATALOGUE.likely("categories", text) == name
    retired = CATALOGUE.extended(
        categories={id: "" for id, entry in CATALOGUE.categories.items() if entry.name == name}
    )
    assert name is None or retired.likely("categories", text) != name


def test_no_name_belongs_to_two_entries():
    for entries in catalogue_entries().values():
        seen: dict[str, int] = {}
        for entry in entries.values():
            for name in (entry.name, *entry.other_names):
                assert seen.setdefault(name_key(name), entry.id) == entry.id, name


def test_find_routing_type():
    assert CATALOGUE.find("routing_types", "e-mail") == CATALOGUE.find("routing_types", "Courriel") == 1
    assert CATALOGUE.find("routing_types", "url") == 2
    assert CATALOGUE.routing_types.get(3) is None


def test_a_catalogue_can_be_extended_and_renamed_and_entries_retired():
    catalogue = CATALOGUE.extended(
        categories={100: " Fisheries ", 32: "Everything else", 30: " "}, position_types={6: "On Call", 5: ""}
    )
    assert catalogue.categories.get(100) == CatalogueEntry(100, "Fisheries")
    assert catalogue.find("categories", "everything ELSE") == 32
    assert catalogue.find("categories", "autre") == 32
    assert (catalogue.categories[30].retired, catalogue.categories[30].name) == (True, "Sports & Recreation")
    assert catalogue.find("categories", "Sports & Recreation") is None
    assert catalogue.find("categories", "fitness") is None
    assert catalogue.find("position_types", "on call") == 6
    assert catalogue.position_types[5].retired
    assert CATALOGUE.categories.get(100) is None


def test_every_fault_of_an_extension_is_reported():
    with pytest.raises(ConfigError) as caught:
        CATALOGUE.extended(
            categories={0: "Zero", 2**31: "Big", 50: "x" * 41, 52: "legal", 99: ""},
            position_types={7: "Eleven char"},
        )
    faults = "\n".join(caught.value.faults)
    for words in ("categories.0", f"categories.{2**31}", "41 characters", "19 and 52"):
        assert words in faults
    assert "position_types.7" in faults
    assert "categories.99: an empty name retires an entry that ships, and this is none" in faults


def test_different_catalogues_have_different_digests():
    assert CATALOGUE.digest() == Catalogue.default().digest()
    assert len(CATALOGUE.digest()) == 16
    others = [
        CATALOGUE.extended(categories={32: "Misc"}),
        CATALOGUE.extended(categories={32: ""}),
        CATALOGUE.extended(position_types={6: "On Call"}),
    ]
    assert len({CATALOGUE.digest(), *(c.digest() for c in others)}) == 4
