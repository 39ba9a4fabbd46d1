"""The grammars of feeds, in English and French: dates, places, kinds of work and categories. Each as a table of cases,
then as laws."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncd.domain import Catalogue, Place, check_body
from syncd.domain.places import parse_place
from syncd.feeds.mapping.catalogue_fields import position_of
from syncd.feeds.mapping.transforms.dates import DATE_FORMATS, compile_dates
from syncd.feeds.mapping.transforms.places import is_canada, is_nowhere, tidy

CATALOGUE = Catalogue.default()
#: The machine that runs the tests may be busy.
UNHURRIED = settings(deadline=None)

DATES = [
    ("iso", "2026-02-27", "2026-02-27"),
    ("iso", "2026-12-21 09:18:24", "2026-12-21"),
    ("iso", "2026-08-05 09:41:37 UTC", "2026-08-05"),
    ("iso", "2027-01-15T23:30:00-05:00", "2027-01-15"),
    ("iso", "20260102", "2026-01-02"),
    ("iso", "20260102T2330", "2026-01-02"),
    ("iso", "20260230", None),
    ("iso", "10101010", None),
    ("iso", "202601021", None),
    ("iso", "2026-02-30", None),
    ("rfc822", "Tue, 14 Jul 2026 00:00:00 EST", "2026-07-14"),
    ("rfc822", "not a date", None),
    ("%d/%m/%Y", "08/05/2026", "2026-05-08"),
    ("%m/%d/%Y %I:%M:%S %p", "8/27/2026 2:10:05 PM", "2026-08-27"),
    ("epoch", 1783900800, "2026-07-13"),
    ("epoch_ms", Decimal("1783900800000"), "2026-07-13"),
    ("excel", "46216", "2026-07-13"),
    ("excel", "46216.5", "2026-07-13"),
    ("iso", "2026-07-13T23:59:00:0", "2026-07-13"),
    ("iso", "2026-7-13", None),
    ("ymd", "2026/05/01", "2026-05-01"),
    ("ymd", "2026.5.1 10:00", "2026-05-01"),
    ("dmy", "15/05/2022 12:00:00", "2022-05-15"),
    ("dmy", "15.05.2022", "2022-05-15"),
    ("dmy", "15-5-22", "2022-05-15"),
    ("dmy", "15 05 2022", "2022-05-15"),
    ("dmy", "15/05-2022", None),
    ("dmy", "05/15/2022", None),
    ("dmy", "2022/05/15", None),
    ("mdy", "8/27/2013 2:10:05 PM", "2013-08-27"),
    ("mdy", "08-27-13", "2013-08-27"),
    ("mdy", "27/08/2013", None),
    ("mdy", "8/27/2013 and later", None),
    ("numbers", "27/08/2026", "2026-08-27"),
    ("numbers", "8/27/2026", "2026-08-27"),
    ("numbers", "08/08/2026", "2026-08-08"),
    ("numbers", "08/07/2026", None),
    ("numbers", "27/08/26", None),
    ("numbers", "2026/08/07", "2026-08-07"),
    ("words", "July 13, 2026", "2026-07-13"),
    ("words", "Jul. 13 2026", "2026-07-13"),
    ("words", "13-Jul-2026", "2026-07-13"),
    ("words", "13 July 2026 17:00", "2026-07-13"),
    ("words", "10-Jan-27", "2027-01-10"),
    ("words", "12-janv.-27", "2027-01-12"),
    ("words", "31 Jan 27", "2027-01-31"),
    ("words", "Jan 27", None),
    ("words", "Monday, July 13th, 2026 at 5:00 PM", "2026-07-13"),
    ("words", "the 3rd of May 2026", "2026-05-03"),
    ("words", "le 1er mai 2026", "2026-05-01"),
    ("words", "vendredi le 3 avril 2026", "2026-04-03"),
    ("words", "Lundi 13 juillet 2026 à 23 h 59", "2026-07-13"),
    ("words", "13 août 2026", "2026-08-13"),
    ("words", "13 AOÛT 2026", "2026-08-13"),
    ("words", "31 février 2026", None),
    ("words", "31 févr. 2026", None),
    ("words", "5 déc. 2026", "2026-12-05"),
    ("words", "May 2026", None),
    ("words", "ASAP", None),
    ("words", "Dès que possible", None),
    ("rfc822", "Wed, 31 Dec 2098 00:00:00 PDT", "2098-12-31"),
]


@pytest.mark.parametrize(("form", "text", "expected"), DATES)
def test_a_date_is_read_in_the_named_way_only(form, text, expected):
    assert compile_dates([form])(text) == expected


@UNHURRIED
@given(
    st.sampled_from(DATE_FORMATS),
    st.text(alphabet="0123456789/.- :TZjanfévrmaiûthersl,", max_size=40) | st.text(max_size=30),
)
def test_what_a_date_is_read_as_is_a_date_that_the_api_takes_and_reads_the_same(form, text):
    found = compile_dates([form])(text)
    if found is not None:
        assert compile_dates(["iso"])(found) == found
        if found >= "0001-01-01":
            read = check_body({"closeDate": found}, CATALOGUE).fields["closeDate"]
            assert isinstance(read, date)
            assert read.isoformat() == found


@pytest.mark.parametrize("form", ["%Y", "%d/%m", "rfc", "dd/mm/yyyy", "%Q"])
def test_what_does_not_give_a_whole_date_is_not_a_format_and_the_first_that_fits_counts(form):
    with pytest.raises(ValueError, match=r"format|whole date"):
        compile_dates([form])
    assert compile_dates(["%d.%m.%Y", "iso"])("2026-05-08") == "2026-05-08"


PLACES = [
    ("Vancouver, BC, Canada", "Vancouver, BC"),
    ("Vancouver, British Columbia, CA", "Vancouver, British Columbia"),
    ("CA-BC-Vancouver", "Vancouver, BC"),
    ("CAN-ON-Toronto-King Street", "Toronto, ON"),
    ("CA-QC-Usine 2-Trois-Rivières", "Trois-Rivières, QC"),
    ("CA-ON-Head Office-4", "Head Office-4, ON"),
    ("QC-Lac-Beauport", "Lac-Beauport, QC"),
    ("CA-QC-Sainte-Anne-de-Beaupré", "Sainte-Anne-de-Beaupré, QC"),
    ("QC-Saint-Marc-sur-Richelieu", "Saint-Marc-sur-Richelieu, QC"),
    ("ON-Chatham-Kent", "Chatham-Kent, ON"),
    ("ON-St-Isidore-de-Prescott", "St-Isidore-de-Prescott, ON"),
    ("Barrie\nON\nCanada", "Barrie, ON"),
    ("Store 104 - Barrie, ON", "Barrie, ON"),
    ("Plant 2 - North - Red Deer AB", "Red Deer, AB"),
    ("Toronto - North York, ON", "Toronto, ON"),
    ("Store 104 - Nowhere, ON", "Store 104 - Nowhere, ON"),
    ("Ontario, Toronto", "Toronto, Ontario"),
    ("Toronto, Ontario, Canada, ON", "Toronto, Ontario"),
    ("Toronto, Canada, ON", "Toronto, ON"),
    ("Toronto - Downtown, ON", "Toronto, ON"),
    ("Notre-Dame-de-l'Île-Perrot, QC", "Notre-Dame-de-l'Île-Perrot, QC"),
    ("Québec, Montreal", "Montreal, Québec"),
    ("QC, Gatineau", "Gatineau, QC"),
    ("Québec, QC", "Québec, QC"),
    ("Ontario, Fontana", "Ontario, Fontana"),
    ("ON-Thunder Bay", "Thunder Bay, ON"),
    ("Prince_Albert,_SK", "Prince Albert, SK"),
    ("Montréal, QC H2X 1Y4", "Montréal, QC"),
    ("Trois-Rivières", "Trois-Rivières"),
    ("Canada", "Canada"),
    ("Montréal (Québec)", "Montréal, Québec"),
    ("Montréal (QC)", "Montréal, QC"),
    ("Ottawa (Ontario)  K1A 0A6", "Ottawa, Ontario"),
    ("Toronto ON", "Toronto, ON"),
    ("Sault Ste. Marie ON", "Sault Ste. Marie, ON"),
    ("Quebec QC", "Quebec, QC"),
    ("Ontario ON", "Ontario ON"),
    ("Halifax - NS", "Halifax, NS"),
    ("Canada-ON-Toronto", "Toronto, ON"),
    ("CAN-Ontario-Ottawa", "Ottawa, Ontario"),
    ("CA, ON, Toronto", "Toronto, ON"),
    ("QC, Montréal", "Montréal, QC"),
    ("AB-Fort McMurray", "Fort McMurray, AB"),
    ("Toronto, Ontario M5V 2T6", "Toronto, Ontario"),
    ("Toronto, ON, CA, M5V2T6", "Toronto, ON"),
    ("123 Main St, Toronto, ON M5V 2T6", "Toronto, ON"),
    ("1 Place Ville Marie, Suite 200, Montréal, Québec H3B 4W8", "Montréal, Québec"),
    ("Toronto, ON (Hybrid)", "Toronto, ON"),
    ("Ottawa, ON - Remote", "Ottawa, ON"),
    ("Hybrid - Toronto, ON", "Toronto, ON"),
    ("Hybrid Remote in Toronto, ON", "Toronto, ON"),
    ("Remote (Toronto, ON)", "Toronto, ON"),
    ("Télétravail à Montréal, QC", "Montréal, QC"),
    ("Toronto, ON, Canada (Remote)", "Toronto, ON"),
    ("Edmonton, AB - Downtown", "Edmonton, AB"),
    ("Saskatoon, SK, SK", "Saskatoon, SK"),
    ("Regina, Saskatchewan, SK", "Regina, Saskatchewan"),
    ("Toronto – ON", "Toronto, ON"),
    ("Ottawa, CA-ON", "Ottawa, ON"),
    ("Ottawa, CA-ON, Canada", "Ottawa, ON"),
    ("12 rue Principale, Québec, QC", "Québec, QC"),
    ("12 rue Principale, Québec, QC G1A 1A1", "Québec, QC"),
    ("Québec", "Québec"),
    ("Quebec City, Quebec", "Quebec City, Quebec"),
    ("Ville de Québec, QC", "Ville de Québec, QC"),
    ("Charlottetown, Île-du-Prince-Édouard", "Charlottetown, Île-du-Prince-Édouard"),
    ("Dollard-Des Ormeaux, QC", "Dollard-Des Ormeaux, QC"),
    ("St. John's (Newfoundland and Labrador)", "St. John's, Newfoundland and Labrador"),
    ("London, UK", "London, UK"),
    ("Sacramento, CA", "Sacramento, CA"),
    ("Barnstaple,_Devon", "Barnstaple, Devon"),
    ("Rémote Lake, ON", "Rémote Lake, ON"),
    # a province without a comma, and a number of other places
    ("Toronto Ontario + 1 more", "Toronto, Ontario"),
    ("Toronto ON CAN + 2 more", "Toronto, ON"),
    ("Vancouver, BC +2 others", "Vancouver, BC"),
    ("Toronto (+3)", "Toronto"),
    ("Saint John New Brunswick", "Saint John, New Brunswick"),
    ("Halifax nova scotia, Canada", "Halifax, nova scotia"),
    *(
        (name, name)
        for name in "Northern Ontario|South-Western Ontario|Ville de Québec|Ontario|Prince Edward Island".split(
            "|"
        )
    ),
]


@pytest.mark.parametrize(("text", "place"), PLACES)
def test_a_place_comes_near_to_city_and_province(text, place):
    assert tidy(text) == place
    assert tidy(place) == place


def test_canada_is_known_by_code_and_name():
    assert all(map(is_canada, ("CA", "ca", "Canada", "CAN")))
    assert not any(map(is_canada, ("US", "California", "")))


@pytest.mark.parametrize(
    "text",
    "Remote|REMOTE|Fully remote|100% Remote|Remote - Canada|Canada (Remote)|Remote, ON|Télétravail|À distance|Work from home"
    "|Virtual / Anywhere|Multiple Locations|Lieux multiples|Plusieurs endroits|Partout au Canada|Canada|ON|TBD"
    "|N'importe où|Various locations, ON|Multiple, ON|To be determined, Ontario".split("|"),
)
def test_what_names_no_place_is_known(text):
    assert is_nowhere(tidy(text))


@pytest.mark.parametrize(
    "text",
    ["Ontario", "Ontario, ON", "Virtual City, ON", "Canada Bay", "Homeville", "Hybrid Hills, BC", "5", ""],
)
def test_what_may_be_a_place_is_left_to_the_rules(text):
    assert not is_nowhere(tidy(text))


PROVINCES = {
    "AB": "Alberta|Alta.|alberta",
    "BC": "British Columbia|Colombie-Britannique|B.C.|C.-B.",
    "MB": "Manitoba|Man.",
    "NB": "New Brunswick|Nouveau-Brunswick|N.B.|N.-B.",
    "NL": "Newfoundland and Labrador|Newfoundland & Labrador|Newfoundland|Terre-Neuve-et-Labrador|Terre-Neuve|NF|Nfld.|T.-N.-L.",
    "NS": "Nova Scotia|Nouvelle-Écosse|NOUVELLE ECOSSE|N.S.|N.-É.",
    "NT": "Northwest Territories|Territoires du Nord-Ouest|NWT|N.W.T.|T.N.-O.",
    "NU": "Nunavut",
    "ON": "Ontario|Ont.|ont",
    "PE": "Prince Edward Island|Île-du-Prince-Édouard|PEI|P.E.I.|Î.-P.-É.",
    "QC": "Quebec|Québec|QUEBEC|PQ|P.Q.|Que.|Qué.",
    "SK": "Saskatchewan|Sask.",
    "YT": "Yukon|Yukon Territory|Territoire du Yukon|YK|Y.T.",
}


@pytest.mark.parametrize(
    ("code", "name"), [(c, n) for c, names in PROVINCES.items() for n in names.split("|")]
)
def test_a_province_is_known_by_all_of_its_names(code, name):
    assert parse_place(tidy(f"Somewhere, {name}")) == (Place("Somewhere", code), [])
    assert parse_place(tidy(f"Somewhere, {name}, Canada")) == (Place("Somewhere", code), [])


_PIECES = st.sampled_from(
    "Toronto|Québec|QC|ON|CA|Canada|, |,| - |-|(|)| |Remote|Hybrid|in |H2X 1Y4|123 Main St|Nova Scotia|/|;|_|é|St. John's"
    "|Ontario".split("|")
)


@UNHURRIED
@given(st.lists(_PIECES, max_size=9).map("".join) | st.text(max_size=40))
def test_a_tidied_place_stays_as_it_is(text):
    once = tidy(text)
    assert tidy(once) == once
    assert is_nowhere(once) == is_nowhere(tidy(once))


POSITIONS = {
    1: "Full-Time|FULLTIME|FullTime|Full time/Permanent|Permanent, Full-time|Regular Full-Time|Temps plein régulier|FT|F/T"
    "|Permanent à temps plein|Emploi permanent|Poste régulier|Régulier|CDI|Full-time equivalent|Direct Hire"
    "|Permanent employmentFull time|fulltime, parttime|Full-time; Part-time|Temps plein, temps partiel"
    "|full-time, part-time, contract",
    2: "Part-Time|PART_TIME|P/T|Permanent Part-Time|Temps partiel|Temps partiel permanent|Mi-temps|PER_DIEM|Full-Time/Part-Time"
    "|Part time leading to full time|parttime, fulltime|Permanent, temps partiel",
    3: "Contract|CONTRACTOR|Full Time Contract|Contract - Full time|Fixed-Term|Term (Full-time)|CDD|Contractuel|À la pige"
    "|Self-employed|Independent Contractor|Contract to permanent|Durée déterminée|Par projet|Term or contract"
    "|Term or contractFull time|contract, fulltime, parttime|Full-time, contract",
    4: "Temp|Temporary|Temporary Full-time|Temporaire - temps plein|Seasonal|Saisonnier|Emploi saisonnier|Casual/On-call|INTERN"
    "|Co-op/Internship|Summer Student|Emploi étudiant|Stage|Apprenti|Remplacement|Surnuméraire|Temps partiel occasionnel"
    "|Temp to Perm|Maternity leave coverage|Casual employmentPart time",
    5: "Volunteer|Unpaid|Bénévole|Volunteer (part-time)",
}


@pytest.mark.parametrize(("id", "text"), [(i, t) for i, texts in POSITIONS.items() for t in texts.split("|")])
def test_a_kind_of_work_is_read_in_one_word_or_several(id, text):
    assert (CATALOGUE.find("position_types", text) or position_of(text)) == id


@pytest.mark.parametrize(
    "text",
    "OTHER|Zero hours|Full Day|Contract Manager|shift work||and|Flexible full-time|iPhone|McDonald".split(
        "|"
    ),
)
def test_a_text_with_words_that_are_unknown_is_not_a_kind_of_work(text):
    assert position_of(text) is None


@UNHURRIED
@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from(["full", "time", "part", "contract", "temps", "plein", "stage", "or", "x"])
    ).map(" ".join)
)
def test_a_kind_of_work_is_one_of_the_catalogue_or_unknown(text):
    found = position_of(text)
    assert found is None or found in CATALOGUE.position_types


CATEGORIES = {
    1: "Accounting/Finance|Comptabilité|Finances|Accounting and Finance",
    2: "Admin & Clerical|Administrative|Soutien administratif|Office Administration",
    3: "Agriculture et environnement|Forestry|Landscaping",
    6: "Banking & Insurance|Assurance|Banque",
    7: "Construction/Trades|Bâtiment",
    8: "Service à la clientèle|Customer Care|Centre d'appels",
    9: "Education|Éducation|Petite enfance|Childcare/Education",
    10: "Engineering|Génie|Ingénierie",
    12: "Restauration|Food & Beverage|food services",
    13: "General Labour|Entretien ménager|Main-d'œuvre|Manutention",
    14: "Gouvernement|Fonction publique|Municipal",
    15: "Health Care|Healthcare & Medical|Soins infirmiers|Santé",
    16: "Hospitality/Tourism|Hôtellerie et tourisme|Housekeeping",
    17: "HR & Recruitment|Ressources humaines|RH",
    18: "IT|I.T.|Information Technology|Technologies de l'information|Informatique",
    19: "Legal|Juridique|Droit",
    20: "Manufacturing/Production|Fabrication|Usine",
    21: "Marketing & Communications|Communication|Publicité",
    22: "Oil & Gas|Oil and Gas|Mining, Oil & Gas|Pétrole et gaz",
    23: "Real Estate|Immobilier",
    24: "Retail|Vente au détail",
    25: "Sales|Ventes|Sales & Marketing|Ventes et marketing",
    28: "Skilled Trades|Construction/Skilled Trade|Métiers spécialisés|Maintenance & Repair",
    29: "Social Services|Services sociaux|Non-Profit|OBNL",
    31: "Transportation & Logistics|Entrepôt|Truck driver|Livraison",
    32: "Other|Autre|Divers",
}


@pytest.mark.parametrize(
    ("id", "text"), [(i, t) for i, texts in CATEGORIES.items() for t in texts.split("|")]
)
def test_a_category_is_found_by_the_names_that_feeds_give_it(id, text):
    assert CATALOGUE.find("categories", text) == id


@UNHURRIED
@given(st.text(max_size=40) | st.sampled_from([e.name for e in CATALOGUE.categories.values()]))
def test_the_name_of_what_is_found_finds_it_again(text):
    id = CATALOGUE.find("categories", text)
    if id is not None:
        assert CATALOGUE.find("categories", CATALOGUE.categories[id].name) == id
    assert CATALOGUE.find("categories", "Sales, Retail") is None
