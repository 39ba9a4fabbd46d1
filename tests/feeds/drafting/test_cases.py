"""Drafts of small files that once went wrong: each is one of a kind."""

import json
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from syncd.domain import FeedLimits
from syncd.feeds.configuration import FeedDefaults, parse_feed
from syncd.feeds.drafting.draft import Draft
from syncd.feeds.mapping import compile_selector
from syncd.feeds.mapping.selectors import open_record
from syncd.feeds.readers import open_reader
from tests.feeds.drafting.test_draft import CATALOGUE, checked, draft_of, drafted, sheet

CASES = Path(__file__).parents[1] / "cases"


def bodies(draft: Draft, path: Path) -> list[dict[str, Any]]:
    records = open_reader(path, draft.config.read, FeedLimits())
    return [dict(draft.config.mapping.row(record).body or {}) for record in records]


def jobs_in(path: Path) -> list[dict[str, Any]]:
    return bodies(drafted(path), path)


def in_xml(jobs: list[dict[str, Any]]) -> str:
    rows = ("".join(f"<{name}>{value}</{name}>" for name, value in job.items()) for job in jobs)
    return f"<root>{''.join(f'<row>{row}</row>' for row in rows)}</root>"


def in_csv(jobs: list[dict[str, Any]]) -> str:
    return sheet([*jobs[0]], *([str(value) for value in job.values()] for job in jobs))


def each_format(jobs: list[dict[str, Any]]) -> list[str]:
    return [json.dumps(jobs), in_xml(jobs), in_csv(jobs)]


def clerk(n: int) -> dict[str, object]:
    """Return a record of a job without an address to apply at."""
    return {
        "id": n,
        "title": f"Clerk {n}",
        "description": "Serves customers.",
        "city": "Laval",
        "province": "QC",
    }


@pytest.mark.parametrize("keys", [("@type", "jobLocation"), ("hiringOrganization", "jobLocation")])
def test_two_of_its_own_keys_make_a_schema_org(keys: tuple[str, str], tmp_path: Path) -> None:
    place = {"address": {"addressLocality": "Laval", "addressRegion": "QC"}}
    values = {"@type": "JobPosting", "jobLocation": place, "hiringOrganization": {"name": "Acme"}}
    jobs = [
        {"identifier": n, "title": "Cook", "description": "Cooks.", "url": f"https://acme.example/{n}"}
        | {key: values[key] for key in keys}
        for n in range(3)
    ]
    assert draft_of(tmp_path, json.dumps(jobs)).preset == "schemaorg"


def test_a_plain_guess_that_brings_more_rows_in_is_written_instead_of_a_preset(tmp_path: Path) -> None:
    own = {"@type": "JobPosting", "hiringOrganization": {"name": "Acme"}, "jobLocation": "Head office"}
    jobs = [
        own | {"identifier": n, "title": "Cook", "description": "Cooks.", "url": f"https://acme.example/{n}"}
        for n in range(4)
    ]
    path = tmp_path / "feed"
    path.write_text(json.dumps([job | {"city": "Laval", "state": "QC"} for job in jobs]))
    draft = drafted(path)
    assert (draft.preset, checked(draft.config, path).good) == (None, 4)
    assert "More records go in by these guesses than by the preset schemaorg" in " ".join(
        draft.text.split("\n# ")
    )


PLACES = [{"city": "Laval", "state": "QC"}, {"city": "Moncton", "state": "NB"}]
ABROAD = {"city": "Boston", "state": "MA", "country": "US"}
OF_EMPLOYER = {"city": "Moncton", "state": "NB"}


@pytest.mark.parametrize(
    ("members", "places"),
    [
        ({"country": "CA", "places": PLACES}, ["Laval, QC", "Moncton, NB"]),
        (
            {"places": [ABROAD, *(place | {"country": "CA"} for place in PLACES)]},
            ["Laval, QC", "Moncton, NB"],
        ),
        ({"companyAddress": OF_EMPLOYER, "workAddress": PLACES[0]}, ["Laval, QC"]),
    ],
)
def test_all_places_of_the_job_count_and_none_of_the_employer(
    members: dict[str, object], places: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "feed"
    path.write_text(
        json.dumps([{"id": n, "title": "Cook", "description": "Cooks."} | members for n in range(6)])
    )
    assert [place["description"] for place in jobs_in(path)[0]["locations"]] == places


@pytest.mark.parametrize(
    ("members", "date"),
    [
        ({"contract": {"endDate": "2027-06-30"}, "applyBy": "2026-12-10"}, "2026-12-10"),
        ({"contract_end_date": "2027-06-30"}, None),
        ({"publication": {"from": "2026-11-01", "to": "2026-12-10"}}, "2026-12-10"),
    ],
)
def test_the_end_of_a_contract_closes_no_posting(
    members: dict[str, object], date: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "feed"
    path.write_text(json.dumps([clerk(n) | members for n in range(6)]))
    assert jobs_in(path)[0].get("closeDate") == date


@pytest.mark.parametrize(
    ("dates", "date"),
    [
        (["15/01/27", "03/02/27", "31/01/27"], "2027-01-15"),
        (["01/15/27", "02/03/27", "01/31/27"], "2027-01-15"),
        (["27-01-15", "27-02-03", "27-01-31"], "2027-01-15"),
        (["31/01/27", "28/02/27", "31/03/27"], "2027-01-31"),
    ],
)
def test_years_of_two_digits_are_those_nearest_to_today(dates: list[str], date: str, tmp_path: Path) -> None:
    path = tmp_path / "feed"
    path.write_text(json.dumps([clerk(n) | {"closingDate": day} for n, day in enumerate(dates)]))
    assert jobs_in(path)[0].get("closeDate") == date


@pytest.mark.parametrize(
    ("dates", "odd"),
    [
        (["2027-01-15 (extended)", "2027-02-03", "2027-01-31"], "2027-01-15 (extended)"),
        (["2027-01-15", "Open until filled", "2027-02-03 à 16h00"], None),
        (["Open until filled", "Jusqu'à comblement", ""], None),
    ],
)
def test_a_close_date_that_is_not_read_is_named(dates: list[str], odd: str | None, tmp_path: Path) -> None:
    path = tmp_path / "feed"
    path.write_text(json.dumps([clerk(n) | {"closingDate": day} for n, day in enumerate(dates)]))
    doubt = f'closingDate is not read as a close date, as it has "{odd}"'
    assert drafted(path).remarks == ((doubt,) if odd else ())


def test_seconds_of_firestore_are_a_close_date(tmp_path: Path) -> None:
    path = tmp_path / "feed"
    path.write_text(json.dumps([clerk(n) | {"expiresAt": {"_seconds": 1805169599}} for n in range(3)]))
    assert jobs_in(path)[0].get("closeDate") == "2027-03-15"


def test_pay_that_is_not_shown_hides_no_job(tmp_path: Path) -> None:
    path = tmp_path / "feed"
    path.write_text(json.dumps([clerk(n) | {"salary": {"min": 20, "display": False}} for n in range(6)]))
    draft = drafted(path)
    assert "\nskip = " not in draft.text
    assert "salary.display hides the pay of 6 records, but it would be public" in draft.remarks


def test_records_that_stand_elsewhere_are_named(tmp_path: Path) -> None:
    job = "<job><id>{}</id><title>Cook</title><alike><job><id>1</id><title>Clerk</title></job></alike></job>"
    one, two = (job.format(n) for n in range(2))
    path = tmp_path / "feed"
    path.write_text(f"<jobs><fullTime>{one}{two}</fullTime><partTime>{one}</partTime></jobs>")
    assert "1 more record at /jobs/partTime/job would not be read" in drafted(path).remarks
    path.write_text(
        json.dumps({"kitchen": [clerk(0), clerk(1)], "office": [clerk(2)], "places": [{"id": 1}]})
    )
    assert drafted(path).remarks == ("1 more record at office would not be read",)
    path.write_text(json.dumps([clerk(0) | {"alike": [clerk(1)]}, clerk(2)]))
    assert drafted(path).remarks == ()


@pytest.mark.parametrize(
    ("title", "is_open"),
    [
        *(
            (title, False)
            for title in ("Cook (FILLED)", "POURVU - Cuisinier", "Cook – Position on hold", "DRAFT: Cook")
        ),
        *(
            (title, False)
            for title in (
                "Cook *CLOSED*",
                "Commis (fermé)",
                "Affichage terminé - Commis",
                "Cook (Internal only)",
                "Do not post - Cook",
            )
        ),
        *(
            (title, True)
            for title in ("Closed Captioning Writer", "Clerk - Frozen", "Aide - Ferme", "Auditor - Internal")
        ),
    ],
)
def test_a_title_that_says_that_the_posting_is_not_open_is_named(
    title: str, is_open: bool, tmp_path: Path
) -> None:
    path = tmp_path / "feed"
    path.write_text(json.dumps([clerk(0), clerk(1) | {"title": title}]))
    said = ("the title says in 1 record that it is not open, and these would go in",)
    assert drafted(path).remarks == (() if is_open else said)
    path.write_text(
        json.dumps([clerk(0) | {"status": "open"}, clerk(1) | {"title": title, "status": "closed"}])
    )
    assert drafted(path).remarks == ()


def test_a_preset_does_not_read_the_hours_without_the_kind_of_contract(tmp_path: Path) -> None:
    kinds = ("Permanent", "Temporary", "Seasonal")
    more = {"url": "https://acme.example/1", "category": "Retail", "jobtype": "Full Time"}
    jobs = [clerk(n) | more | {"Contract": kind} for n, kind in enumerate(kinds)]
    for content in each_format(jobs):
        path = tmp_path / "feed"
        path.write_text(content)
        types = [job["positionType"]["id"] for job in jobs_in(path)]
        assert types == [1, 4, 4], content[:20]


@pytest.mark.parametrize("end", ["...", "…", " […]"])
def test_a_whole_text_goes_before_its_beginning(end: str, tmp_path: Path) -> None:
    text = "Serves customers, answers the phone and keeps the files of the office in order."
    more = {"url": "https://acme.example/1", "description": text[:50] + end, "category": "Retail"}
    jobs = [clerk(n) | more | {"fullDescription": f"{text} {n}"} for n in range(3)]
    for content in each_format(jobs):
        path = tmp_path / "feed"
        path.write_text(content)
        assert jobs_in(path)[0]["description"] == f"{text} 0"


def test_a_file_without_a_header_is_named(tmp_path: Path) -> None:
    rows = [f"A{n},Cook,Cooks for ninety guests.,https://acme.example/{n},2027-03-0{n}" for n in range(1, 6)]
    path = tmp_path / "feed"
    path.write_text("\n".join(rows) + "\n")
    doubt = (
        "https://acme.example/1 does not name a column: the first line has a record, which would not be read"
    )
    assert doubt in drafted(path).remarks
    path.write_text("\n".join(["id,title,description,https://acme.example,end", *rows]) + "\n")
    assert doubt not in drafted(path).remarks


def typed(name: str, types: list[str], **more: str) -> list[dict[str, Any]]:
    return [
        {
            "ReferenceNumber": 10 + n,
            "Title": f"Clerk {n}",
            "Description": "Serves customers.",
            "City": "Calgary",
        }
        | {"State": "AB", "ApplyUrl": f"https://acme.example/{n}", name: kind, **more}
        for n, kind in enumerate(types)
    ]


def test_a_column_of_position_types_is_found_by_its_values(tmp_path: Path) -> None:
    kinds = ["Temps partiel", "Temps plein", "Contract", "Temps partiel"]
    for n, content in enumerate(each_format(typed("Indicator", kinds, schedule="Monday to Friday"))):
        (tmp_path / str(n)).write_text(content)
        assert [job["positionType"]["id"] for job in jobs_in(tmp_path / str(n))] == [2, 1, 3, 2]


def test_a_column_of_categories_is_found_by_its_values(tmp_path: Path) -> None:
    streams = ["Santé", "Retail", "Nursing Services", "Customer Support"]
    for n, content in enumerate(each_format(typed("Stream", streams, level="Senior"))):
        path = tmp_path / str(n)
        path.write_text(content)
        draft = drafted(path)
        assert [job["categories"][0]["id"] for job in bodies(draft, path)] == [15, 24, 32, 8]
        assert '# "Nursing Services" = ""  # 1 row; Healthcare?' in draft.text.splitlines()
        assert "# The catalogue has: Accounting & Finance · Administration & Office · " in draft.text


def test_a_known_word_of_a_list_of_types_counts_beside_an_unknown_one(tmp_path: Path) -> None:
    kinds = ["Full-time", "Part-time", "Temporary", "Unheard of, Part-time"]
    for n, content in enumerate(each_format(typed("employmentType", kinds))):
        path = tmp_path / str(n)
        path.write_text(content)
        draft = drafted(path)
        assert [job["positionType"]["id"] for job in bodies(draft, path)] == [1, 2, 4, 2]
        assert [(kind.code, kind.rows) for kind in checked(draft.config, path).warnings.by_frequency()] == [
            ("unknown_position_type", 1)
        ]


def test_a_constant_says_what_it_does_to_how_many_records(tmp_path: Path) -> None:
    text = draft_of(tmp_path, json.dumps(typed("Shift", ["Day", "Night", "Day"]))).text
    assert "# positionType: Full Time for all 3; no column has known types" in text
    assert "# categories: Other for all 3; no column has a name for them or known ones" in text
    assert "nothing in the file" not in text.lower()


@pytest.mark.parametrize(("name", "address"), [
    ("website", "https://acme.example"),
    ("url", "https://acme.example/jobs"),
    ("companyUrl", "https://acme.example/{n}"),
    ("logo", "https://acme.example/{n}.png"),
    ("info", "https://acme.example"),
    ("self", "https://acme.example/{n}"),
    ("edit_url", "https://acme.example/jobs/{n}/edit"),
    ("href", "https://api.acme.example/v1/jobs/{n}"),
    ("url", "https://acme.example/rest/api/jobs/{n}"),
    ("vendorMail", "jobs{n}@vendor.example"),
    ("info", "info@acme.example"),
])  # fmt: skip
def test_an_address_that_is_of_another_or_always_the_same_is_left_open(
    name: str, address: str, tmp_path: Path
) -> None:
    jobs = [clerk(n) | {name: address.format(n=n)} for n in range(4)]
    for n, content in enumerate(each_format(jobs)):
        path = tmp_path / str(n)
        path.write_text(content)
        draft = drafted(path)
        assert checked(draft.config, path).good == 0
        assert f"# {'applicationEmail' if '@' in address else 'applicationUrl'} = " in draft.text


def test_the_parent_of_an_address_counts_and_one_mailbox_for_all_is_taken(tmp_path: Path) -> None:
    jobs = [
        clerk(n) | {"publisher": {"url": f"https://ats.example/{n}"}, "contactEmail": "jobs@acme.example"}
        for n in range(4)
    ]
    (tmp_path / "f").write_text(json.dumps(jobs))
    assert [job["applicationEmail"] for job in jobs_in(tmp_path / "f")] == ["jobs@acme.example"] * 4


def test_a_posting_that_begins_later_is_named(tmp_path: Path) -> None:
    begin = {
        "Publish date": ["2026-10-01", "2027-02-01", "2026-11-01", "2027-03-01"],
        "Posting end date": ["2027-04-01"] * 4,
    }
    jobs = [
        clerk(n) | {"apply": f"https://x.ca/{n}"} | {name: days[n] for name, days in begin.items()}
        for n in range(4)
    ]
    (tmp_path / "f").write_text(in_csv(jobs))
    assert drafted(tmp_path / "f").remarks == (
        "Publish date is after today in 2 records, but these would be live at once",
    )


@pytest.mark.parametrize(("name", "yes"), [("Published", "x"), ("isOpen", "Yes"), ("On_website", "TRUE")])
def test_postings_that_are_not_marked_as_public_are_named(name: str, yes: str, tmp_path: Path) -> None:
    jobs = [clerk(n) | {"apply": f"https://x.ca/{n}", name: yes if n else ""} for n in range(4)]
    for content in each_format(jobs):
        (tmp_path / "f").write_text(content)
        assert drafted(tmp_path / "f").remarks == (f"{name} has no value in 1 record, and these would go in",)


def test_postings_without_an_opening_are_named(tmp_path: Path) -> None:
    jobs = [clerk(n) | {"apply": f"https://x.ca/{n}", "openings": n % 3} for n in range(4)]
    for content in each_format(jobs):
        (tmp_path / "f").write_text(content)
        (remark,) = drafted(tmp_path / "f").remarks
        assert remark == "openings has 0 in 2 records, and these would go in: see [rows] in the draft"


def test_the_status_of_a_preset_lets_no_posting_in(tmp_path: Path) -> None:
    states = ["published", "internal", "closed", "published"]
    jobs = [
        {
            "id": f"R{n}",
            "text": f"Cook {n}",
            "state": state,
            "description": "Cooks.",
            "createdAt": 1762160000000,
        }
        | {"categories": {"location": "Toronto, ON", "team": "Legal", "commitment": "Full-time"}}
        | {
            "urls": {"show": f"https://x.ca/{n}"},
            "distributionChannels": ["public", "internal"][: 1 + (n == 3)],
        }
        for n, state in enumerate(states)
    ]
    (tmp_path / "f").write_text(json.dumps({"data": jobs}))
    draft = drafted(tmp_path / "f")
    assert draft.preset == "lever"
    assert [job.get("status") for job in jobs_in(tmp_path / "f")] == [None, "archived", "archived", None]
    (remark,) = draft.remarks
    assert (
        remark
        == "distributionChannels has internal in 1 record, and these would go in: see [rows] in the draft"
    )


@pytest.mark.parametrize(("name", "values"), [
    ("showSalary", [True, False, False, True]),
    ("Hide pay", ["No", "Yes", "Yes", "No"]),
    ("display_wage", [1, 0, 0, 1]),
])  # fmt: skip
def test_pay_that_is_not_to_be_seen_is_named(name: str, values: list[object], tmp_path: Path) -> None:
    jobs = [
        clerk(n) | {"apply": f"https://x.ca/{n}", "salary": "$20/hour", name: values[n]} for n in range(4)
    ]
    for content in each_format([{key.replace(" ", "_"): text for key, text in job.items()} for job in jobs]):
        (tmp_path / "f").write_text(content)
        (remark,) = drafted(tmp_path / "f").remarks
        assert remark == f"{name.replace(' ', '_')} hides the pay of 2 records, but it would be public"


def test_the_name_of_an_employer_who_does_not_want_it_is_hidden(tmp_path: Path) -> None:
    hidden = [True, False, False, True]
    for name in ("confidential", "isConfidential", "Confidentiel", "hide_company_name"):
        jobs = [clerk(n) | {"apply": f"https://x.ca/{n}", name: hidden[n]} for n in range(4)]
        for n, content in enumerate(each_format(jobs)):
            (tmp_path / str(n)).write_text(content)
            assert [job["confidential"] for job in jobs_in(tmp_path / str(n))] == hidden


def paid(*pay: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"id": f"W{n}", "title": f"Welder {n}", "description": "Weld steel.", "city": "Oshawa", "state": "ON"}
        | {"applyUrl": f"https://acme.example/{n}", **each}
        for n, each in enumerate(pay)
    ]


@pytest.mark.parametrize(("names", "values"), [
    (("salary", "salary_unit"), ("31.50", "HOUR")),
    (("pay", "pay_interval"), ("31.50", "hourly")),
    (("min_amount", "interval"), (31.5, "hourly")),
    (("compensation", "compensation_period"), ("$31.50", "per hour")),
    (("salaire", "unite_salaire"), ("31,50", "heure")),
])  # fmt: skip
def test_amounts_and_their_unit_are_found_by_their_names(
    names: tuple[str, str], values: tuple[object, str], tmp_path: Path
) -> None:
    for n, content in enumerate(each_format(paid(*[dict(zip(names, values, strict=True))] * 3))):
        (tmp_path / str(n)).write_text(content)
        pays = [job["salary"] for job in jobs_in(tmp_path / str(n))]
        assert [(float(pay["amount"]), pay["period"]["id"]) for pay in pays] == [(31.5, 5)] * 3


def test_pay_of_tens_of_thousands_without_a_period_gets_a_proposal(tmp_path: Path) -> None:
    low = {"min_amount": 52000, "max_amount": 60000}
    (tmp_path / "plain").write_text(json.dumps(paid(low, low, {"min_amount": 31})))
    for path, records in ((CASES / "pay-thousands.csv", 3), (tmp_path / "plain", 2)):
        text = drafted(path).text
        assert f"comes without a period in {records} records" in " ".join(text.split("\n# "))
        (line,) = (line for line in text.splitlines() if "infer_period" in line)
        proposed = line.removeprefix("#   ")
        changed = "".join(
            f"{each}\n" for each in text.splitlines() if not each.startswith("salary = ") and each != line
        ).replace("[fields]", f"[fields]\n{proposed}")
        config = parse_feed("acme", changed, CATALOGUE, FeedDefaults())
        pays: list[Any] = [
            (config.mapping.row(each).body or {})["salary"]
            for each in open_reader(path, config.read, FeedLimits())
        ]
        assert [pay["period"]["id"] for pay in pays[:records]] == [1] * records


def test_a_selector_of_an_attribute_with_a_namespace_can_be_read(tmp_path: Path) -> None:
    jobs = "".join(
        f'<w:job w:id="R{n}"><w:title w:text="Teller {n}"/><d>Serves clients.</d><city w:name="Moncton"/><state v="NB"/>'
        f'<apply w:url="https://acme.example/{n}"/></w:job>'
        for n in range(3)
    )
    path = tmp_path / "feed"
    path.write_text(
        f'<w:jobs xmlns:w="urn:w">{jobs}</w:jobs>'.replace("<d>", "<body>").replace("</d>", "</body>")
    )
    assert [job["referenceId"] for job in jobs_in(path)] == ["R0", "R1", "R2"]
    assert jobs_in(path)[0]["applicationUrl"] == "https://acme.example/0"


@pytest.mark.parametrize(
    "selector", ["place/@name", "place[@kind='site']/@name", "place/@x:name", "place/attribute::name"]
)
def test_names_of_attributes_match_as_those_of_elements_do(selector: str) -> None:
    item = etree.fromstring('<job xmlns:x="urn:x"><place x:kind="site" x:name="Laval"/></job>')
    assert compile_selector(selector, "xml").values(open_record(item, "xml"))[0] == "Laval"


def test_an_exact_name_is_taken_before_a_near_one(tmp_path: Path) -> None:
    jobs = [{"_id": f"5f{n}", **job, "id": f"J{n}"} for n, job in enumerate(paid({}, {}, {}))]
    for n, content in enumerate(each_format(jobs)):
        (tmp_path / str(n)).write_text(content)
        assert [job["referenceId"] for job in jobs_in(tmp_path / str(n))] == ["J0", "J1", "J2"]


def test_a_column_of_dates_that_lie_ahead_is_the_close_date_but_not_a_start(tmp_path: Path) -> None:
    for name, taken in (("Until", True), ("Start date", False), ("posted_on", False)):
        dates = ["2099-01-31", "2016-02-28", "2099-03-31"]
        jobs = [
            clerk(n) | {"url": f"https://acme.example/{n}", "seen": "2016-01-05", name: day}
            for n, day in enumerate(dates)
        ]
        for content in each_format(jobs) if " " not in name else each_format(jobs)[::2]:
            (tmp_path / "feed").write_text(content)
            assert [job.get("closeDate") for job in jobs_in(tmp_path / "feed")] == (
                dates if taken else [None] * 3
            )


def test_codes_are_ids_also_as_the_first_of_a_list(tmp_path: Path) -> None:
    jobs: list[dict[str, Any]] = [{**clerk(n), "bullets": [f"JR-{n}07", "Full time"]} for n in range(3)]
    for job in jobs:
        del job["id"]
    for content in (json.dumps(jobs), in_csv([job | {"bullets": job["bullets"][0]} for job in jobs])):
        (tmp_path / "feed").write_text(content)
        assert [job["referenceId"] for job in jobs_in(tmp_path / "feed")] == ["JR-007", "JR-107", "JR-207"]


def test_an_id_that_stands_for_several_titles_is_not_the_id(tmp_path: Path) -> None:
    jobs = [clerk(n) | {"id": n // 2, "url": f"https://acme.example/{n}"} for n in range(4)]
    for content in each_format(jobs):
        (tmp_path / "feed").write_text(content)
        draft = drafted(tmp_path / "feed")
        assert len({job["referenceId"] for job in bodies(draft, tmp_path / "feed")}) == 4
        assert "repeats" not in draft.text


FACETS = {
    "Type d'emploi": ["Temps partiel", "Temps plein", "Contrat"],
    "Department": ["Legal", "Retail", "Legal"],
    "Closing date": ["2099-01-31", "2099-02-28", "2099-03-31"],
    "Is filled": ["no", "yes", "no"],
}


def with_facets(n: int, name: str, value: str) -> tuple[dict[str, Any], str]:
    """A record with facets, of which the second lacks one, in JSON and in XML."""
    job = clerk(n) | {"url": f"https://acme.example/{n}"}
    facets = [(label, values[n]) for label, values in FACETS.items() if (label, n) != ("Department", 1)]
    fields = "".join(f"<{key}>{text}</{key}>" for key, text in job.items())
    parts = (f"<facet><{name}>{label}</{name}><{value}>{text}</{value}></facet>" for label, text in facets)
    if name == "@name":
        parts = (f'<facet name="{label}">{text}</facet>' for label, text in facets)
    in_json = [{name: label, value: [text], "kind": "x"} for label, text in facets]
    return job | {"custom": in_json}, f"<job>{fields}<facets>{''.join(parts)}</facets></job>"


@pytest.mark.parametrize(
    ("name", "value"),
    [("label", "value"), ("name", "value"), ("id", "label"), ("fieldLabel", "valueLabel"), ("@name", "")],
)
def test_a_field_is_found_by_the_name_of_a_facet(name: str, value: str, tmp_path: Path) -> None:
    records = [with_facets(n, name, value) for n in range(3)]
    contents = [f"<jobs>{''.join(text for _, text in records)}</jobs>"]
    contents += [json.dumps([job for job, _ in records])] if value else []
    for content in contents:
        (tmp_path / "feed").write_text(content)
        jobs = jobs_in(tmp_path / "feed")
        assert [job["positionType"]["id"] for job in jobs] == [2, 1, 3]
        assert [job["categories"][0]["id"] for job in jobs] == [19, 32, 19]
        assert [job["closeDate"] for job in jobs] == FACETS["Closing date"]
        assert [job["status"] for job in jobs] == ["active", "archived", "active"]


@pytest.mark.parametrize("key", ["label", "name", "value"])
def test_the_objects_of_a_list_of_categories_are_named_after_the_list(key: str, tmp_path: Path) -> None:
    """They are not taken for facets, although each has an id."""
    jobs = [clerk(n) | {"url": f"https://acme.example/{n}"} for n in range(3)]
    listed = [{"id": "law", key: "Legal"}, {"id": "shop", key: "Retail"}]
    elements = '<department code="law">Legal</department><department code="shop">Retail</department>'
    for content in (
        json.dumps([job | {"department": listed} for job in jobs]),
        in_xml(jobs).replace("</row>", f"{elements}</row>"),
    ):
        (tmp_path / "feed").write_text(content)
        assert [job["categories"] for job in jobs_in(tmp_path / "feed")] == [[{"id": 19}, {"id": 24}]] * 3
