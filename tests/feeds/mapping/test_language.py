"""The mapping language: selectors of three formats, sources, and each kind of field
(docs/feeds.md "The mapping language")."""

from decimal import Decimal

import pytest
from lxml import etree

from syncd.domain import Catalogue, check_body
from syncd.errors import ConfigError, FeedError, Problem
from syncd.feeds.mapping.mapping import MappedRow, Mapping
from syncd.feeds.readers import Record

CATALOGUE = Catalogue.default()


def row(fields, item, lookups=None, form=None):
    if isinstance(item, str):
        item, form = etree.fromstring(item), "xml"
    return Mapping(CATALOGUE, fields, lookups, form).row(Record(1, 1, b"", item))


def value(source, item, field="title", **more):
    return row({field: source}, item, **more).body.get(field)


XML = """<job xmlns:x="urn:x" id="A7"><name>Cook</name><city>Laval</city><state/><x:ref> 0044 </x:ref>
  <tag>a</tag><tag>b</tag><where><town kind="main">Hull</town><town>Aylmer</town></where><n>3</n></job>"""

XPATHS = [
    ("name", "Cook"),
    ("ref", "0044"),
    ("x:ref", "0044"),
    ("@id", "A7"),
    ("where/town", "Hull"),
    ("where/town/@kind", "main"),
    ("where/town[2]", "Aylmer"),
    ("where/town[@kind='main']", "Hull"),
    ("where/town[not(@kind)]", "Aylmer"),
    (".//town", "Hull"),
    ("concat(name, ' - ', city)", "Cook - Laval"),
    ("count(tag)", "2"),
    ("n[. > 2 and . < 4]", "3"),
    ("state", None),
    ("missing", None),
]


@pytest.mark.parametrize(("path", "expected"), XPATHS)
def test_an_xpath_is_relative_to_the_record_and_matches_any_namespace(path, expected):
    assert value(path, XML) == expected


def test_a_default_namespace_does_not_matter():
    assert value("a/b", '<job xmlns="urn:q"><a><b>x</b></a></job>') == "x"
    assert value("a[b='x']/b", '<job xmlns="urn:q"><a><b>x</b></a></job>') == "x"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("title", "t"), ("TITLE", "T"), ("Title", "t"), ("expirationdate", "x"), ("n", None)],
)
def test_a_name_that_no_child_has_is_found_in_another_case(name, expected):
    xml = "<job><TITLE>T</TITLE><title>t</title><expirationDate>x</expirationDate></job>"
    assert value(name, xml) == expected
    assert value({"each": name, "from": "."}, xml) == expected


JSON = {
    "a": {"b": "x"},
    "list": [{"name": "one", "v": 1}, {"name": "Job Type", "v": "Full"}],
    "odd.name": "odd",
    "@id": "A7",
    "flag": False,
    "empty": [],
    "none": None,
    "deep": [[{"v": "z"}]],
}
PATHS = [
    ("a.b", "x"),
    ("$.a.b", "x"),
    ("list[0].name", "one"),
    ("list[-1].name", "Job Type"),
    ("list[*].name", "one"),
    ("list.name", "one"),
    ("list[name=Job Type].v", "Full"),
    ('["odd.name"]', "odd"),
    ("@id", "A7"),
    ("a[0].b", "x"),
    ("a[*].b", "x"),
    ("deep.v", "z"),
    ("list[7].name", None),
    ("empty", None),
    ("none", None),
    ("a.b.c", None),
]


@pytest.mark.parametrize(("path", "expected"), PATHS)
def test_a_json_path_takes_one_value_or_a_list_however_it_comes(path, expected):
    assert value(path, JSON) == expected


def test_a_csv_column_is_found_without_case_and_surrounding_space():
    assert value("  Job TITLE ", {"job title": " Cook "}, form="csv") == "Cook"


@pytest.mark.parametrize("empty", ["NA", "n/a", "null", "None", " ", "", None, [], {}])
def test_what_means_nothing_is_not_a_value(empty):
    assert value(["a", "b"], {"a": empty, "b": "x"}) == "x"


@pytest.mark.parametrize(
    ("raw", "sent"), [("Oui", True), ("0", False), (1, True), ("maybe", "maybe"), (False, False), ("X", True)]
)
def test_a_flag_is_read_from_its_words_and_other_words_are_left_to_the_rules(raw, sent):
    assert value("f", {"f": raw}, "confidential") == sent


SOURCES = [
    (["none", "a"], "x"),
    ({"from": "a"}, "x"),
    ({"value": "fixed"}, "fixed"),
    ({"from": "none", "default": "d"}, "d"),
    ({"from": ["none", {"value": "v"}]}, "v"),
    ({"template": "{a}, {b}"}, "x, y"),
    ({"template": "{{{a}}}"}, "{x}"),
    ({"template": "{a}, {none}"}, None),
    ({"template": "{a}, {none}", "default": "d"}, "d"),
    ([{"template": "{a}, {none}"}, "b"], "y"),
    ({"from": "c", "split": ","}, "p"),
    ({"from": "c", "split": [";", ","]}, "p"),
    ({"from": "a", "lookup": "t"}, "looked up"),
    ({"from": "b", "lookup": "t"}, "y"),
    ([{"from": "n", "lookup": "t"}, "a"], "x"),
    ({"each": "parts", "from": "v"}, "1"),
    ({"each": "parts", "template": "{v}!"}, "1!"),
]


@pytest.mark.parametrize(("source", "expected"), SOURCES)
def test_a_source_gives_its_first_value(source, expected):
    item = {"a": "x", "b": "y", "c": "p, q", "n": "nothing", "parts": [{"v": 1}, {"v": 2}], "none": ""}
    assert value(source, item, lookups={"t": {"X": "looked up", "Nothing": ""}}) == expected


_DATED = {"from": "text", "after": "Closing date:", "before": "\n"}
MARKS = [
    ("We cook.\nCLOSING  DATE : 2026-12-31\nPay: $20", _DATED),
    ("We cook.\r\nClosing date: 2026-12-31\r\nPay: $20", {"from": "text", "after": "closing date"}),
    ("<p><b>Closing date</b>: 2026-<i>12</i>-31</p><p>Pay", _DATED),
    ("Closing date:&nbsp;2026-12-31<br/>Pay: $20", _DATED),
    ("&lt;li&gt;Closing date: 2026-12-31&lt;/li&gt;&lt;li&gt;Pay", _DATED),
    ("<tr><td>Closing date</td><td>2026-12-31</td><td>Pay", {"from": "text", "after": "Closing date"}),
    (
        "<tr>\n<td>Closing date</td>\n<td>2026-12-31</td>\n</tr>\n<tr>\n<td>Pay",
        {"from": "text", "after": "Closing date"},
    ),
    ("<dt>Closing date</dt><dd>2026-12-31</dd>", {"from": "text", "after": "Closing date\n"}),
    ("Closing date: 2026-12-31 PAY: $20", _DATED | {"before": "pay:"}),
    ("Closing date: 2026-12-31\nNo more", _DATED | {"before": "pay:"}),
    ("Reopening closing dates. Closing date: 2026-12-31", _DATED),
    ("Closing date:\nPay: $20", _DATED | {"default": "2026-12-31"}),
    ("We cook.", [_DATED, {"value": "2026-12-31"}]),
]


@pytest.mark.parametrize(("text", "source"), MARKS)
def test_a_value_is_cut_out_of_a_text_between_two_marks(text, source):
    assert value(source, {"text": text}, form="csv") == "2026-12-31"
    assert value(source, {"text": text}, form="json") == "2026-12-31"
    assert value(source, f"<job><text><![CDATA[{text}]]></text></job>") == "2026-12-31"


@pytest.mark.parametrize("text", [" " * 900_000, "\n" * 900_000, "<td>" * 200_000, "Closing date\n" * 70_000])
def test_a_hostile_text_is_searched_for_marks_in_linear_time(text):
    for source in (_DATED, {"from": "text", "after": "\nClosing date\n", "before": " - "}):
        assert value(source, {"text": f"Closing date: {text}."}) != ""


def test_marks_of_several_lines_give_the_lines_between_them():
    source = {"from": "text", "after": "Duties", "before": "Skills"}
    markup = "<h3>Duties</h3><li>Cook</li><li>Clean</li><h3>Skills</h3>"
    assert (
        value(source, {"text": markup}) == value(source, f"<job><text>{markup}</text></job>") == "Cook Clean"
    )


def test_a_field_that_is_not_named_is_not_sent_and_one_without_value_is_null():
    body = row({"title": "t", "salary": "s", "closeDate": "c", "status": "s"}, {"t": "x"}).body
    assert body == {"title": "x", "salary": None}


def test_the_first_three_locations_count_and_the_run_says_so():
    text = "A, ON / B, ON / C, ON / D, ON / A, ON"
    mapped = row({"locations": {"from": "where", "split": "/"}}, {"where": text})
    assert mapped.body["locations"] == [{"description": f"{name}, ON"} for name in "ABC"]
    assert mapped.warnings == (("too_many_locations", "4 locations; the first 3 count"),)


def test_all_collects_and_alternatives_stop_at_the_first():
    item = {"a": ["Laval", "Hull"], "b": "Ajax"}
    for source, names in (({"all": ["a", "b"]}, ["Laval", "Hull", "Ajax"]), (["a", "b"], ["Laval", "Hull"])):
        assert value(source, item, "locations") == [{"description": name} for name in names]


def test_a_location_abroad_is_a_problem_and_one_among_others_is_left_out():
    spec = {"locations": {"from": "city", "country": "country"}}
    abroad = row(spec, {"city": "Boston", "country": "US"})
    assert [(p.pointer, p.code) for p in abroad.problems] == [("/locations/0/description", "outside_canada")]
    assert "locations" not in abroad.body
    assert row(spec, {"city": "Laval", "country": "Canada"}).problems == ()
    assert row(spec, {"city": "Laval"}).problems == ()
    mixed = row(
        {"locations": {"each": "p", "from": "c", "country": "n"}},
        {"p": [{"c": "Boston", "n": "US"}, {"c": "Laval", "n": "CA"}]},
    )
    assert mixed.body["locations"] == [{"description": "Laval"}]
    assert [code for code, _ in mixed.warnings] == ["location_abroad"]


CATEGORIES = [
    ("Sales", [25]),
    ("sales", [25]),
    (25, [25]),
    ("25", [25]),
    (["Sales", "Retail", "SALES"], [25, 24]),
    ("Sales, Retail", [25, 24]),
    ("Mining, Oil & Gas", [22]),
    ("Ventes/Gros", [25]),
    ("", None),
]


@pytest.mark.parametrize(("raw", "ids"), CATEGORIES)
def test_categories_come_by_id_or_name_and_are_split_only_where_they_are_not_one_name(raw, ids):
    source = {"all": ["c"], "split": [",", "/"], "lookup": "c"}
    mapped = value(source, {"c": raw}, "categories", lookups={"c": {"ventes/gros": "Sales"}}, form="json")
    assert mapped == (None if ids is None else [{"id": id} for id in ids])


def test_an_unknown_category_rejects_the_row_unless_there_is_a_default():
    refused = row({"categories": "c"}, {"c": "Alchemy"})
    assert [(p.pointer, p.code, p.value) for p in refused.problems] == [
        ("/categories", "unknown_value", "Alchemy")
    ]
    taken = row({"categories": {"from": "c", "default": "Other"}}, {"c": "Alchemy"})
    assert taken.body["categories"] == [{"id": 32}]
    assert taken.warnings == (("unknown_category", "unknown category: Alchemy"),)


@pytest.mark.parametrize("raw", ["FULL_TIME", "full time", "Temps plein", ["unheard of", "fulltime"], 1])
def test_a_position_type_is_the_first_that_is_known(raw):
    assert value("p", {"p": raw}, "positionType") == {"id": 1}


def test_the_first_known_position_type_of_a_list_counts():
    mapped = row({"positionType": "p"}, {"p": "Unheard of, Part-time"})
    assert (mapped.body, mapped.problems) == ({"positionType": {"id": 2}}, ())
    assert mapped.warnings == (("unknown_position_type", "unknown position type: Unheard of"),)
    assert [p.value for p in row({"positionType": "p"}, {"p": "Odd, odder"}).problems] == ["Odd, odder"]


def test_an_unknown_position_type_rejects_the_row_unless_there_is_a_default():
    assert row({"positionType": "p"}, {"p": "gig"}).problems[0].code == "unknown_value"
    assert value({"from": "p", "default": "Contract"}, {"p": "gig"}, "positionType") == {"id": 3}
    assert value({"from": "p", "default": "Contract"}, {}, "positionType") == {"id": 3}


SALARIES = [
    ("s", {"s": "$20 - $25 / hour"}, (20, 25, 5, False)),
    ({"text": "s"}, {"s": "$20 / hour"}, (20, None, 5, False)),
    ({"text": "s", "default": "$18/h"}, {"s": "Competitive"}, (18, None, 5, False)),
    (
        {"amount": "l", "maxAmount": "h", "period": "p"},
        {"l": 20, "h": "22.5", "p": "HOUR"},
        (20, "22.5", 5, False),
    ),
    ({"amount": "lo", "period": "p"}, {"lo": "1,000.00", "p": "Bi-weekly"}, (26000, None, 1, False)),
    (
        {"amount": "lo", "period": {"value": "Yearly"}},
        {"lo": Decimal("50000.5")},
        ("50000.5", None, 1, False),
    ),
    ({"amount": "lo", "infer_period": {"hourly_below": 100}}, {"lo": 20}, (20, None, 5, False)),
    ({"amount": "lo", "period": "p", "text": "s"}, {"s": "$20/hour"}, (20, None, 5, False)),
    ({"text": "s", "period": "p"}, {"s": "60000-80000", "p": "year"}, (60000, 80000, 1, False)),
    ({"text": "s", "period": "p"}, {"s": "$20/hour", "p": "year"}, (20, None, 5, False)),
    ({"text": "s", "period": "p"}, {"s": "$1,000", "p": "Bi-weekly"}, (26000, None, 1, False)),
    ({"plusCommission": "c"}, {"c": "yes"}, (None, None, None, True)),
    ({"plusCommission": "c", "currency": "e"}, {"c": "yes", "e": "EUR"}, (None, None, None, True)),
    ({"amount": "a", "period": "p", "plusCommission": "c"}, {"a": 1, "p": 5, "c": True}, (1, None, 5, True)),
]


@pytest.mark.parametrize(("source", "item", "expected"), SALARIES)
def test_a_salary_comes_from_text_or_from_parts(source, item, expected):
    amount, most, period, commission = expected
    assert value(source, item, "salary", form="json") == {
        "amount": None if amount is None else Decimal(amount),
        "maxAmount": None if most is None else Decimal(most),
        "period": None if period is None else {"id": period},
        "plusCommission": commission,
    }


@pytest.mark.parametrize(
    ("source", "item", "code"),
    [
        ({"text": "s"}, {"s": "Competitive"}, "salary_unclear"),
        ({"amount": "lo", "period": "p"}, {"lo": 20}, "salary_no_period"),
        (
            {"amount": "a", "period": "p", "currency": "c"},
            {"a": 20, "p": "HOUR", "c": "USD"},
            "salary_currency",
        ),
        ({"text": "s", "currency": "c"}, {"s": "20 per hour", "c": "EUR"}, "salary_currency"),
        ({"text": "s", "currency": "c"}, {"s": "Competitive", "c": "EUR"}, "salary_unclear"),
        ({"amount": "lo", "period": "p"}, {"lo": 60000, "p": "HOUR"}, "salary_unclear"),
        ({"amount": "lo", "period": "p"}, {"lo": Decimal("1.23456"), "p": "HOUR"}, "salary_out_of_range"),
        ({"amount": "lo", "period": "p"}, {"lo": -5, "p": "HOUR"}, "salary_out_of_range"),
        ({"amount": "lo", "period": "p"}, {"lo": "-1.00", "p": "HOUR"}, "salary_out_of_range"),
        ({"text": "s"}, {"s": "-20 per hour"}, "salary_unclear"),
        ({"amount": "a", "currency": "c"}, {"a": None, "c": "EUR"}, None),
    ],
)
def test_a_salary_that_the_api_would_refuse_is_not_sent_and_the_run_says_why(source, item, code):
    mapped = row({"salary": source}, item, form="json")
    assert mapped.body == {"salary": None}
    assert [warning for warning, _ in mapped.warnings] == ([code] if code else [])


@pytest.mark.parametrize(
    ("item", "amounts"),
    [
        ({"min": "52.000", "max": "60.000", "period": "YEAR"}, ("52000", "60000")),
        ({"min": "4.200", "period": "month"}, ("4200", None)),
        ({"min": "950.000", "period": "month"}, ("950", None)),
        ({"min": "25.125", "period": "hour"}, ("25.125", None)),
        ({"min": "52.000", "max": "60,000", "period": "hour"}, None),  # more than pay for an hour
    ],
)
def test_dots_of_amounts_separate_thousands_where_they_would_be_too_little(item, amounts):
    mapped = row({"salary": {"amount": "min", "maxAmount": "max", "period": "period"}}, item, form="json")
    salary = mapped.body["salary"]
    if amounts is None:
        assert salary is None
    else:
        assert salary["amount"] == Decimal(amounts[0])
        assert salary["maxAmount"] == (amounts[1] and Decimal(amounts[1]))


def test_a_title_is_one_line_and_cut_only_where_the_mapping_says_so():
    assert value("t", {"t": "A\n  b\x07"}) == "A b"
    long = "x" * 300
    assert value("t", {"t": long}) == long
    cut = row({"title": {"from": "t", "too_long": "truncate"}}, {"t": long})
    assert len(cut.body["title"]) == 256
    assert [code for code, _ in cut.warnings] == ["title_cut"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (" 0044 ", "0044"),
        (True, "true"),
        (Decimal("424339.0"), "424339"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1E+30"), "1" + "0" * 30),
        (Decimal("12345678901234567890123456789012.0"), "12345678901234567890123456789012"),
        (Decimal("1.50"), "1.50"),
    ],
)
def test_a_reference_keeps_its_zeros_and_loses_what_a_number_never_had(number, text):
    assert value("r", {"r": number}, "referenceId") == text
    lost = row({"referenceId": "r"}, {"r": "4.24E+11"}, form="csv")
    assert [(p.pointer, p.code) for p in lost.problems] == [("/referenceId", "wrong_type")]


def test_a_derived_reference_is_stable_and_said():
    fields = {"referenceId": ["id", {"derive": ["url"]}]}
    first, again = (row(fields, {"url": "https://x.ca/1", "other": other}) for other in "xy")
    assert first.reference_id == again.reference_id
    assert len(first.reference_id) == 40
    assert row(fields, {"url": "https://x.ca/2"}).reference_id != first.reference_id
    assert [code for code, _ in first.warnings] == ["derived_reference"]
    assert row(fields, {"id": "7", "url": "u"}).reference_id == "7"
    assert row(fields, {}).reference_id is None


def test_a_date_that_no_format_fits_is_a_problem_that_names_the_formats():
    fields = {"closeDate": {"from": "d", "date": ["%d/%m/%Y", "rfc822"]}}
    assert row(fields, {"d": "13/07/2027"}).body == {"closeDate": "2027-07-13"}
    refused = row(fields, {"d": "07/13/2027"})
    assert refused.body == {}
    assert [(p.pointer, p.code, p.value) for p in refused.problems] == [
        ("/closeDate", "invalid_date", "07/13/2027")
    ]
    assert "%d/%m/%Y, rfc822" in refused.problems[0].detail
    # without a format, it is left to the rules
    assert row({"closeDate": "d"}, {"d": "07/13/2027"}).body == {"closeDate": "07/13/2027"}
    # alternatives may have formats of their own
    alternatives = [{"from": "a", "date": "%d.%m.%Y"}, {"from": "b", "date": ["iso"]}]
    assert row({"closeDate": alternatives}, {"b": "2027-07-13"}).body == {"closeDate": "2027-07-13"}


def test_a_description_of_parts_is_cleaned_part_by_part():
    source = {"all": ["d", {"each": "more", "template": "<h3>{t}</h3>{v}"}], "html": "clean"}
    item = {"d": "One\nTwo", "more": [{"t": "Pay", "v": "<p>Good</p>"}]}
    assert value(source, item, "description") == "<p>One<br>Two</p>\n<p><strong>Pay</strong></p><p>Good</p>"


def test_html_is_left_to_the_rules_unless_the_mapping_cleans_it_and_markup_inside_xml_is_kept():
    assert value("d", {"d": "<h1>x</h1>"}, "description") == "<h1>x</h1>"
    assert value("d", "<job><d>a &amp; <b>c</b><br/>e</d></job>", "description") == "a &amp; <b>c</b><br>e"


ROUTES = [
    ({"u": "https://x.ca", "e": "a@b.ca"}, 2, {"applicationUrl": "https://x.ca"}),
    ({"u": "", "e": "a@b.ca"}, 1, {"applicationEmail": "a@b.ca"}),
    ({"u": "mailto:a@b.ca?subject=x"}, 1, {"applicationEmail": "a@b.ca"}),
    ({"u": "www.x.ca/a?b=1&amp;c=2"}, 2, {"applicationUrl": "https://www.x.ca/a?b=1&c=2"}),
    ({}, None, {"applicationUrl": None, "applicationEmail": None}),
]


@pytest.mark.parametrize(("item", "id", "sent"), ROUTES)
def test_the_preferred_address_that_is_there_decides_the_routing(item, id, sent):
    prefer = {"prefer": ["applicationUrl", "applicationEmail"]}
    body = row({"applicationUrl": "u", "applicationEmail": "e", "applicantRoutingType": prefer}, item).body
    assert body == {"applicantRoutingType": id and {"id": id}, **sent}


def test_a_mail_link_is_an_address_to_apply_at_where_pages_alone_are_mapped():
    fields = {"applicationUrl": "u", "applicantRoutingType": {"prefer": ["applicationUrl"]}}
    assert row(fields, {"u": "mailto:a@b.ca"}).body == {
        "applicationEmail": "a@b.ca",
        "applicantRoutingType": {"id": 1},
    }


STATUSES = {
    "active": (
        "Published|T|Ouverte|AFFICHÉ|Posted|publish|En ligne|Open / Ouvert|Now hiring|Affiché(e)|Publié·e|External|EXTERNE"
        "|Public|Publique|Published externally|Posted - External|Affiché à l'externe|Concours externe|Internal & External"
        "|Interne et externe|OPEN_EXTERNAL|Open to internal and external candidates|Open (Approved)|Approuvé - Ouvert(e)"
        "|Accepts applications|Actif(ve)|Rouvert(e)|Diffusée|En affichage|Ouvert à tous|Posted and open|Re-advertised"
    ).split("|"),
    "archived": "Cancelled - budget|On Hold / En attente|Not accepting applications"
    "|Filled|Fermé|Pourvue|Closed|Position filled|Placed|On Hold|Closed - Filled|CANCELLED|trash|Comblé|Unposted"
    "|Annulée|Expirée|expired|0|Pourvu(e)|Fermé/e"
    "|Internal|INTERNE|Internal only|Interne seulement|Published internally|Posted - Internal only|Open (Internal)"
    "|Affichage interne|Affiché à l’interne|Candidats internes seulement|open_internal|Active - Internal|Pourvu à l'interne"
    "|Internally filled|Position Frozen|Filled/Closed|008 Denied|Declined|Refusée|Gelé(e)|Reporté|Postponed|Désaffichée"
    "|Dépublié|Date limite dépassée|Not public|Non visible|Processus annulé|Fin d’affichage|Inactif(ve)".split(
        "|"
    ),
    "draft": "Draft|Needs Approval|pending_payment|Pending (anything)|In review|Scheduled|Brouillon|En attente|future"
    "|En attente d'approbation|À approuver|private|preview|Auto-Draft|Planifié"
    "|Pending (internal)|Draft - External|Waiting for HR|Not yet posted|Ready to publish|Non diffusé(e)|Prêt à afficher"
    "|À venir|Upcoming|Unapproved".split("|"),
    None: (
        "odd|Approved|New|2|Approved (Internal)|Sourcing|Covered|To be filled|À combler|Unfilled|Partially filled|Vacant"
        "|In progress|En cours|Confidential|Open, not posted|Live (hidden)|External recruiter|Internal, then external"
        "|Not yet public|Fermeture|Closing soon|Recrutement en cours|Offer"
    ).split("|"),
}


@pytest.mark.parametrize(("raw", "status"), [(word, s) for s, words in STATUSES.items() for word in words])
def test_a_status_is_read_by_its_common_names(raw, status):
    assert value("s", {"s": raw}, "status") == status


@pytest.mark.parametrize(
    ("name", "if_true", "if_false"),
    [
        ("isOpen", "active", "archived"),
        ("is_active", "active", "archived"),
        ("Actif (O/N)", "active", "archived"),
        ("published", "active", "draft"),
        ("Est publié", "active", "draft"),
        ("filled", "archived", "active"),
        ("is_filled", "archived", "active"),
        ("Poste pourvu ?", "archived", "active"),
        ("isDraft", "draft", "active"),
        ("shown", "active", "archived"),
        ("isPublic", "active", "draft"),
        ("Still open?", "active", "archived"),
        ("Déjà comblé", "archived", "active"),
        ("Filled Y/N", "archived", "active"),
        ("Comblé Oui/Non", "archived", "active"),
        ("Poste disponible", "active", "archived"),
        ("canApply", "active", "archived"),
        ("applicationsClosed", "archived", "active"),
        ("Do not publish", "draft", "active"),
        ("À publier", "active", "draft"),
        ("To be posted", "active", "draft"),
        ("Ready to publish", "active", "draft"),
    ],
)
def test_a_flag_means_what_its_name_says(name, if_true, if_false):
    for yes, no in ((True, False), ("yes", "No"), (1, 0), ("OUI", "non"), ("true", "false"), ("✓", "☐")):
        assert value(name, {name: yes}, "status") == if_true
        assert value(name, {name: no}, "status") == if_false
    table = {"status": [name, "other"]}
    assert row(table, {name: "Oui", "other": "open"}, form="csv").body["status"] == if_true


@pytest.mark.parametrize(
    ("shown_to", "status"),
    [(["internal", "external"], "active"), (["Interne", "Externe"], "active"), (["internal"], "archived"),
     (["internal", "closed", "external"], "archived"), (["internal", "employees only"], "archived")],
)  # fmt: skip
def test_a_list_of_those_who_see_a_posting_is_for_the_public_if_one_of_them_is(shown_to, status):
    assert value("visibility", {"visibility": shown_to}, "status") == status


def test_a_lookup_of_statuses_names_a_text_or_its_meaning():
    lookups = {"s": {"active": "", "no": "draft", "Parked": "archived"}}
    fields = {"status": {"from": "isOpen", "lookup": "s"}}
    for raw, sent in (
        (True, None),
        ("Ouvert", None),
        ("no", "draft"),
        (False, "archived"),
        ("parked", "archived"),
    ):
        assert row(fields, {"isOpen": raw}, lookups).body.get("status") == sent


def test_of_several_statuses_the_one_that_is_farthest_from_live_counts():
    fields = {"status": {"all": ["status", "@filled"]}}
    for word, filled, sent in (
        ("publish", "0", "active"),
        ("publish", "1", "archived"),
        ("draft", "0", "draft"),
    ):
        element = etree.fromstring(f'<job filled="{filled}"><status>{word}</status></job>')
        assert row(fields, element, form="xml").body["status"] == sent


def test_a_record_that_cannot_be_read_keeps_its_problem_and_its_id():
    problem = Problem("", "ragged_row", "3 cells instead of 4")
    mapping = Mapping(CATALOGUE, {"referenceId": "id"}, form="csv")
    readable = mapping.row(Record(1, 1, b"", {"id": "7"}, problem))
    assert readable == MappedRow(None, "7", (problem,), fragment={"referenceId": "7"})
    behind = mapping.row(Record(1, 1, b"", {"title": "Cook", "id": "7"}, problem))
    assert (behind.reference_id, behind.moved) == ("7", True)
    assert mapping.row(Record(1, 1, b"", None, problem)) == MappedRow(None, None, (problem,))
    # a record that is not an object
    mapped = Mapping(CATALOGUE, {"title": "t"}, form="json").row(Record(1, 1, b"", ["x"]))
    assert [p.code for p in mapped.problems] == ["wrong_type"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"titel": "t"}, "fields.titel: unknown field; did you mean title?"),
        ({"title": {"form": "t"}}, "fields.title.form: unknown key; did you mean from?"),
        ({"title": {"from": "t", "html": "clean"}}, "fields.title.html: unknown key"),
        ({"title": {"from": "t", "value": "x"}}, "needs exactly one of"),
        ({"title": {"template": "{a"}}, "a lone {"),
        ({"title": {"from": "t", "lookup": "nme"}}, "there is no [lookup.nme]; did you mean name?"),
        ({"title": {"from": "t", "split": ""}}, "must be a separator"),
        ({"title": {"from": "t", "after": " "}}, "fields.title.after: must be the text of a mark"),
        (
            {"title": {"from": "t", "after": "a", "before": 1}},
            "fields.title.before: must be the text of a mark",
        ),
        ({"title": {"from": "t", "before": "a"}}, "fields.title.before: has an effect only beside after"),
        ({"title": 5}, "must be a selector"),
        ({"title": []}, "at least one"),
        ({"title": "a["}, "is not an XPath"),
        ({"title": "/job/title"}, "relative to the record"),
        ({"title": "nosuch(a)"}, "is not an XPath"),
        ({"closeDate": {"from": "d", "date": ["%Y"]}}, "fields.closeDate.date[1]"),
        ({"categories": {"from": "c", "default": "Othr"}}, "did you mean Other?"),
        ({"categories": {"from": "c", "lookup": "bad"}}, "[lookup.bad]: 'Nowhere'"),
        ({"referenceId": {"derive": ["url"], "from": "x"}}, "fields.referenceId.from: unknown key"),
        ({"salary": {"period": "p"}}, "needs text, or amount and period"),
        ({"salary": {"text": "s", "infer_period": {"hourly": 3}}}, "did you mean hourly_below?"),
        ({"applicantRoutingType": {"prefer": ["applicationUrl"]}}, "applicationUrl is not mapped"),
        ({"description": {"from": "d", "html": "clear"}}, "must be reject or clean"),
        ({"salary": {"text": "s", "locale": "de"}}, "salary.locale: must be en or fr"),
        ({"locations": {"from": "l", "too_many": "all"}}, "locations.too_many: must be first or reject"),
        ({"locations": {"from": "l", "default": {"a": 1}}}, "locations.default: must be a constant"),
        ({"referenceId": {"from": "r", "too_long": "cut"}}, "referenceId.too_long: must be reject or hash"),
        ({"closeDate": {"from": "d", "date": ["dmmy"]}}, "neither a strptime format nor one of"),
    ],
)
def test_a_wrong_mapping_is_a_fault_that_names_the_key(fields, said):
    with pytest.raises(ConfigError) as raised:
        Mapping(CATALOGUE, fields, {"name": {}, "bad": {"x": "Nowhere"}}, "xml")
    assert any(said in fault for fault in raised.value.faults), raised.value.faults


def test_a_selector_that_leaves_the_record_is_known():
    assert Mapping(CATALOGUE, {"title": "../@name"}, form="xml").outside
    assert not Mapping(CATALOGUE, {"title": "name"}, form="xml").outside


def test_a_mapped_row_passes_the_rules():
    fields = {
        "referenceId": "id",
        "title": "t",
        "locations": "c",
        "categories": {"value": "Sales"},
        "salary": "s",
    }
    body = row(fields, {"id": 7, "t": "Cook", "c": "Laval, Québec", "s": "22,50 $ de l'heure"}).body
    assert set(check_body(body, CATALOGUE).fields) == set(fields)


def test_a_record_in_a_format_that_the_mapping_cannot_be_meant_for_fails_the_file():
    mapping = Mapping(CATALOGUE, {"title": "a[*].b"})
    assert mapping.row(Record(1, 1, b"", {"a": [{"b": "x"}]})).body == {"title": "x"}
    with pytest.raises(FeedError, match="not for xml"):
        mapping.row(Record(1, 1, b"", etree.fromstring("<j/>")), "xml")


@pytest.mark.parametrize(
    "number", [10**5000, Decimal("1E+999999"), "9" * 5000], ids=["int", "exponent", "text"]
)
def test_absurd_numbers_are_values_like_others(number):
    mapped = row({"referenceId": "v", "categories": {"from": "v", "default": "Other"}}, {"v": number})
    assert isinstance(mapped.reference_id, str) or [p.pointer for p in mapped.problems] == ["/referenceId"]
    assert mapped.body["categories"] == [{"id": 32}]
    assert value({"amount": "v", "period": {"value": "Hourly"}}, {"v": number}, "salary") is None
