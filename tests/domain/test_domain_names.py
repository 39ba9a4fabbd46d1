"""Text folding, places, catalogues: how names are compared and found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.domain.catalog import Catalog, Entry, Period
from syncd.domain.job import Place
from syncd.domain.places import PROVINCES, PlaceError, identity, parse, province_code
from syncd.domain.text import fold, key
from syncd.errors import ConfigError

CATALOG = Catalog.default()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("MONTRÉAL", "montreal"),
        ("Straße", "STRASSE"),
        ("Sœur", "soeur"),
        ("Łódź", "lodz"),
        ("L’Ancienne–Lorette", "l'ancienne-lorette"),
        ("e\u0301", "é"),
        ("ﬁn ™", "fin tm"),
        ("a\u00a0b", "a b"),
        ("İ", "i"),
    ],
)
def test_folding_ignores_case_accents_and_typography(one, other):
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), [("a b", "ab"), ("a-b", "a b"), ("100%", "100"), ("a_b", "a.b")])
def test_folding_keeps_what_substring_search_needs(one, other):
    assert fold(one) != fold(other)


@given(st.text())
def test_folding_twice_changes_nothing(text):
    assert fold(fold(text)) == fold(text)


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_folding_treats_ascii_as_it_treats_all_text(text):
    assert fold(text + "é") == fold(text) + "e"


def test_keys_ignore_punctuation_however_long_the_name():
    assert key("FULL_TIME") == key(" full -  Time ") == "full time"
    assert key("x" * 300 + "__é") == "x" * 300 + " e"


@pytest.mark.parametrize(("code", "names"), PROVINCES.items())
def test_every_province_is_understood_by_all_its_names(code, names):
    for name in (code, *names):
        for written in (name, name.lower(), name.upper(), f" {name} ", fold(name)):
            assert parse(f"Somewhere,{written}") == Place("Somewhere", code)


def test_there_are_thirteen_provinces_and_territories():
    assert set(PROVINCES) == {"AB", "BC", "MB", "NB", "NL", "NS", "NT", "NU", "ON", "PE", "QC", "SK", "YT"}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Toronto", Place("Toronto")),
        ("  Toronto , on ", Place("Toronto", "ON")),
        ("Montréal, QC", Place("Montréal", "QC")),
        ("St. John's, Newfoundland and Labrador", Place("St. John's", "NL")),
        ("L’Ancienne-Lorette, Québec", Place("L'Ancienne-Lorette", "QC")),
        ("Saint-Louis-du-Ha! Ha!", Place("Saint-Louis-du-Ha! Ha!")),
        ("Trois\u2011Rivières, QC", Place("Trois-Rivières", "QC")),
        ("Trois–Rivières, QC", Place("Trois-Rivières", "QC")),
        ("L‘Ancienne\u2010Lorette, QC", Place("L'Ancienne-Lorette", "QC")),
        ("100 Mile House, BC", Place("100 Mile House", "BC")),
        ("Greater Sudbury / Grand Sudbury, ON", Place("Greater Sudbury / Grand Sudbury", "ON")),
        ("Vancouver (Downtown), Colombie-Britannique", Place("Vancouver (Downtown)", "BC")),
        ("Iqaluit   ᐃᖃᓗᐃᑦ, NU", Place("Iqaluit ᐃᖃᓗᐃᑦ", "NU")),
        ("Montre\u0301al, PQ", Place("Montre\u0301al", "QC")),
        ("Whitehorse, Yukon Territory", Place("Whitehorse", "YT")),
    ],
)
def test_places_as_people_write_them(text, place):
    assert parse(text) == place


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("", ["required"]),
        ("  ", ["required"]),
        ("Toronto, XX", ["unknown_province"]),
        ("Toronto,", ["unknown_province"]),
        ("Toronto, ON, Canada", ["unknown_province"]),
        ("Toronto, California", ["unknown_province"]),
        ("Buffalo, NY", ["unknown_province"]),
        (", ON", ["invalid_characters"]),
        ("123", ["invalid_characters"]),
        ("...", ["invalid_characters"]),
        ("Tor@nto", ["invalid_characters"]),
        ("Toronto; Ottawa", ["invalid_characters"]),
        ("Toronto_East", ["invalid_characters"]),
        ("<b>Toronto</b>", ["invalid_characters"]),
        ("٣ Toronto", ["invalid_characters"]),
        ("😀", ["invalid_characters"]),
        ("T0r@nto, ZZ", ["invalid_characters", "unknown_province"]),
        ("x" * 301, ["too_long"]),
        ("x" * 257, ["too_long"]),
    ],
)
def test_what_is_no_place(text, codes):
    with pytest.raises(PlaceError) as caught:
        parse(text)
    assert [code for code, _ in caught.value.faults] == codes
    assert (caught.value.code, caught.value.detail) == caught.value.faults[0]


@pytest.mark.parametrize("letter", ["x", "é", "\U00020000"])
def test_a_city_has_at_most_256_and_a_description_at_most_300_code_points(letter):
    assert parse(letter * 256).city == letter * 256
    with pytest.raises(PlaceError):
        parse(letter * 257)
    assert parse(letter * 256 + "," + " " * 41 + "ON").province == "ON"
    with pytest.raises(PlaceError):
        parse(letter * 256 + "," + " " * 42 + "ON")


@given(st.text(max_size=40))
def test_a_place_that_is_read_reads_the_same_from_its_own_description(text):
    try:
        place = parse(text)
    except PlaceError:
        return
    assert parse(place.description) == place


def test_two_ways_of_writing_one_place_have_one_identity():
    assert identity(parse("Montréal, QC")) == identity(parse("MONTREAL, quebec"))
    assert identity(parse("Montréal, QC")) != identity(parse("Montréal"))


def test_province_code_knows_none_for_others():
    assert province_code("Î.-P.-É.") == "PE"
    assert province_code("Newfoundland & Labrador") == "NL"
    assert province_code("Ontariooo") is None
    assert province_code("") is None


def test_the_shipped_catalogue_is_the_documented_one():
    assert {e.id: e.name for e in CATALOG.position_types.values()} == {
        1: "Full Time",
        2: "Part Time",
        3: "Contract",
        4: "Temp",
        5: "Volunteer",
    }
    assert CATALOG.period(1) == Period(1, "Yearly", "Year")
    assert [p.name for p in CATALOG.periods.values()] == ["Yearly", "Monthly", "Weekly", "Daily", "Hourly"]
    assert [r.name for r in CATALOG.routing_types.values()] == ["Email", "URL"]
    assert list(CATALOG.categories) == list(range(1, len(CATALOG.categories) + 1))
    assert 28 <= len(CATALOG.categories) <= 34
    assert max(len(e.name) for e in CATALOG.categories.values()) <= 40
    assert max(len(e.name) for e in CATALOG.position_types.values()) <= 10


@pytest.mark.parametrize(
    ("name", "id"),
    [
        *(
            ("FULL_TIME", 1),
            ("full time", 1),
            ("Temps plein", 1),
            ("FullTime", 1),
            ("Permanent", 1),
            ("cdi", 1),
        ),
        *(("PART_TIME", 2), ("temps partiel", 2), ("Part-Time", 2), ("CONTRACTOR", 3), ("Freelance", 3)),
        *(
            ("TEMPORARY", 4),
            ("seasonal", 4),
            ("INTERN", 4),
            ("Temporaire", 4),
            ("bénévole", 5),
            ("VOLUNTEER", 5),
        ),
        *(("nonsense", None), ("", None), ("OTHER", None)),
    ],
)
def test_position_types_are_found_by_their_names(name, id):
    assert CATALOG.find_position_type(name) == id


def test_every_entry_is_found_by_its_own_name():
    for entry in CATALOG.categories.values():
        assert CATALOG.find_category(entry.name.upper()) == entry.id
        assert CATALOG.find_category(entry.name.replace(" & ", " and ")) == entry.id, entry
    for period in CATALOG.periods.values():
        assert CATALOG.find_period(period.name) == CATALOG.find_period(period.unit.lower()) == period.id


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
    assert CATALOG.category(CATALOG.find_category(name)).name == category


def test_no_synonym_belongs_to_two_entries():
    from syncd.domain import catalog_data as data

    for table in (
        data.CATEGORY_SYNONYMS,
        data.POSITION_SYNONYMS,
        data.PERIOD_SYNONYMS,
        data.ROUTING_SYNONYMS,
    ):
        seen = {}
        for id, names in table.items():
            for name in names:
                assert seen.setdefault(key(name), id) == id, name


def test_find_routing_type():
    assert CATALOG.find_routing_type("e-mail") == CATALOG.find_routing_type("Courriel") == 1
    assert CATALOG.find_routing_type("url") == 2
    assert CATALOG.routing_type(3) is None


def test_a_catalogue_can_be_extended_and_renamed_and_entries_retired():
    catalog = CATALOG.extended(
        categories={100: " Fisheries ", 32: "Everything else"},
        position_types={6: "On Call"},
        retired_categories=[30],
        retired_position_types=[5],
    )
    assert catalog.category(100) == Entry(100, "Fisheries")
    assert catalog.find_category("everything ELSE") == 32
    assert catalog.find_category("autre") == 32
    assert catalog.category(30).retired
    assert catalog.find_category("Sports & Recreation") is None
    assert catalog.find_category("fitness") is None
    assert catalog.find_position_type("on call") == 6
    assert catalog.position_type(5).retired
    assert CATALOG.category(100) is None


def test_every_fault_of_an_extension_is_told():
    with pytest.raises(ConfigError) as caught:
        CATALOG.extended(
            categories={0: "Zero", 2**31: "Big", 50: "x" * 41, 51: " ", 52: "legal"},
            position_types={7: "Eleven char"},
            retired_categories=[99],
        )
    faults = "\n".join(caught.value.faults)
    for words in ("categories.0", f"categories.{2**31}", "41 characters", "must not be empty", "19 and 52"):
        assert words in faults
    assert "position_types.7" in faults
    assert "99 cannot be retired" in faults


def test_names_at_their_limit_are_taken():
    catalog = CATALOG.extended(categories={50: "😀" * 40}, position_types={7: "x" * 10})
    assert catalog.category(50).name == "😀" * 40


def test_the_digest_tells_catalogues_apart():
    assert CATALOG.digest() == Catalog.default().digest()
    assert len(CATALOG.digest()) == 16
    others = [
        CATALOG.extended(categories={32: "Misc"}),
        CATALOG.extended(retired_categories=[32]),
        CATALOG.extended(position_types={6: "On Call"}),
    ]
    assert len({CATALOG.digest(), *(c.digest() for c in others)}) == 4
