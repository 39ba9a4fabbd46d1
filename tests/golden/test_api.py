"""The answers of the API: status, headers and body, byte for byte. The prose of problems is masked."""

from typing import Any

from tests.golden.answers import reading, transcript
from tests.golden.doors import Answer
from tests.golden.golden import MASK, same, same_json
from tests.golden.scenario import BASE, WHOLE

CATALOGUES = ("positiontypes", "categories", "salaryperiods", "applicantroutingtypes")
JSON = {"Content_Type": "application/json"}
#: Name of a fault → fields that replace those of a valid job or are added to them; ``...`` removes a field.
FAULTS: dict[str, dict[str, Any]] = {
    "nothing at all": dict.fromkeys(WHOLE, ...),
    "everything null": dict.fromkeys(WHOLE),
    "everything a number": dict.fromkeys(WHOLE, 5),
    "everything an empty text": dict.fromkeys(WHOLE, ""),
    "unknown fields": {"titel": "x", "salary": {"amont": 1}, "locations": [{"descripton": "x"}]},
    "active, nothing but a title": {**dict.fromkeys(WHOLE, ...), "title": "x", "status": "active"},
    "too long": {
        "title": "t" * 257,
        "referenceId": "r" * 51,
        "applicationEmail": f"{'e' * 50}@x.ca",
        "applicationUrl": f"https://x.ca/{'u' * 200}",
    },
    "characters": {"title": "a\u0000b", "description": "<p>\u0001</p>"},
    "html": {"description": '<div onclick="x">a<script>b</script></div><b>'},
    "dates": {"closeDate": "2027-02-30"},
    "passed": {"closeDate": "2020-01-01", "status": "active"},
    "places": {"locations": [{"description": "a"}, {"id": 99}, {}, {"description": "Hull, ZZ"}]},
    "no places": {"locations": []},
    "categories": {"categories": [{"id": 1}, {"id": 1}, {"id": 999}, {"id": "1"}]},
    "types": {"positionType": {"id": 9}, "applicantRoutingType": {"id": 3}},
    "salary, order": {"salary": {"amount": 30, "maxAmount": 20, "period": {"id": 5}}},
    "salary, parts": {
        "salary": {"amount": -1, "maxAmount": 1.23456, "period": {"id": 8}, "plusCommission": "no"}
    },
    "salary, no period": {"salary": {"amount": 30}},
    "salary, nothing": {"salary": {"plusCommission": False}},
    "routing, no address": {"applicationEmail": None, "status": "active"},
    "routing, no url": {"applicationUrl": None, "applicantRoutingType": {"id": 2}, "status": "active"},
    "addresses": {"applicationEmail": "nobody", "applicationUrl": "ftp://x.ca"},
    "a reference in use": {"referenceId": "H-2"},
}


def test_the_answers_to_changes(scenario):
    same("answers/changes.txt", transcript(scenario.answers))


def test_the_answers_to_reads(installed):
    with installed.installation.api() as api:
        same("answers/reading.txt", transcript(reading(api, installed.keys)))


def test_the_catalogues(installed):
    found: dict[str, Answer] = {}
    with installed.installation.api() as api:
        for path in (
            *(f"/{kind}" for kind in CATALOGUES),
            *(f"/{kind}/{number}" for kind in CATALOGUES for number in (1, 5, 6, 33, 99)),
            *(
                "/locations?q=calgary",
                "/locations?q=nowhere",
                "/locations?q=st&pageSize=3&page=2",
                "/locations?pageSize=2",
            ),
            *("/locations/5913490", "/locations/1000000000", "/locations/7"),
        ):
            found[path] = api("GET", BASE + path, installed.keys["maple"])
    same("answers/catalogues.txt", transcript(found))


def test_the_problems(scenario):
    key = scenario.keys["maple"]
    jobs, one = f"{BASE}/jobs", f"{BASE}/jobs/26"
    found: dict[str, Answer] = {}
    with scenario.installation.api() as api:
        for name, fields in FAULTS.items():
            body = {
                field: value
                for field, value in ({**WHOLE, "referenceId": "N-1"} | fields).items()
                if value is not ...
            }
            found[f"POST: {name}"] = api("POST", jobs, key, body)
            if name in ("everything null", "places", "salary, order", "html", "passed"):
                found[f"PUT: {name}"] = api("PUT", one, key, fields)
        assert {answer.status for answer in found.values()} == {409, 422}
        found |= {
            "no key": api("GET", jobs),
            "a wrong key": api("GET", jobs, "syncd_nobody"),
            "no such address": api("GET", f"{BASE}/nothing", key),
            "no such job": api("GET", f"{BASE}/jobs/999", key),
            "an id that is none": api("GET", f"{BASE}/jobs/x", key),
            "a method": api("PATCH", one, key),
            "a parameter": api("GET", f"{jobs}?pagesize=1", key),
            "a parameter, twice": api("GET", f"{jobs}?page=1&page=2", key),
            "a number": api("GET", f"{jobs}?page=0", key),
            "a status": api("GET", f"{jobs}?status=open", key),
            "not JSON": api("POST", jobs, key, b"{", **JSON),
            "not an object": api("POST", jobs, key, b"[]", **JSON),
            "a member twice": api("POST", jobs, key, b'{"title": "a", "title": "b"}', **JSON),
            "a media type": api("POST", jobs, key, b"x=1", Content_Type="application/x-www-form-urlencoded"),
            "an encoding": api("POST", jobs, key, b"x", Content_Encoding="br", **JSON),
            "too large": api("POST", jobs, key, b" " * (1 << 20) + b"{}", **JSON),
            "no version": api("PUT", one, key, {"title": "x"}, If_Match='"0000"'),
            "another id": api("PUT", one, key, {"id": 27}),
            "a transition": api("PUT", one, key, {"status": "draft"}),
            "no reference": api("PUT", jobs, key, {"title": "x"}),
            "no such reference": api("DELETE", jobs, key, {"referenceId": "nobody"}),
            "a key that was used": api("POST", jobs, key, {**WHOLE, "referenceId": "other"}, Idempotency_Key="5f0c2b7e"),
            "OPTIONS": api("OPTIONS", jobs, key),
            "a media type that is not there": api("GET", one, key, Accept="text/csv"),
            "not modified": api("GET", one, key, If_None_Match=api("GET", one, key).headers["ETag"]),
            "health": api("GET", "/healthz"),
            "readiness": api("GET", "/readyz"),
        }  # fmt: skip
    same("answers/problems.txt", transcript(found))


# -- the document ----------------------------------------------------------------------------------------

#: Members of the document that contain prose.
PROSE = {"description", "summary", "title"}


def test_the_openapi_document(installed):
    with installed.installation.api() as api:
        answer = api("GET", f"{BASE}/openapi.json")
    assert answer.status == 200
    document = answer.json
    same_json("openapi.json", without_prose(document))


def without_prose(value: Any, *, named: bool = False) -> Any:
    """Return ``value`` without descriptions, summaries and titles. ``named``: the members are names of fields, so a field
    called ``title`` stays."""
    if isinstance(value, list):
        return [without_prose(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: example(item)
        if name in ("example", "examples")
        else without_prose(item, named=name == "properties")
        for name, item in value.items()
        if named or name not in PROSE
    }


def example(value: Any) -> Any:
    """Return an example with the prose of problems masked."""
    if isinstance(value, list):
        return [example(item) for item in value]
    if not isinstance(value, dict):
        return value
    prose = {"detail", "summary"} | ({"title"} if "requestId" in value else set())
    return {name: MASK if name in prose else example(item) for name, item in value.items()}
