"""``feed new``, without the command line: its findings in a file, its guesses, and that its text always loads."""

import csv
import io
import json
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncd.domain import Catalogue, FeedLimits, Moment
from syncd.errors import FeedError
from syncd.feeds.configuration import FeedConfig, FeedDefaults, parse_feed
from syncd.feeds.drafting.columns import kinds_of
from syncd.feeds.drafting.draft import Draft, Drafter, employer_named_in
from syncd.feeds.mapping import MappedRow
from syncd.feeds.mapping.presets import load_preset, preset_names
from syncd.feeds.readers import open_reader
from syncd.sync.run.checking import Checker, CheckResult
from tests.feeds import spreadsheets

SAMPLES = Path(__file__).parents[3] / "feeds" / "samples"
CATALOGUE = Catalogue.default()
NOW = Moment(datetime(2026, 11, 16, 17, tzinfo=UTC), date(2026, 11, 16))
LONG = "We look for somebody who likes the work and does it well, every day of the week but Sunday."


def drafted(path: Path, employer: str = "Acme Ltd.") -> Draft:
    return Drafter(
        path, "acme", employer=employer, catalogue=CATALOGUE, limits=FeedLimits(), today="2026-11-16"
    ).draft()


def draft_of(tmp_path: Path, content: str | bytes, name: str = "feed", employer: str = "Acme Ltd.") -> Draft:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return drafted(path, employer)


def checked(feed: FeedConfig, path: Path) -> CheckResult:
    result = CheckResult()
    list(Checker(feed, CATALOGUE, FeedLimits(), NOW).check(path, result))
    return result


def sheet(*rows: list[str], delimiter: str = ",") -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue()


def cooks(**column: Sequence[str]) -> str:
    """Jobs in JSON, one for each value of a column of their own."""
    ((name, values),) = column.items()
    usual = {"body": LONG, "city": "Laval"}
    jobs = (
        {"jobRef": f"R{n}", "headline": f"Cook {n}", "apply": f"https://x.ca/{n}", name: value, **usual}
        for n, value in enumerate(values)
    )
    return json.dumps([*jobs])


def clerks(name: str, values: Sequence[Any], **more: str) -> str:
    """Jobs in JSON with usual names, one for each value of a column of their own."""
    usual = {"description": LONG, "city": "Laval", **more}
    jobs = ({"id": f"J{n}", "title": f"Clerk {n}", **usual, name: value} for n, value in enumerate(values))
    return json.dumps([*jobs])


def postings(name: str, values: Sequence[str]) -> str:
    """Jobs as a table with a column of their own."""
    rows = [
        [str(n), "Cook", "Barrie, ON", LONG, f"https://acme.example/{n}", value]
        for n, value in enumerate(values)
    ]
    return sheet(["id", "title", "location", "description", "url", name], *rows)


def cooks_in_xml(title: str, query: str = "") -> str:
    jobs = "".join(
        f"<job><id>J{n}</id><title>{title} {n}</title><description>{LONG}</description><city>Laval</city>"
        f"<url>https://x.ca/{n}{query}</url></job>"
        for n in range(3)
    )
    return f"<source>{jobs}</source>"


def written(draft: Draft) -> dict[str, Any]:
    return tomllib.loads(draft.text)


@pytest.mark.parametrize(
    ("sample", "preset"), [("northern.csv", None), ("maple.xml", "indeed"), ("harbour.json", "schemaorg")]
)
def test_each_sample_is_known_and_its_draft_works_at_once(sample: str, preset: str | None) -> None:
    draft = drafted(SAMPLES / sample)
    assert (draft.preset, written(draft).get("fields", {})) == (preset, {})
    result = checked(draft.config, SAMPLES / sample)
    assert result.good + result.expired >= 0.9 * result.read > 0


def test_a_draft_says_what_a_preset_lacks() -> None:
    text = drafted(SAMPLES / "personio.xml").text
    assert '# applicationEmail = { value = "jobs@employer.example" }' in text
    assert "# closeDate" not in text


@pytest.mark.parametrize("preset", preset_names())
def test_the_fields_of_a_preset_are_comments_that_can_be_taken_into_the_mapping(preset: str) -> None:
    (path,) = (path for path in SAMPLES.iterdir() if path.stem == preset)
    draft = drafted(path)
    assert draft.preset == preset
    own = written(draft).get("fields", {})
    section = draft.text[draft.text.index("[fields]") :]
    section = re.split("\n# (?:Nothing was found|Names in the feed)", section)[0]
    commented = tomllib.loads("\n".join(re.findall(r"(?m)^# (\w+ = .*)", section)))
    mapped = load_preset(preset)["fields"]
    assert {name: commented[name] for name in mapped if name not in own} == {
        name: right for name, right in mapped.items() if name not in own
    }


def test_the_fields_of_a_preset_have_a_sample_of_what_they_read(tmp_path: Path) -> None:
    text = drafted(SAMPLES / "indeed.xml").text
    assert '#   title: "Dental Hygienist"\n# title = ["title", "jobtitle"' in text
    assert '#   email: "mailto:desk@prairie-dental.example"\n# applicationEmail = [' in text
    parts = drafted(SAMPLES / "teamtailor.json").text
    assert '#   _jobposting.jobLocation.address.addressLocality: "' in parts
    none = draft_of(tmp_path, cooks_in_xml("Cook")).text
    assert "#   (this file has none of these)\n# salary = " in none


FRENCH = sheet(
    "No de poste|Titre du poste|Ville|Province|Courriel|Date limite|Salaire|Détails de l'offre".split("|"),
    ["0044", "Infirmière", "Québec", "QC", "rh@x.ca", "05/09/2099", "25 $/h", LONG],
    ["0045", "Cuisinier", "Laval", "Québec", "rh@x.ca", "27/08/2099", "22,50 $ de l'heure", LONG + " Venez."],
    delimiter=";",
)


def test_french_columns_are_found_and_the_file_shows_the_order_of_dates(tmp_path: Path) -> None:
    draft = draft_of(tmp_path, FRENCH.encode("cp1252"))
    assert (draft.survey.encoding, draft.survey.delimiter) == ("cp1252", ";")
    assert "dmy" in str(written(draft)["fields"]["closeDate"])
    result = checked(draft.config, tmp_path / "feed")
    assert (result.good, result.kinds.by_frequency()) == (2, [])


def test_a_column_with_a_dot_in_its_name_is_named_as_it_is_written(tmp_path: Path) -> None:
    rows = [[f"R{n}", f"Cook {n}", LONG, "Laval", f"https://x.ca/{n}"] for n in range(3)]
    draft = draft_of(tmp_path, sheet(["no. id", "job title", "job description", "city", "Apply URL"], *rows))
    assert written(draft)["fields"]["referenceId"] == "no. id"
    assert checked(draft.config, tmp_path / "feed").good == 3


def test_words_where_a_date_is_expected_are_not_a_date(tmp_path: Path) -> None:
    draft = draft_of(
        tmp_path, cooks(deadline=["2099-01-31", "Not specified", "2099-02-28", "Open until filled"])
    )
    assert written(draft)["lookup"]["no_date"] == {"Not specified": "", "Open until filled": ""}
    assert checked(draft.config, tmp_path / "feed").good == 4


def test_cells_of_a_spreadsheets_formulas_are_the_texts_that_they_give(tmp_path: Path) -> None:
    names = ["key", "headline", "text", "place", "last day", "web"]
    rows = [
        [f'="000{n}"', f"Cook {n}", LONG, "Laval", '="2099-01-31"', f'="https://x.ca/{n}"'] for n in range(3)
    ]
    draft = draft_of(tmp_path, sheet(names, *rows))
    assert written(draft)["fields"]["applicationUrl"] == "web"
    assert checked(draft.config, tmp_path / "feed").good == 3


def test_a_formula_that_failed_is_not_a_word_for_no_date(tmp_path: Path) -> None:
    dates = [f"2099-01-{day}" for day in range(10, 20)]
    draft = draft_of(tmp_path, cooks(deadline=[*dates, "#REF!", "Not specified"]))
    assert written(draft)["lookup"]["no_date"] == {"Not specified": ""}


def test_xml_that_is_not_well_formed_is_read_leniently_and_the_draft_says_so(tmp_path: Path) -> None:
    draft = draft_of(tmp_path, cooks_in_xml("R&D Cook", "?a=1&b=2"))
    assert written(draft)["read"]["recover"] is True
    assert "The file is broken" in draft.text
    result = checked(draft.config, tmp_path / "feed")
    assert (result.good, result.withheld is not None) == (3, True)


def keyed(*addresses: str) -> str:
    """A JSON object of records by key, each with one of ``addresses``."""
    usual = {"city": "Toronto", "province": "ON", "text": f"<p>{LONG}</p>"}
    jobs = {f"a{n}": {"title": f"Cook {n}", **usual, "url": url} for n, url in enumerate(addresses)}
    return json.dumps({"generated": "2026-11-20", "jobs": jobs})


def test_addresses_without_a_scheme_are_where_one_applies(tmp_path: Path) -> None:
    draft = draft_of(tmp_path, keyed("x.ca/jobs/1", "www.x.ca/jobs/2", "https://x.ca/3"))
    assert draft.survey.path == "jobs.*"
    assert written(draft)["fields"]["applicationUrl"] == "url"
    result = checked(draft.config, tmp_path / "feed")
    assert result.good == 3
    assert [(kind.code, kind.rows) for kind in result.warnings.by_frequency()] == [("url_scheme_added", 2)]


def test_a_path_in_place_of_an_address_is_reported_with_what_to_write(tmp_path: Path) -> None:
    draft = draft_of(tmp_path, keyed("/jobs/1", "/jobs/2", "/jobs/3"))
    assert '# url has no whole address: "/jobs/1", "/jobs/2", "/jobs/3".' in draft.text
    assert '# applicationUrl = { template = "https://employer.example{url}" }' in draft.text
    advice = '# applicantRoutingType = { value = "URL" }\n# applicationUrl = { template = "https://employer.example{url}" }'
    fields = tomllib.loads(draft.text.replace(advice, advice.replace("# ", "")))["fields"]
    assert fields["applicationUrl"] == {"template": "https://employer.example{url}"}


@pytest.mark.parametrize("name", ["Nº dossier", "Numéro de concours"])
def test_an_id_that_one_row_lacks_is_an_id_and_a_text_is_none(tmp_path: Path, name: str) -> None:
    """("annonce" has a "no" in it.)"""
    lines = [f"{n};Cook {n};Laval;QC;<p>Cook {n}.</p>;a@x.ca;Restauration" for n in ("B-1", "B-2", "B-3", "")]
    head = f"{name};Intitulé du poste;Ville;Province;Texte de l'annonce;Courriel;Secteur d'activité"
    draft = draft_of(tmp_path, "\n".join([head, *lines]))
    assert written(draft)["fields"]["referenceId"] == name
    assert "Restauration" in draft.text


def test_records_at_an_unknown_path_are_found(tmp_path: Path) -> None:
    usual = {"where": {"city": "Laval", "province": "QC"}}
    jobs = [
        {
            "postingId": f"A-{n}",
            "jobName": f"Cook {n}",
            "text": f"<p>{LONG} {n}</p>",
            "applyLink": f"https://x.ca/{n}",
            **usual,
        }
        for n in range(3)
    ]
    draft = draft_of(tmp_path, json.dumps({"meta": {"x": [{"a": 1}]}, "response": {"postings": jobs}}))
    assert written(draft)["read"] == {"format": "json", "records": "response.postings"}
    assert checked(draft.config, tmp_path / "feed").good == 3
    items = "".join(
        f"<Stelle><Kennung>K{n}</Kennung><Titre>Cuisinier {n}</Titre><Texte>{LONG} {n}</Texte><Ville>Laval</Ville>"
        f"<Lien>https://x.ca/{n}</Lien></Stelle>"
        for n in range(3)
    )
    draft = draft_of(tmp_path, f"<Export><Kopf><Datum>x</Datum></Kopf><Liste>{items}</Liste></Export>")
    assert written(draft)["read"] == {"format": "xml", "records": "/Export/Liste/Stelle"}
    assert checked(draft.config, tmp_path / "feed").good == 3


def test_a_feed_without_ids_gets_a_derived_one_from_its_address(tmp_path: Path) -> None:
    link = "https://x.ca/" + "y" * 60
    rows = [
        {"headline": f"Cook {n}", "body": f"{LONG} {n}", "city": "Laval", "link": f"{link}/{n}"}
        for n in range(4)
    ]
    draft = draft_of(tmp_path, json.dumps(rows))
    assert written(draft)["fields"]["referenceId"] == {"derive": ["link"]}
    assert checked(draft.config, tmp_path / "feed").good == 4


def test_unknown_values_are_in_the_draft_with_their_counts_as_comments(tmp_path: Path) -> None:
    draft = draft_of(tmp_path, cooks(sector=[*["Zythologie", "Helthcare"] * 2, "Zythologie"]))
    assert '# "Zythologie" = ""  # 3 rows' in draft.text
    assert '# "Helthcare" = ""  # 2 rows; Healthcare?' in draft.text
    assert written(draft)["lookup"]["category"] == {}
    filled = draft.text.replace('# "Zythologie" = ""', '"Zythologie" = "Hospitality & Tourism"')
    assert tomllib.loads(filled)["lookup"]["category"] == {"Zythologie": "Hospitality & Tourism"}


def test_the_employer_is_the_one_given_and_the_one_that_the_file_names_is_reported(tmp_path: Path) -> None:
    text = sheet(
        ["title", "company", "city"], ["Cook", 'Harbour & "Co"', "Laval"], ["Nurse", 'Harbour & "Co"', "Hull"]
    )
    assert draft_of(tmp_path, text).config.employer == "Acme Ltd."
    assert employer_named_in(tmp_path / "feed", FeedLimits()) == 'Harbour & "Co"'


def test_a_file_that_is_cut_off_gives_a_draft_that_says_where(tmp_path: Path) -> None:
    whole = (SAMPLES / "maple.xml").read_bytes()
    draft = draft_of(tmp_path, whole[: len(whole) // 2])
    assert draft.preset == "indeed"
    assert "The file is broken" in draft.text


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("https://x.ca/1?a=b", {"url"}),
        ("www.x.ca/jobs", {"url"}),
        ("x.ca/jobs", {"host"}),
        ("/jobs/3", {"path"}),
        ("JR-0103", {"code"}),
        ("mailto:hr@x.ca", {"email"}),
        ("mailto:hr@x.ca?subject=Cook 7", {"email"}),
        ("<p>Hi</p>", {"html"}),
        ("&lt;p&gt;Hi&lt;/p&gt;", {"html"}),
        ("25,50 $ de l'heure", {"money"}),
        ("$17-$19/hour", {"money"}),
        ("Nouvelle-Écosse", {"province"}),
        ("Hull, QC", {"place"}),
        ("Hull, Qc, Canada", {"place"}),
        ("2026-07-13T10:00:00Z", {"date:iso"}),
        ("27/08/2026", {"date:dmy"}),
        ("8/27/2013 2:10:05 PM", {"date:mdy"}),
        ("05/06/2026", {"date:dmy", "date:mdy"}),
        ("le 13 juillet 2026", {"date:words"}),
        ("1785000000000", {"number", "serial:epoch_ms"}),
        ("46216", {"number", "serial:excel"}),
        ("20991231", {"number", "serial:iso"}),
        ("20991331", {"number"}),
        ("Cook", {"category"}),
        ("Cook 7", set()),
    ],
)
def test_values_are_known_by_their_looks(text: str, kinds: set[str]) -> None:
    assert kinds_of(text) == kinds


nasty = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        '"|"""|\'\'\'|#|[x]|]\n[y|\\|{a}|=|\u202e|\x00|\x1b[31m|\ud83d\ude00|a.b|a"]b|\r\n[fields]'.split("|")
    ),
)


nasty_values = st.one_of(nasty, st.lists(nasty, max_size=3), st.integers())
nasty_jobs = st.dictionaries(nasty, nasty_values, min_size=1, max_size=6)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(nasty_jobs, min_size=1, max_size=4))
def test_whatever_a_json_feed_has_its_draft_loads_and_says_nothing_of_its_own(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    try:
        draft = draft_of(tmp_path, json.dumps(rows))
    except FeedError:
        return
    assert set(written(draft)) <= {"employer", "preset", "mode", "read", "rows", "fields", "lookup"}
    assert draft.config.employer == "Acme Ltd."


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(nasty, min_size=2, max_size=5, unique=True),
    st.lists(st.lists(nasty, min_size=2, max_size=5), max_size=4),
)
def test_whatever_a_csv_has_its_draft_loads(tmp_path: Path, header: list[str], rows: list[list[str]]) -> None:
    try:
        draft = draft_of(tmp_path, sheet(header, *rows).encode("utf-8", "replace"))
    except FeedError:
        return
    assert set(written(draft)) <= {"employer", "preset", "mode", "read", "rows", "fields", "lookup"}


# -- shapes that people sent ------------------------------------------------------------------------


def test_the_sheet_that_looks_most_like_jobs_is_chosen_and_named(tmp_path):
    names = ("Posting #", "Position Title", "Community", "Hourly Rate", "About the role", "Contact Email")
    rows = [
        spreadsheets.row(1000 + n, f"Nurse {n}", "Prince George", "$38.20 - $51.45", LONG * 2, "j@nh.example")
        for n in range(4)
    ]
    sheets = {
        "Read me": spreadsheets.row("How to", "use") + spreadsheets.row("a", "b"),
        "Postings": "".join([spreadsheets.row(*names), *rows]),
    }
    draft = draft_of(tmp_path, spreadsheets.book(sheets), "nh.xlsx")
    feed_file = written(draft)
    assert feed_file["read"]["sheet"] == "Postings"
    assert feed_file["fields"]["referenceId"] == "Posting #"
    assert feed_file["fields"]["salary"] == {"text": {"template": "{Hourly Rate} per hour"}}
    result = checked(draft.config, tmp_path / "nh.xlsx")
    assert (result.good, result.rejected) == (4, 0)
    assert [(kind.code, kind.rows) for kind in result.warnings.by_frequency()] == [("place_assumed", 4)]
    alone = draft_of(
        tmp_path, spreadsheets.book({"Postings": sheets["Postings"], "Read me": sheets["Read me"]})
    )
    assert "sheet" not in written(alone)["read"]


@pytest.mark.parametrize(
    ("column", "sample", "expected"),
    [
        ("Hourly Rate", "$38.20", {"text": {"template": "{Hourly Rate} per hour"}}),
        ("Weekly pay", "$950", {"text": {"template": "{Weekly pay} per week"}}),
        ("Salaire horaire", "25,50 $", {"text": {"template": "{Salaire horaire} per hour"}}),
        ("Hourly Rate", "$38.20 per hour", {"text": "Hourly Rate"}),
    ],
)
def test_what_an_amount_is_for_is_taken_from_its_column_s_name(tmp_path, column, sample, expected):
    rows = [[str(n), f"Cook {n}", "Halifax, NS", sample, LONG * 2] for n in range(3)]
    draft = draft_of(tmp_path, sheet(["Post ref", "Job", "Where", column, "Text"], *rows))
    assert written(draft)["fields"]["salary"] == expected


def test_city_and_province_in_one_column_win_over_the_city_alone(tmp_path):
    rows = [
        {
            "id": n,
            "headline": f"Cook {n}",
            "job_city": "Toronto",
            "location": "Toronto, Ontario",
            "body": LONG,
        }
        for n in range(3)
    ]
    assert fields_of(tmp_path, json.dumps(rows))["locations"] == {"from": "location", "lookup": "location"}


def fields_of(tmp_path: Path, text: str) -> dict[str, Any]:
    fields: dict[str, Any] = written(draft_of(tmp_path, text))["fields"]
    return fields


def test_a_place_takes_its_province_from_the_column_beside_it(tmp_path: Path) -> None:
    head = "No d'offre;Titre du poste;Lieu de travail;Province;Pour postuler;Famille d'emploi;Tâches\n"
    rows = (
        f"A-{n};Cuisinier {n};{place};rh@x.example;Cuisine;{LONG}\n"
        for n, place in enumerate(("Laval;Québec", "Moncton;Nouveau-Brunswick"))
    )
    fields = fields_of(tmp_path, "".join([head, *rows]))
    assert fields["locations"]["from"][0] == {"template": "{Lieu de travail}, {Province}"}
    assert fields["applicationEmail"] == "Pour postuler"
    assert fields["categories"]["from"] == "Famille d'emploi"


def test_places_in_a_list_are_each_put_together(tmp_path: Path) -> None:
    sites = [{"ville": "Amos", "region": "QC"}, {"ville": "Val-d'Or", "region": "QC"}]
    rows = [
        {"id": f"J{n}", "titre": f"Soudeur {n}", "texte": LONG, "lieux": sites[: n + 1]} for n in range(2)
    ]
    draft = draft_of(tmp_path, json.dumps({"offres": {str(n): row for n, row in enumerate(rows)}}))
    assert written(draft)["fields"]["locations"]["from"][0] == {
        "each": "lieux",
        "template": "{ville}, {region}",
    }
    assert written(draft)["read"]["records"] == "offres.*"


@pytest.mark.parametrize("companies", [["Acme", "Beta", "Acme"], ["Acme", "Acme", "Acme"]])
def test_a_file_of_several_companies_says_how_to_take_one(tmp_path: Path, companies: list[str]) -> None:
    draft = draft_of(tmp_path, clerks("company", companies))
    advised = '# only = { "company" = "Acme" }' in draft.text
    assert advised is (len(set(companies)) > 1)
    if advised:
        whole = draft.text.replace("# [rows]", "[rows]").replace("# only = {", "only = {")
        assert parse_feed("f", whole, CATALOGUE, FeedDefaults()).employer == "Acme Ltd."


def test_day_numbers_of_a_spreadsheet_beside_texts_keep_their_format(tmp_path: Path) -> None:
    dates = ["46400", "15 janvier 2099", "31/01/2099", "46410"]
    assert fields_of(tmp_path, clerks("closing date", dates))["closeDate"]["date"][-1] == "excel"


@pytest.mark.parametrize(
    "dates", [["20991231", "20990115"], [20991231, 20990115], ["20991231", "2099-01-15"]]
)
def test_dates_without_hyphens_are_known(tmp_path: Path, dates: list[Any]) -> None:
    assert fields_of(tmp_path, clerks("closing date", dates))["closeDate"] == "closing date"
    words = [*map(str, dates), "Open until filled", "Open until filled"]
    assert fields_of(tmp_path, clerks("closing date", words))["closeDate"]["from"] == "closing date"


def test_a_description_by_name_may_be_short(tmp_path: Path) -> None:
    text = clerks("job_description", ["Write posts."] * 3, description="")
    assert fields_of(tmp_path, text)["description"]["from"] == "job_description"


@pytest.mark.parametrize(("kind", "named"), [("xhtml", False), ("text/html", False), ("CDI", True)])
def test_an_attribute_that_says_the_kind_of_a_text_is_not_a_position_type(
    tmp_path: Path, kind: str, named: bool
) -> None:
    text = "".join(
        f'<ad><ref>J{n}</ref><titre>Cuisinier {n}</titre><texte type="{kind}">{LONG}</texte><ville>Laval</ville></ad>'
        for n in range(3)
    )
    position = fields_of(tmp_path, f"<liste><ads>{text}</ads></liste>")["positionType"]
    assert (position.get("from") == "texte/@type") is named


def test_a_preset_is_known_at_the_end_of_a_deeper_path(tmp_path: Path) -> None:
    text = "".join(
        f"<job><title>Cook {n}</title><id>J{n}</id><description>{LONG}</description><url>https://x.ca/{n}</url>"
        "<location>Laval</location><category>Food</category><contract_type>permanent</contract_type>"
        "<contract_time>full_time</contract_time></job>"
        for n in range(3)
    )
    assert draft_of(tmp_path, f"<rss><jobs>{text}</jobs></rss>").preset == "adzuna"


def test_nodes_of_json_ld_that_are_no_postings_are_left_out(tmp_path: Path) -> None:
    place = {"@type": "Place", "address": {"addressLocality": "Barrie", "addressRegion": "ON"}}
    jobs = [
        {
            "@type": "JobPosting",
            "title": title,
            "identifier": {"@type": "PropertyValue", "value": title},
            "description": LONG,
            "url": f"https://acme.example/{title}",
            "jobLocation": place,
        }
        for title in ("Cook", "Baker")
    ]
    graph = {"@context": "https://schema.org", "@graph": [{"@type": "Organization", "name": "Acme"}, *jobs]}
    text = draft_of(tmp_path, json.dumps(graph)).text
    assert "positionType" not in tomllib.loads(text)["fields"]
    assert "rows" not in tomllib.loads(text)
    result = checked(taken(text), tmp_path / "feed")
    assert (result.good, result.rejected, result.filtered) == (2, 0, Counter({"only @type = JobPosting": 1}))
    assert "rows" not in tomllib.loads(draft_of(tmp_path, json.dumps(jobs)).text)


def taken(text: str) -> FeedConfig:
    """Return the feed of a draft of which somebody has taken the # off the lines of [rows]."""
    marks = ("# [rows]", "# only = ", "# skip = ")
    lines = (line[2:] if line.startswith(marks) else line for line in text.splitlines())
    return parse_feed("acme", "\n".join(lines), CATALOGUE, FeedDefaults())


def test_a_state_that_is_that_of_the_posting_is_not_taken_for_the_province(tmp_path: Path) -> None:
    jobs = [
        f'<job state="{state}"><id>{id}</id><title>Cook</title><description>{LONG}</description><city>Barrie</city>'
        f"<province>ON</province><url>https://acme.example/{id}</url></job>"
        for id, state in enumerate(("open", "closed"))
    ]
    draft = draft_of(tmp_path, f"<jobs>{''.join(jobs)}</jobs>")
    fields = tomllib.loads(draft.text)["fields"]
    assert fields["status"] == {"from": "@state", "lookup": "status"}
    assert "{city}, {province}" in str(fields["locations"])
    assert checked(draft.config, tmp_path / "feed").rejected == 0


@pytest.mark.parametrize("word", ["Internal Only", "interne"])
def test_a_draft_says_how_to_leave_out_postings_that_are_not_for_the_public(
    tmp_path: Path, word: str
) -> None:
    text = draft_of(tmp_path, postings("Level", ("Team lead", word, "Head"))).text
    assert f"# Level has {word} in 1 record. To leave such postings out:" in text.splitlines()
    result = checked(taken(text), tmp_path / "feed")
    assert (result.good, result.filtered.total()) == (2, 1)


@pytest.mark.parametrize("sign", ["{}", "{} *", "{} (required)", "Posting/{}"])
def test_a_column_that_the_preset_does_not_read_is_in_the_draft(tmp_path: Path, sign: str) -> None:
    """A name may differ from that of the preset in a sign."""
    columns = {
        "Publication Status": ["Published", "Closed", "Published"],
        "Category": ["Legal", "Retail", "Legal"],
        "Job type": ["Part time", "Full time", "Contract"],
        "Salary": ["$25/h", "$26/h", "$27/h"],
    }
    rows = [[str(n), "Cook", "Barrie, ON", LONG, f"https://acme.example/{n}"] for n in range(3)]
    header = ["id", "title", "location", "description", "url", *map(sign.format, columns)]
    content = sheet(header, *(row + [values[n] for values in columns.values()] for n, row in enumerate(rows)))
    draft = draft_of(tmp_path, content)
    assert draft.preset == "csv"
    assert statuses(draft, tmp_path / "feed") == ["active", "archived", "active"]
    jobs = [row.body or {} for row in mapped_rows(draft, tmp_path / "feed")]
    assert [job["categories"] for job in jobs] == [[{"id": 19}], [{"id": 24}], [{"id": 19}]]
    assert [job["positionType"] for job in jobs] == [{"id": 2}, {"id": 1}, {"id": 3}]
    assert all(job["salary"] for job in jobs)


@pytest.mark.parametrize(
    ("name", "word", "field"),
    [("statut_du_poste", "Affiché", "status"), ("Sector", "Welding things", "categories")],
)
def test_a_column_of_which_the_first_file_has_one_word_alone_is_mapped(
    tmp_path: Path, name: str, word: str, field: str
) -> None:
    draft = draft_of(tmp_path, postings(name, [word] * 3))
    assert draft.preset == "csv"
    assert written(draft)["fields"][field]["from"] == name


def mapped_rows(draft: Draft, path: Path) -> list[MappedRow]:
    reader = open_reader(path, draft.config.read, FeedLimits())
    return [draft.config.mapping.row(record, reader.format) for record in reader]


def statuses(draft: Draft, path: Path) -> list[object]:
    """Return the statuses that new jobs of a draft would have, record by record; "?" where an unknown word rejects the row."""
    rows = mapped_rows(draft, path)
    unknown = [any(problem.pointer == "/status" for problem in row.problems) for row in rows]
    return [
        "?" if no else (row.body or {}).get("status", "active") for row, no in zip(rows, unknown, strict=True)
    ]


A, X, D = "active", "archived", "draft"


@pytest.mark.parametrize("form", ["json", "csv", "xml", "attributes"])
@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"jobStatus": ["Open", "Closed", "Parked", "Open"]}, [A, X, "?", A]),
        ({"Lifecycle": ["Open", "Filled", "Needs Approval", "Parked"]}, [A, X, D, "?"]),
        ({"Statut_du_poste": ["Affiché", "Comblé", "En attente", "Zinzin"]}, [A, X, D, "?"]),
        ({"statut": ["A1", "B1", "C1", "Ouvert"]}, ["?", "?", "?", A]),
        ({"isOpen": ["true", "false", "true", "false"]}, [A, X, A, X]),
        ({"is_filled": ["no", "yes", "no", "yes"]}, [A, X, A, X]),
        ({"Pourvu": ["Non", "Oui", "Non", "Oui"]}, [A, X, A, X]),
        (
            {"status": ["publish", "publish", "draft", "expired"], "_filled": ["0", "1", "0", "0"]},
            [A, X, D, X],
        ),
        ({"statut": ["Permanent", "Temporaire", "Permanent", "Temps plein"]}, [A] * 4),
        ({"company_status": ["Active", "Active", "Inactive", "Active"]}, [A] * 4),
        ({"approval_status": ["Approved", "Pending", "Rejected", "approved"]}, [A, D, X, A]),
        ({"moderationStatus": ["approved", "waiting", "rejected", "approved"]}, [A, D, X, A]),
        ({"sector": ["Public", "Private", "Private", "Private"]}, [A] * 4),
        ({"state": ["ON", "QC", "ON", "BC"]}, [A] * 4),
    ],
)
def test_a_status_is_found_by_its_name_or_its_values(
    tmp_path: Path, form: str, columns: dict[str, list[str]], expected: list[object]
) -> None:
    jobs = [
        {"ref": f"R{n}", "heading": f"Cook {n}", "body": LONG, "town": "Laval", "web": f"https://x.ca/{n}"}
        | {name: values[n] for name, values in columns.items()}
        for n in range(4)
    ]
    if form == "json":
        content = json.dumps(jobs)
    elif form == "attributes":
        extra = [" ".join(f'{name}="{values[n]}"' for name, values in columns.items()) for n in range(4)]
        jobs_in_xml = cooks_in_xml("Cook").split("<job>")
        jobs_in_xml.insert(1, jobs_in_xml[1].replace("J0", "J9"))
        content = "".join(
            part if n == 0 else f"<job {extra[n - 1]}>{part}" for n, part in enumerate(jobs_in_xml)
        )
    elif form == "csv":
        content = sheet([*jobs[0]], *([*job.values()] for job in jobs))
    else:
        parts = ("".join(f"<{name}>{text}</{name}>" for name, text in job.items()) for job in jobs)
        content = f"<list>{''.join(f'<item>{part}</item>' for part in parts)}</list>"
    draft = draft_of(tmp_path, content)
    assert statuses(draft, tmp_path / "feed") == expected
    unknown = {words[n] for words in columns.values() for n in range(4) if expected[n] == "?"}
    assert all(f'# "{word}" = ""' in draft.text for word in unknown)


def test_two_columns_of_one_name_are_an_error_only_if_the_mapping_uses_that_name(tmp_path: Path) -> None:
    path = tmp_path / "feed.csv"
    path.write_text("id,note,title,note\n1,x,Cook,y\n")
    lines = 'employer = "Acme"\n[read]\nformat = "csv"\n[fields]\nreferenceId = "id"\ntitle = "{}"\n'
    for column, code in (("title", None), ("note[2]", None), ("Note [2]", None), ("NOTE", "bad_header")):
        feed = parse_feed("acme", lines.format(column), CATALOGUE, FeedDefaults())
        if code is None:
            assert checked(feed, path).read == 1
            continue
        with pytest.raises(FeedError, match=r"more than one column is named 'NOTE'.*'NOTE\[1\]'") as caught:
            checked(feed, path)
        assert caught.value.code == code


def test_the_id_of_a_place_or_of_a_department_is_not_that_of_the_job(tmp_path: Path) -> None:
    places = ("Toronto, ON", "Calgary, AB", "Halifax, NS")
    jobs = [
        {"uuid": f"4f0674e6-e947241c21{n}", "name": f"Cook {n}", "text": LONG}
        | {"workLocation": {"id": place, "label": place}, "department": {"id": f"D{n}", "label": "Kitchen"}}
        for n, place in enumerate(places)
    ]
    assert fields_of(tmp_path, json.dumps(jobs))["referenceId"] == "uuid"
    jobs[1] |= {"uuid": jobs[0]["uuid"], "name": jobs[0]["name"]}  # one job at two places
    assert ".id" not in str(fields_of(tmp_path, json.dumps(jobs))["referenceId"])


def test_a_title_is_not_the_same_in_each_record(tmp_path: Path) -> None:
    jobs = [
        {"id": n, "links": {"title": "The full job", "url": f"https://x.ca/{n}"}, "jobtitle": f"Cook {n}"}
        for n in range(3)
    ]
    assert fields_of(tmp_path, json.dumps(jobs))["title"] == "jobtitle"


def test_a_record_without_a_date_of_publication_is_doubted(tmp_path: Path) -> None:
    (remark,) = draft_of(tmp_path, cooks(publishedAt=["2026-05-01", "2026-05-02", ""])).remarks
    assert remark == "publishedAt has no value in 1 record, and these would go in"


@pytest.mark.parametrize(
    ("at", "text", "yes"),
    [
        ("fields.{}.stringValue", "stringValue", "booleanValue"),  # Firestore
        ("{}.S", "S", "BOOL"),  # DynamoDB
    ],
)
def test_values_within_their_types_are_found_by_the_names_above(
    tmp_path: Path, at: str, text: str, yes: str
) -> None:
    def job(n: int) -> dict[str, Any]:
        texts = {"jobId": f"J{n}", "title": f"Cook {n}", "closesOn": f"2099-01-0{n}", "location": "Laval, QC"}
        texts |= {"description": LONG, "url": f"https://x.ca/{n}"}
        flags = {"isActive": n != 2, "isInternal": n == 3}
        fields: dict[str, dict[str, Any]] = {name: {text: value} for name, value in texts.items()}
        fields |= {name: {yes: value} for name, value in flags.items()}
        return {"name": f"documents/jobs/{n}x", "fields": fields} if at.startswith("fields") else fields

    draft = draft_of(tmp_path, json.dumps([job(n) for n in range(1, 6)]))
    fields = written(draft)["fields"]
    assert fields["title"] == at.format("title")
    assert fields["referenceId"] == at.format("jobId")
    assert fields["status"]["from"] == at.format("isActive").replace(text, yes)
    result = checked(draft.config, tmp_path / "feed")
    assert (result.good, result.rejected) == (3, 0)


def test_a_date_in_several_wrappers_is_found_by_the_name_above(tmp_path: Path) -> None:
    days = ({"$date": {"$numberLong": str(4_070_908_800_000 + n)}} for n in range(3))
    jobs = [
        {**job, "deadline": day} for job, day in zip(json.loads(cooks(id=["a", "b", "c"])), days, strict=True)
    ]
    assert fields_of(tmp_path, json.dumps(jobs))["closeDate"]["from"] == "deadline.$date.$numberLong"


def test_a_rule_by_yes_and_no_holds_where_a_later_file_spells_them_otherwise(tmp_path: Path) -> None:
    draft = draft_of(tmp_path, cooks(isInternal=["true", "false", "false"]))
    later = tmp_path / "later"
    for yes, no in (("Yes", "No"), ("1", "0"), ("Internal", "External")):
        later.write_text(cooks(isInternal=[no, yes, no]))
        assert checked(draft.config, later).filtered.total() == 1


@pytest.mark.parametrize("form", ["xml", "csv", "json"])
def test_numbers_are_codes_of_the_file_and_no_ids_of_the_catalogue(tmp_path: Path, form: str) -> None:
    job = {
        "title": "Cook",
        "city": "Calgary",
        "state": "AB",
        "country": "CA",
        "description": f"<p>{LONG}</p>",
    }
    jobs = [
        {**job, "referencenumber": f"A{n}", "url": f"https://a.ca/{n}", "category": f"2{n}", "jobtype": "3"}
        for n in range(4)
    ]
    content = sheet([*jobs[0]], *([*each.values()] for each in jobs)) if form == "csv" else json.dumps(jobs)
    if form == "xml":
        texts = ("".join(f"<{k}><![CDATA[{v}]]></{k}>" for k, v in each.items()) for each in jobs)
        content = f"<source>{''.join(f'<job>{text}</job>' for text in texts)}</source>"
    draft = draft_of(tmp_path, content)
    rows = [
        draft.config.mapping.row(record).body or {}
        for record in open_reader(tmp_path / "feed", draft.config.read, FeedLimits())
    ]
    other, full_time = (
        next(id for id, entry in entries.items() if entry.name == name)
        for entries, name in ((CATALOGUE.categories, "Other"), (CATALOGUE.position_types, "Full Time"))
    )
    assert [row["categories"] for row in rows] == [[{"id": other}]] * 4
    assert [row["positionType"] for row in rows] == [{"id": full_time}] * 4
    assert sum("has numbers, which are not ids of syncd" in doubt for doubt in draft.remarks) == 2


@pytest.mark.parametrize(
    "name", ["publication_end_date", "Applications close on", "Affiché jusqu'au", "Date de fin de parution"]
)
def test_several_words_for_the_end_of_a_posting_name_the_close_date(name: str, tmp_path: Path) -> None:
    assert fields_of(tmp_path, clerks(name, ["2026-01-10", "2026-01-11"]))["closeDate"] == name


@pytest.mark.parametrize("name", ["Opening Date", "Fin de contrat", "Probation end date"])
def test_a_date_ahead_that_is_named_after_something_else_is_no_close_date(name: str, tmp_path: Path) -> None:
    assert "closeDate" not in fields_of(tmp_path, clerks(name, ["2099-01-10", "2099-01-11"]))


@pytest.mark.parametrize("unit", ["PAY RATE PER", "Fréquence de paie", "Pay grade rate"])
def test_a_column_of_units_that_is_named_after_pay_has_its_period(unit: str, tmp_path: Path) -> None:
    pay = {"Min pay rate": "22", "Max pay rate": "25"}
    salary = fields_of(tmp_path, clerks(unit, ["Hour", "Hourly"], **pay))["salary"]
    assert salary == {"amount": "Min pay rate", "maxAmount": "Max pay rate", "period": unit}


@pytest.mark.parametrize("name", ["Created by", "Hiring manager email", "Courriel du gestionnaire"])
def test_the_mailbox_of_somebody_of_the_house_is_not_where_to_apply(name: str, tmp_path: Path) -> None:
    draft = draft_of(tmp_path, clerks(name, ["a.lee@acme.example", "k.roy@acme.example"]))
    assert "applicationEmail" not in written(draft)["fields"]
    assert f"{name} is named after something else" in " ".join(draft.text.replace("\n# ", " ").split())


@pytest.mark.parametrize("name", ["Link to apply", "Lien du formulaire de candidature"])
def test_an_address_that_is_named_after_applying_goes_before_others(name: str, tmp_path: Path) -> None:
    table = postings(name, ["https://jobs.example/a", "https://jobs.example/b"])
    assert fields_of(tmp_path, table)["applicationUrl"] == name


@pytest.mark.parametrize("name", ["isinternal", "jobfilled", "donotpost", "hideonweb"])
def test_words_of_a_flag_that_are_written_together_are_known(name: str, tmp_path: Path) -> None:
    draft = written(draft_of(tmp_path, clerks(name, ["0", "1", "0"])))
    assert name in str(draft.get("rows")) + str(draft["fields"].get("status"))


def test_a_type_of_work_whose_words_are_written_together_is_a_flag(tmp_path: Path) -> None:
    assert fields_of(tmp_path, clerks("isparttime", ["0", "1", "0"]))["positionType"]["from"] == "isparttime"


def test_an_address_is_no_description(tmp_path: Path) -> None:
    links = ["https://acme.example/api/jobs/1", "https://acme.example/api/jobs/2"]
    assert "description" not in fields_of(tmp_path, clerks("details", links, description=""))
