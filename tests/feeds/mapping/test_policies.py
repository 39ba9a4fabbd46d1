"""The mapping language: values that do not fit, missing values, and names that are spelled otherwise."""

from decimal import Decimal

import pytest
from lxml import etree

from syncd.domain import Catalogue
from syncd.errors import ConfigError
from syncd.feeds.mapping.mapping import COMPILERS, Mapping
from syncd.feeds.mapping.presets import load_preset
from syncd.feeds.readers import Record

CATALOGUE = Catalogue.default()


def row(fields, item, lookups=None, form="json", catalogue=CATALOGUE):
    return Mapping(catalogue, fields, lookups, form).row(Record(1, 1, b"", item))


def codes(mapped):
    return [code for code, _ in mapped.warnings]


def places(mapped):
    return [entry["description"] for entry in mapped.body["locations"]]


# --- locations

WHERE = {"locations": {"from": "l", "split": ";"}}
BESIDE = {"locations": {"from": "l", "split": ";", "province": ["p", "q"]}}


@pytest.mark.parametrize(("item", "expected"), [
    ({"l": "Windsor", "p": "Nouvelle-Écosse"}, ["Windsor, Nouvelle-Écosse"]),
    ({"l": "Windsor; Laval, QC", "p": "NS"}, ["Windsor, NS", "Laval, QC"]),
    ({"l": "Montréal (QC)", "p": "ON"}, ["Montréal, QC"]),
    ({"l": "Toronto, ON, Canada", "p": "Ontario"}, ["Toronto, ON"]),
    ({"l": "Québec", "p": "Québec"}, ["Québec, Québec"]),
    ({"l": "Granby", "p": "Estrie", "q": "QC"}, ["Granby, QC"]),
    ({"l": "Buffalo", "p": "North"}, ["Buffalo, North"]),
    ({"l": "Windsor"}, ["Windsor"]),
    ({"l": "Remote; Windsor", "q": "NS"}, ["Windsor, NS"]),
])  # fmt: skip
def test_a_place_without_a_province_gets_that_beside_it(item, expected):
    assert places(row(BESIDE, item)) == expected


def test_a_province_beside_is_that_of_its_own_node():
    fields = {"locations": {"each": "s", "from": "c", "province": "p"}}
    sites = [{"c": "Windsor", "p": "NS"}, {"c": "London", "p": "ON"}, {"c": "Laval"}]
    assert places(row(fields, {"s": sites})) == ["Windsor, NS", "London, ON", "Laval"]


OFFICES = {"locations": {"each": [".", "more"], "from": ["l", "."], "country": "c"}}


@pytest.mark.parametrize(("item", "expected", "warnings"), [
    # each place has its own country
    ({"l": "Toronto", "c": "CA", "more": [{"l": "London", "c": "GB"}]}, ["Toronto"], ["location_abroad"]),
    ({"l": "Boston", "c": "US", "more": [{"l": "Laval", "c": "Canada"}]}, ["Laval"], ["location_abroad"]),
    # without one it has that of the record, if this is abroad
    ({"l": "Boston", "c": "US", "more": ["Toronto, ON", "London"]}, ["Toronto, ON"], ["location_abroad"]),
    ({"l": "Toronto", "c": "CA", "more": ["London"]}, ["Toronto", "London"], ["place_assumed"]),
    ({"l": "Toronto", "c": "CA", "more": []}, ["Toronto"], []),
])  # fmt: skip
def test_each_of_several_places_has_its_own_country(item, expected, warnings):
    mapped = row(OFFICES, item)
    assert places(mapped) == expected
    assert codes(mapped) == warnings


def test_places_abroad_and_their_country():
    # all have the record's foreign country
    mapped = row(OFFICES, {"l": "Boston", "c": "US", "more": ["London", {"l": "Halifax"}]})
    assert [(p.code, p.value) for p in mapped.problems] == [("outside_canada", "US")]
    # the record is not itself a place, so its country is not that of the others
    fields = {"locations": {"each": "more", "from": "l", "country": ["c", "more[*].c"]}}
    mapped = row(fields, {"c": "US", "more": [{"l": "Boston", "c": "US"}, {"l": "Laval"}]})
    assert places(mapped) == ["Laval"]
    # a default does not bring a job abroad home
    spec = {"locations": {"from": "l", "country": "c", "default": "Toronto, ON"}}
    assert [p.code for p in row(spec, {"l": "Boston", "c": "US"}).problems] == ["outside_canada"]


@pytest.mark.parametrize(("text", "expected"), [
    ("Toronto or Ottawa, ON", ["Toronto, ON", "Ottawa, ON"]),
    ("Calgary/Edmonton, AB", ["Calgary, AB", "Edmonton, AB"]),
    ("Toronto/Ottawa, ON, Canada", ["Toronto, ON", "Ottawa, ON"]),
    ("Montréal, Québec, QC", ["Montréal, Québec"]),
    ("Nepean, Ottawa, ON", ["Ottawa, ON"]),
    ("Trois-Rivières, QC", ["Trois-Rivières, QC"]),
    ("Kitchener and Nowhereville, ON", ["Kitchener and Nowhereville, ON"]),
    ("Prescott and Russell, ON", ["Prescott and Russell, ON"]),
    ("12 Main St, Toronto, ON", ["Toronto, ON"]),
    ("12 Main St, Toronto ON", ["Toronto, ON"]),
    ("Mississauga, Peel Region, Ontario", ["Mississauga, Ontario"]),
    ("Calgary (SE), AB", ["Calgary, AB"]),
    ("Gatineau (Outaouais), Québec", ["Gatineau, Québec"]),
    ("Edmonton Area, AB", ["Edmonton, AB"]),
    ("Lévis et environs, QC", ["Lévis, QC"]),
    ("Nowhereville (north), AB", ["Nowhereville (north), AB"]),
    # places of a list
    ("Toronto, ON; Ottawa, ON", ["Toronto, ON", "Ottawa, ON"]),
    ("Toronto, ON | Calgary, Alberta, Canada", ["Toronto, ON", "Calgary, Alberta"]),
    ("Toronto, ON\nOttawa, ON\n", ["Toronto, ON", "Ottawa, ON"]),
    ("Toronto, ON;", ["Toronto, ON"]),
    ("Toronto, ON / Calgary, AB", ["Toronto, ON", "Calgary, AB"]),
    ("Toronto, ON and Nowhereville, BC", ["Toronto, ON", "Nowhereville, BC"]),
    ("Montréal, QC et Ottawa, ON", ["Montréal, QC", "Ottawa, ON"]),
    ("Toronto, ON, Calgary, AB, Laval, Québec", ["Toronto, ON", "Calgary, AB", "Laval, Québec"]),
    ("Toronto/Ottawa, ON; CA-AB-Calgary", ["Toronto, ON", "Ottawa, ON", "Calgary, AB"]),
    ("Toronto, ON; Remote", ["Toronto, ON"]),
    ("Toronto, ON; toronto, Ontario", ["Toronto, ON"]),
    ("Toronto, ON | Hybrid", ["Toronto, ON"]),
    # one place in several lines or parts
    ("Windsor\nNS", ["Windsor, NS"]),
    ("\n  Toronto\n  ON\n", ["Toronto, ON"]),
    ("Toronto\nON\nCanada", ["Toronto, ON"]),
    ("Toronto, ON\nCanada", ["Toronto, ON"]),
    ("Niagara\nFalls, ON", ["Niagara Falls, ON"]),
    ("Victoria\nBeach, MB", ["Victoria Beach, MB"]),
    ("Windsor | NS", ["Windsor |, NS"]),
    # a part is not certainly a place
    ("Head Office; Toronto, ON", ["Head Office; Toronto, ON"]),
    ("Nowhereville, ON, Calgary, AB", ["Calgary, AB"]),
    (f"{'; '.join(['Toronto, ON', 'Ottawa, ON'] * 20)}", ["Toronto, ON", "Ottawa, ON"]),
])  # fmt: skip
def test_places_of_a_list_are_places_of_their_own(text, expected):
    assert places(row({"locations": "l"}, {"l": text})) == expected
    assert places(row({"locations": {"from": "l", "country": "c"}}, {"l": text, "c": "Canada"})) == expected


def test_places_of_a_list_without_their_provinces_get_that_of_the_record():
    fields = {"locations": {"from": "l", "province": "p"}}
    for text in ("Toronto; Ottawa", "Toronto | Ottawa", "Toronto; Ottawa, ON"):
        assert places(row(fields, {"l": text, "p": "ON"})) == ["Toronto, ON", "Ottawa, ON"]
    assert places(row(fields, {"l": "Head Office; Desk 5", "p": "ON"})) == ["Head Office; Desk 5, ON"]


def test_of_a_long_list_the_first_three_places_count():
    names = ["Toronto, ON", "Ottawa, ON", "London, ON", "Barrie, ON", "Guelph, ON"]
    mapped = row({"locations": "l"}, {"l": "; ".join(names * 12)})
    assert (places(mapped), codes(mapped)) == (names[:3], ["too_many_locations"])
    mapped = row({"locations": "l"}, {"l": "Toronto, ON; " * 1_000})
    assert len(places(mapped)) == 1  # far too long for a place: the rules of a job reject it


@pytest.mark.parametrize(
    "abroad",
    "Boston, MA|Boston, MA 02110|Boston, MA - HQ|Boston, Massachusetts, USA|San Francisco, CA|Ottawa, CA 94105|Lyon, France"
    "|Londres, Royaume-Uni|Havana, Cuba".split("|"),
)
def test_a_text_that_names_another_country_is_left_out_beside_a_place_in_canada(abroad):
    for fields in (WHERE, {"locations": "l"}):
        mapped = row(fields, {"l": f"{abroad}; Laval, QC"})
        assert (places(mapped), codes(mapped)) == (["Laval, QC"], ["location_abroad"])
        assert abroad.partition(",")[0] in mapped.warnings[0][1]


@pytest.mark.parametrize(
    "text", ["North York, CA; Laval, QC", "Toronto, Onatrio; Laval, QC", "St. John's, T.-N.; Laval, QC"]
)
def test_a_text_that_may_be_a_misspelt_province_stays(text):
    """The rules of the API refuse it then."""
    assert places(row(WHERE, {"l": text})) == text.split("; ")


@pytest.mark.parametrize("text", ["Boston, MA", "Boston, MA; Laval", "London, England", "Paris, TX, USA"])
def test_a_text_that_names_another_country_rejects_the_row_where_nothing_is_surely_in_canada(text):
    (problem,) = row(WHERE, {"l": text}).problems
    assert (problem.code, "Canadian places only" in problem.detail) == ("outside_canada", True)


@pytest.mark.parametrize(("values", "expected"), [
    (["Régulier", "Temps partiel"], 2),
    (["Permanent", "Part-time"], 2),
    (["Permanent", "Contract"], 1),
    (["fulltime", "parttime"], 1),
    (["parttime", "fulltime"], 2),
    (["Regular", "Full time"], 1),
    (["Permanent", "Part-time, permanent"], 2),
    (["Regular", "Temps partiel (20 h)"], 2),
    (["Full-time, permanent", "Part-time"], 1),
    (["Regular full-time", "Part time"], 1),
    (["Permanent", "Full-time", "Part-time"], 1),
    ([1, "Part time"], 1),
    (["1", "Part time"], 1),
])  # fmt: skip
def test_of_several_kinds_of_work_the_hours_count_before_the_tenure(values, expected):
    assert row({"positionType": "t"}, {"t": values}).body["positionType"] == {"id": expected}


DEFAULT = {"default": "Full Time"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0,6 ETC", 2), ("Permanent, 22,5 h/sem.", 2), ("Régulier, 0,4 ETC, nuit", 2), ("Nights", 1)],
)
def test_a_decimal_comma_does_not_part_a_list_of_position_types(text, expected):
    mapped = row({"positionType": {"from": "t", "split": [",", ";"], **DEFAULT}}, {"t": text})
    assert mapped.body["positionType"] == {"id": expected}
    assert codes(mapped) == ["unknown_position_type"] * (text == "Nights")


@pytest.mark.parametrize(("name", "hours", "expected"), [
    *(
        (name, 20, 2)
        for name in ("hours", "Hours", "hoursPerWeek", "Heures/semaine", "weekly_hours", "Nb d'heures")
    ),
    *(("Hours", hours, 2) for hours in ("20", "22,5", "29.9", "20 h", "15-25 h/wk", "part time")),
    *(("Hours", hours, 1) for hours in (30, Decimal("37.5"), "37,5", "40", "75", "Full time, permanent")),
    *(("Hours", hours, None) for hours in (4, "8", "12", "0", "1950", "9-17", "8h-16h", "varies")),
    *(("Hours per week", hours, 2) for hours in (4, "8", "12,5")),
    *(("Hours per day", hours, None) for hours in (7, "7.5")),
    *(("Start hours", hours, None) for hours in (7, "16")),
    *(("FTE", share, 2) for share in (Decimal("0.5"), "0,6", ".75", "60%")),
    *(("ETC", share, 1) for share in (1, "1.0", "0,8", "100 %")),
    *(("FTE", share, None) for share in (2, "3", "0", "150%")),
    *(("type", number, None) for number in (20, "20", "22,5", "37.5", "0.5")),
])  # fmt: skip
def test_numbers_are_hours_only_in_a_column_of_that_name(name, hours, expected):
    for form in ("csv", "json") if name.isalpha() else ("csv",):
        item = {name.casefold() if form == "csv" else name: hours}
        mapped = row({"positionType": {"from": name, **DEFAULT}}, item, form=form)
        assert (mapped.body["positionType"]["id"], codes(mapped)) == (
            expected or 1,
            [] if expected else ["unknown_position_type"],
        )


def test_hours_decide_beside_a_permanent_job_and_a_lookup_goes_before_them():
    both = {"positionType": {"all": ["kind", "hours"], **DEFAULT}}
    for hours, expected in ((20, 2), ("22,5", 2), (37, 1)):
        assert row(both, {"kind": "Permanent", "hours": hours}).body["positionType"] == {"id": expected}
    looked = {"positionType": {"from": "hours", "lookup": "p"}}
    assert row(looked, {"hours": 20}, {"p": {"20": "Temp"}}).body["positionType"] == {"id": 4}


def test_a_retired_kind_of_work_is_not_found_beside_another():
    catalogue = CATALOGUE.extended(position_types={2: ""})
    mapped = row({"positionType": "t"}, {"t": ["Permanent", "Part-time"]}, catalogue=catalogue)
    assert mapped.body["positionType"] == {"id": 1}


@pytest.mark.parametrize(("place", "province"), [
    ("Lieu de travail", "Province"),
    ("Location", "Province/State"),
    ("Emplacement", "Province ou territoire"),
    ("Ville", "Prov"),
    ("job_location", "State"),
])  # fmt: skip
def test_the_csv_preset_finds_place_and_province_in_columns_of_their_own(place, province):
    preset = load_preset("csv")
    mapped = row(preset["fields"], {place: "Windsor", province: "Nouvelle-Écosse"}, preset["lookup"], "csv")
    assert places(mapped) == ["Windsor, Nouvelle-Écosse"]


def test_what_names_no_place_is_left_out_and_said():
    mapped = row(WHERE, {"l": "Laval, QC; Remote - Canada"})
    assert places(mapped) == ["Laval, QC"]
    assert mapped.warnings == (("location_nowhere", "no place: Remote - Canada"),)


def test_a_job_that_is_nowhere_has_a_problem_that_says_what_to_do():
    mapped = row(WHERE, {"l": "Télétravail"})
    assert "locations" not in mapped.body
    assert [(p.pointer, p.code, p.value) for p in mapped.problems] == [
        ("/locations", "required", "Télétravail")
    ]
    assert "default" in mapped.problems[0].detail


@pytest.mark.parametrize("text", ["Remote", "", None])
def test_a_default_location_is_used_where_there_is_none(text):
    mapped = row({"locations": {"from": "l", "default": "Toronto, ON"}}, {"l": text})
    assert (places(mapped), mapped.problems) == (["Toronto, ON"], ())


def test_one_place_however_it_is_spelled_counts_once():
    mapped = row(WHERE, {"l": "Montréal, QC; MONTREAL, Québec; Laval, QC; Hull, Que.; Laval"})
    assert places(mapped) == ["Montréal, QC", "Laval, QC", "Hull, Que."]
    assert codes(mapped) == ["too_many_locations"]


@pytest.mark.parametrize(
    ("name", "many"),
    [("locations", "A, ON; B, ON; C, ON; D, ON"), ("categories", "Sales; Retail; Legal; Other")],
)
def test_more_than_three_may_be_left_to_the_rules(name, many):
    cut = row({name: {"from": "v", "split": ";"}}, {"v": many})
    assert (len(cut.body[name]), codes(cut)) == (3, [f"too_many_{name}"])
    kept = row({name: {"from": "v", "split": ";", "too_many": "reject"}}, {"v": many})
    assert (len(kept.body[name]), codes(kept)) == (4, [])


def test_a_long_id_is_refused_by_the_rules_unless_its_hash_may_replace_it():
    long = "x" * 51
    assert row({"referenceId": "r"}, {"r": long}).reference_id == long
    spec = {"referenceId": {"from": "r", "too_long": "hash"}}
    hashed = row(spec, {"r": long})
    assert len(hashed.reference_id) == 40
    assert hashed.reference_id == row(spec, {"r": long}).reference_id
    assert hashed.reference_id != row(spec, {"r": long + "x"}).reference_id
    assert codes(hashed) == ["reference_hashed"]
    assert row(spec, {"r": "x" * 50}).reference_id == "x" * 50


# --- lookups


def test_an_entry_with_a_star_holds_for_all_that_begin_so_and_the_longest_wins():
    entries = {
        "6*": "Customer Service",
        "632*": "Food & Beverage",
        "63200": "Hospitality & Tourism",
        "29-*": "Legal",
    }
    spec = {"categories": {"from": "c", "lookup": "noc", "default": "Other"}}
    for code, id in (("65201", 8), ("63201", 12), ("63200", 16), ("29-1141.00", 19), ("2911", 32)):
        assert row(spec, {"c": code}, {"noc": entries}).body["categories"] == [{"id": id}]
    with pytest.raises(ConfigError, match="Nowhere"):
        Mapping(CATALOGUE, {"categories": {"from": "c", "lookup": "t"}}, {"t": {"1*": "Nowhere"}}, "json")


def test_values_that_no_catalogue_knows_are_collected_with_and_without_a_default():
    spec = {"categories": {"from": "c", "split": ",", "default": "Other"}, "positionType": "p"}
    mapped = row(spec, {"c": "Sales, Alchemy, Astrology", "p": "gig"})
    unknown = [("categories", "Alchemy"), ("categories", "Astrology"), ("positionType", "gig")]
    assert sorted(mapped.unknown) == unknown
    assert row(spec, {"c": "Sales", "p": "Contract"}).unknown == ()


def test_a_lookup_may_give_booleans_and_nothing():
    lookups = {"f": {"J": True, "N": False, "?": ""}}
    spec = {"confidential": {"from": "v", "lookup": "f"}}
    for word, flag in (("J", True), ("n", False), ("?", None), ("oui", True)):
        assert row(spec, {"v": word}, lookups).body["confidential"] is flag


@pytest.mark.parametrize("column", ["job title", "job_title", "job-title", "jobtitle", "job  title."])
def test_a_column_is_found_without_blanks_dashes_and_underscores(column):
    assert row({"title": "Job Title"}, {column: "Cook"}, form="csv").body == {"title": "Cook"}
    both = row({"title": column}, {"j.o.b.title": "other", column: "very name"}, form="csv")
    assert both.body == {"title": "very name"}


# --- dates and money, as the feed writes them


@pytest.mark.parametrize(
    ("order", "expected"), [("dmy", "2027-06-05"), ("mdy", "2027-05-06"), ("numbers", None)]
)
def test_the_order_of_a_date_is_the_feeds_to_say_and_never_guessed(order, expected):
    spec = {"closeDate": {"from": "d", "date": [order]}}
    mapped = row(spec, {"d": "05/06/2027"})
    assert mapped.body.get("closeDate") == expected
    assert bool(mapped.problems) is (expected is None)
    if expected is None:
        assert "may be 2027-06-05 or 2027-05-06" in mapped.problems[0].detail


@pytest.mark.parametrize(
    "text",
    "Open until filled|ongoing|Jusqu'à comblement|Ouvert jusqu’à ce que le poste soit pourvu|-|--|—|TBD|À déterminer|ASAP|Never"
    "|Jamais|Until position is filled|Not specified|Non précisée|n/d|s.o.|Sans objet|Continu|No expiry".split(
        "|"
    ),
)
def test_a_text_that_says_that_there_is_no_closing_date_is_not_a_wrong_one(text):
    mapped = row({"closeDate": {"from": "d", "date": ["dmy", "words"]}}, {"d": text})
    assert mapped.body == {}
    assert codes(mapped) == ["no_date"]
    assert mapped.problems == ()


def test_a_title_of_points_and_dashes_is_none():
    for text in ("-", "...", "\u2014", "???", "<b>-</b>"):
        assert row({"title": "t"}, {"t": text}).body == {"title": None}
    for text in ("C", "9", "\u042f"):
        assert row({"title": "t"}, {"t": text}).body == {"title": text}


@pytest.mark.parametrize("source", ["c", {"from": "c", "split": [",", ";"]}])
def test_an_escaped_name_of_a_category_is_that_category(source):
    (food,) = row({"categories": source}, {"c": "Food & Beverage"}).body["categories"]
    assert row({"categories": source}, {"c": "Food &amp; Beverage"}).body["categories"] == [food]
    if isinstance(source, dict):
        two = row({"categories": source}, {"c": "Food &amp; Beverage; Legal"})
        assert two.body["categories"][0] == food
        assert len(two.body["categories"]) == 2


def test_marks_of_cdata_are_taken_out_of_a_title():
    for text in ("<![CDATA[Cook]]>", "&lt;![CDATA[Cook]]&gt;", "Cook]]>"):
        mapped = row({"title": "t"}, {"t": text})
        assert mapped.body == {"title": "Cook"}
        assert "damaged_text" in codes(mapped)


APPLY = {"applicationUrl": "u", "applicantRoutingType": {"prefer": ["applicationUrl"]}}


def test_an_email_address_where_a_link_is_expected_is_one_to_apply_at():
    assert row(APPLY, {"u": "hr@acme.example"}).body["applicationEmail"] == "hr@acme.example"
    for text in ("hr@acme", "hr@acme.example or by phone", "https://u@acme.example/x"):
        assert row(APPLY, {"u": text}).body["applicationUrl"] == text


PARTS = {"salary": {"amount": "a", "maxAmount": "b", "period": {"value": "Hourly"}, "currency": "c"}}


@pytest.mark.parametrize(
    "currency",
    ["CAD", "$", "ca$", "$ CAD", "Canadian Dollar", "Dollar canadien", "CAD - Canadian Dollar", "CDN$"],
)
def test_the_currency_of_canada_has_several_names(currency):
    mapped = row(PARTS, {"a": 25, "c": currency})
    assert (mapped.body["salary"]["amount"], codes(mapped)) == (25, [])


@pytest.mark.parametrize("currency", ["USD", "US$", "US dollars", "Dollar américain", "EUR", "Mexican peso"])
def test_other_currencies_are_not_of_canada(currency):
    mapped = row(PARTS, {"a": 25, "c": currency})
    assert (mapped.body["salary"], codes(mapped)) == (None, ["salary_currency"])


def test_an_amount_that_cannot_be_read_has_a_warning_beside_another():
    mapped = row(PARTS, {"a": "25", "b": "35.99999"})
    assert (mapped.body["salary"]["maxAmount"], codes(mapped)) == (None, ["salary_unclear"])
    assert codes(row(PARTS, {"a": "25", "b": "none"})) == codes(row(PARTS, {"a": "25", "b": "-"})) == []


NULL_DATES = [
    *(
        ("iso", day)
        for day in "0001-01-01 0000-00-00 1601-01-01 1753-01-01 1899-12-30 1900-01-01 1970-01-01".split()
    ),
    *(
        ("iso", f"{day}T00:00:00{zone}")
        for day in ("0001-01-01", "1970-01-01")
        for zone in ("", ".000Z", "-05:00")
    ),
    *(
        ("iso", text)
        for text in ("0000-00-00 00:00:00", "1969-12-31T19:00:00-05:00", "1970-01-01T00:00:01Z", "1900-01-00")
    ),
    *(("iso", f"/Date({number})/") for number in ("-62135596800000", "-62135578800000-0500", "0")),
    *(("mdy", text) for text in ("01/01/1900", "1/1/0001 12:00:00 AM", "00/00/0000", "1/0/1900", "00:00:00")),
    *(("iso", day) for day in ("9999-12-31", "9999-12-31T23:59:59.999Z", "4712-12-31", "2999-12-31")),
    ("mdy", "12/31/9999"),
    *(("epoch", number) for number in (0, "0", -2208988800, -62135596800)),
    ("epoch_ms", -62135596800000),
    ("excel", "0"),
    ("rfc822", "Mon, 01 Jan 0001 00:00:00 GMT"),
    ("rfc822", "Thu, 01 Jan 1970 00:00:00 GMT"),
    ("words", "January 1, 1900"),
]


@pytest.mark.parametrize(("form", "value"), NULL_DATES)
def test_a_date_by_which_a_program_means_none_is_not_sent(form, value):
    mapped = row({"closeDate": {"from": "d", "date": [form]}}, {"d": value})
    assert (mapped.body, codes(mapped), mapped.problems) == ({}, ["no_date"], ())


def test_a_number_is_read_in_the_format_of_its_size():
    fields = {"closeDate": {"from": "d", "date": ["epoch_ms", "epoch", "excel"]}}
    for number in (1798693200000, 1798693200, 46387):
        assert row(fields, {"d": number}).body == {
            "closeDate": "2026-12-30" if number > 46387 else "2026-12-31"
        }
    assert [problem.code for problem in row(fields, {"d": 30}).problems] == ["invalid_date"]


def test_a_date_near_one_that_means_none_is_a_date():
    for day in ("1900-02-01", "1969-12-01", "1971-01-01", "2000-01-01"):
        assert row({"closeDate": "d"}, {"d": day}).body == {"closeDate": day}


@pytest.mark.parametrize(("raw", "expected"), [
    ("mailto:jobs@a.example?subject=007", "jobs@a.example"),
    ("MAILTO:jobs%2Bca@a.example", "jobs+ca@a.example"),
    ("RH <rh@acme.example>", "rh@acme.example"),
    ("rh@acme.example", "rh@acme.example"),
    ("a <b> c@d.example", "a <b> c@d.example"),
    ("<" + "a@" * 100_000 + "x", "<" + "a@" * 100_000 + "x"),  # in linear time
])  # fmt: skip
def test_an_address_is_taken_out_of_a_link_and_from_beside_a_name(raw, expected):
    assert row({"applicationEmail": "e"}, {"e": raw}).body == {"applicationEmail": expected}


@pytest.mark.parametrize(("raw", "expected"), [
    ("Sales &amp; Service &#8211; Montr&eacute;al", "Sales & Service – Montréal"),
    ("R&amp;amp;D", "R&D"),
    ("R&D", "R&D"),
    ("Q&A lead", "Q&A lead"),
    ("Sales&reg manager; R&copy", "Sales&reg manager; R&copy"),
])  # fmt: skip
def test_references_to_characters_in_a_title_are_replaced(raw, expected):
    mapped = row({"title": "t"}, {"t": raw})
    assert mapped.body == {"title": expected}
    assert codes(mapped) == (["references_replaced"] if raw != expected else [])


def test_an_unknown_status_is_rejected_or_left_out():
    refused = row({"status": "s"}, {"s": "Full-time"})
    assert (refused.body, [problem.code for problem in refused.problems]) == ({}, ["unknown_value"])
    mapped = row({"status": {"from": "s", "unknown": "ignore"}}, {"s": "Full-time"})
    assert (mapped.body, codes(mapped)) == ({}, ["unknown_status"])
    assert mapped.unknown == (("status", "Full-time"),)
    assert row({"status": "s"}, {"s": "Full-time"}).unknown == (("status", "Full-time"),)
    mapped = row({"status": {"from": "s", "unknown": "draft"}}, {"s": "Full-time"})
    assert (mapped.body, codes(mapped)) == ({"status": "draft"}, ["unknown_status"])
    assert row({"status": "s"}, {"s": "Closed"}).unknown == ()


@pytest.mark.parametrize(("low", "high", "expected"), [
    ("1850.25 $/sem.", "2310.00 $/sem.", ("1850.25", "2310", 3)),
    ("$20.00/hr", "$25.00/hr", ("20", "25", 5)),
    ("$60,000 per year", "$70,000 per year", ("60000", "70000", 1)),
    ("20.00", "25.00/hr", ("20", "25", 5)),
    ("$20/hr", "$60,000 per year", None),
    ("$25/hr", "$20/hr", ("20", "25", 5)),
])  # fmt: skip
def test_two_amounts_may_have_their_units_beside_them(low, high, expected):
    pay = row({"salary": {"amount": "a", "maxAmount": "b"}}, {"a": low, "b": high}).body["salary"]
    if expected is None:
        assert pay is None or pay["maxAmount"] is None
    else:
        amounts = map(Decimal, expected[:2])
        assert (pay["amount"], pay["maxAmount"], pay["period"]["id"]) == (*amounts, expected[2])


@pytest.mark.parametrize(
    ("amount", "period"),
    [(6_500_000, "yearly"), (1001, "hourly"), (10_001, "daily"), (50_001, "weekly"), (200_001, "monthly")],
)
def test_pay_that_is_too_high_to_be_true_is_not_sent(amount, period):
    fields = {"salary": {"amount": "a", "period": "p"}}
    mapped = row(fields, {"a": amount, "p": period})
    assert (mapped.body, codes(mapped)) == ({"salary": None}, ["salary_unclear"])
    less = amount - 6_000_000 if amount > 10**6 else amount - 1
    assert row(fields, {"a": less, "p": period}).body["salary"]


@pytest.mark.parametrize(("preset", "item", "sent"), [
    *(("indeed", word, "archived") for word in ("Closed", "Pourvu", "Position filled", "0", "no")),
    *(("indeed", word, "draft") for word in ("Unpublished", "Pending", "Brouillon")),
    *(("indeed", word, None) for word in "Open Full-time 1 yes Publiée Active Parked".split()),
    *(("lever", {"state": word}, None) for word in ("published", "shown elsewhere")),
    *(("lever", {"state": word}, "archived") for word in ("closed", "internal")),
    *(("lever", {"state": word}, "draft") for word in ("draft", "pending")),
    ("smartrecruiters", {"visibility": "PUBLIC"}, None),
    ("smartrecruiters", {"visibility": "INTERNAL"}, "archived"),
    ("smartrecruiters", {"postingStatus": "NOT_PUBLISHED"}, "archived"),
    ("smartrecruiters", {"visibility": "PUBLIC", "postingStatus": "NOT_PUBLISHED"}, "archived"),
    ("smartrecruiters", {"visibility": "PUBLIC", "postingStatus": "PUBLIC", "active": True}, None),
    ("smartrecruiters", {"visibility": "PUBLIC", "active": False}, "archived"),
    *(("csv", {"job status": word}, None) for word in ("Open", "Interviewing", "Full time")),
    *(
        ("csv", {"job status": word}, "archived")
        for word in "Filled|On hold|Closed|Withdrawn|Paused|Temporarily closed".split("|")
    ),
    ("csv", {"status": "Open", "job status": "Closed"}, "archived"),
    *(("csv", {"active": word}, None) for word in ("Yes", "Y", "Oui", "1", "TRUE")),
    *(("csv", {"active": word}, "archived") for word in ("No", "N", "Non", "0", "FALSE")),
    *(("csv", {"published": word}, sent) for word, sent in (("Y", None), ("N", "draft"))),
])  # fmt: skip
def test_postings_that_others_must_not_see_are_not_live(preset, item, sent):
    shipped = load_preset(preset)
    form = shipped["read"]["format"]
    if form == "xml":
        item = etree.fromstring(f"<job><title>Cook</title><status>{item}</status></job>")
    assert row(shipped["fields"], item, shipped["lookup"], form).body.get("status") == sent


def test_the_id_of_a_requisition_counts_only_where_a_job_has_no_other():
    fields = load_preset("csv")["fields"]
    both = row(fields, {"requisition id": "R1", "id": "17"}, load_preset("csv")["lookup"], "csv")
    assert both.reference_id == "17"
    alone = row(fields, {"requisition id": "R1", "title": "Cook"}, load_preset("csv")["lookup"], "csv")
    assert alone.reference_id == "R1"


@pytest.mark.parametrize(("cell", "expected"), [
    ('="0007"', "0007"),
    ('="a""b"', 'a"b'),
    ('=""', None),
    ('="', '="'),
    ("=1+1", "=1+1"),
    ('="a"&"b"', '="a"&"b"'),
    ('"0007"', '"0007"'),
])  # fmt: skip
def test_a_formula_that_is_a_text_is_that_text(cell, expected):
    assert row({"referenceId": "id"}, {"id": cell}, form="csv").reference_id == expected


@pytest.mark.parametrize("cell", ["#REF!", "#N/D", "#NAME?", "#div/0!", "#VALEUR!", "#NOM?", "#ERROR!"])
@pytest.mark.parametrize("field", ["referenceId", "title", "description"])
def test_a_formula_that_failed_is_no_value(field, cell):
    mapped = row({field: "x"}, {"x": cell}, form="csv")
    (problem,) = mapped.problems
    assert (problem.pointer, problem.code, problem.value) == (f"/{field}", "wrong_type", cell)
    assert field not in mapped.body
    assert not row({field: "x"}, {"x": f"{cell} 1"}, form="csv").problems


def test_a_year_of_two_digits_is_not_taken_for_a_day():
    preset = load_preset("csv")
    mapped = row(preset["fields"], {"closing date": "13/07/26"}, preset["lookup"], "csv")
    assert "closeDate" not in mapped.body
    assert [p.code for p in mapped.problems if p.pointer == "/closeDate"] == ["invalid_date"]


@pytest.mark.parametrize(("locale", "text", "amount"), [
    ("fr", "1.234 $ par mois", "1234"),
    ("fr", "22,500 $ / h", "22.500"),
    ("en", "1.234 $ de l'heure", "1.234"),
    ("en", "$22,500 a year", "22500"),
    ("fr", "25,50 $ / h", "25.50"),
    ("fr", "1 234,50 $ par mois", "1234.50"),
    ("fr", "$25.50 / hour", "25.50"),
])  # fmt: skip
def test_the_decimal_mark_is_the_feeds_to_say(locale, text, amount):
    mapped = row({"salary": {"text": "s", "locale": locale}}, {"s": text})
    assert mapped.body["salary"]["amount"] == Decimal(amount)


def test_the_locale_holds_for_parts_too():
    spec = {"salary": {"amount": "a", "period": {"value": "Monthly"}, "locale": "fr"}}
    assert row(spec, {"a": "3.500"}).body["salary"]["amount"] == 3500


# --- constants and fall-backs, for every field

FIXED = {
    "referenceId": ("A-1", "A-1"),
    "title": ("Cook", "Cook"),
    "closeDate": ("2099-01-02", "2099-01-02"),
    "confidential": (True, True),
    "autoRefresh": ("yes", True),
    "status": ("draft", "draft"),
    "locations": (["Laval, QC", "Hull, QC"], [{"description": "Laval, QC"}, {"description": "Hull, QC"}]),
    "categories": (["Sales", 24], [{"id": 25}, {"id": 24}]),
    "positionType": ("Contract", {"id": 3}),
    "salary": ("$20 / hour", {"amount": Decimal(20), "maxAmount": None, "period": {"id": 5}, "plusCommission": False}),
    "description": ("<p>x</p>", "<p>x</p>"),
    "applicantRoutingType": ("URL", {"id": 2}),
    "applicationEmail": ("a@b.ca", "a@b.ca"),
    "applicationUrl": ("https://b.ca", "https://b.ca"),
}  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.parametrize("name", FIXED)
def test_every_field_takes_a_constant_and_a_default(name, form):
    raw, expected = FIXED[name]
    assert row({name: {"value": raw}}, {"a": ""}, form=form).body == {name: expected}
    mapped = row({name: {"from": "a", "default": raw}}, {"a": ""}, form=form)
    assert (mapped.body, mapped.problems) == ({name: expected}, ())


def test_the_fields_of_the_language_are_those_of_a_job():
    assert set(FIXED) == set(COMPILERS)


def test_the_columns_that_a_mapping_does_not_name_are_known():
    fields = {
        "title": "Job Title",
        "locations": [{"template": "{City}, {Prov}"}, "place"],
        "salary": {"text": "pay"},
    }
    mapping = Mapping(CATALOGUE, fields, None, "csv", rows={"skip": {"kind": "internal"}})
    columns = ["job_title", "city", "prov", "place", "pay", "kind", "bonus", "notes"]
    assert mapping.unused(columns) == ["bonus", "notes"]
    assert Mapping(CATALOGUE).unused(columns) == []
