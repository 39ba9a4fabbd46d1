"""Two tables that must be complete, each tried over HTTP: the limits, and the sentences that are easy to miss
(docs/specification.md 8 and "Sentences that are easy to miss")."""

from datetime import timedelta
from typing import Any

import pytest

from syncd.api.app import ROUTES
from syncd.domain import Catalogue
from syncd.errors import ConfigError, Invalid
from syncd.service.housekeeping import Refresher
from syncd.store import employers

ROCKET = "\U0001f680"  # outside the Basic Multilingual Plane
HAN = "\U00020000"  # a letter there
URL = {"applicantRoutingType": {"id": 2}}
LONG_NAME = "Newfoundland and Labrador"


def places(count: int) -> list[dict[str, str]]:
    return [{"description": name} for name in ("Calgary, AB", "Ottawa, ON", "Halifax, NS", "Toronto, ON")][
        :count
    ]


def ids(count: int) -> list[dict[str, int]]:
    return [{"id": number} for number in range(1, count + 1)]


def email(length: int, letter: str = "a") -> str:
    return letter * (length - len("@example.com")) + "@example.com"


def url(length: int, letter: str = "p") -> str:
    return "https://x.example/" + letter * (length - len("https://x.example/"))


def place(length: int, letter: str = "C") -> list[dict[str, str]]:
    """Return a location description of ``length`` characters. Spaces inside count, and are dropped later."""
    city = letter * 100
    return [{"description": f"{city},{' ' * (length - len(city) - 1 - len(LONG_NAME))}{LONG_NAME}"}]


#: Row of docs/specification.md 8 → bodies, and whether each is accepted: below, at and above the limit, and
#: in characters of four bytes.
BODIES: dict[str, list[tuple[dict[str, Any], bool]]] = {
    "Locations per job": [({"locations": places(n)}, 1 <= n <= 3) for n in range(5)],
    "Categories per job": [({"categories": ids(n)}, 1 <= n <= 3) for n in range(5)],
    "referenceId": [({"referenceId": c * n}, n <= 50) for n in (49, 50, 51) for c in ("r", ROCKET)],
    "title": [({"title": c * n}, n <= 256) for n in (255, 256, 257) for c in ("t", ROCKET)],
    "applicationEmail": [
        ({"applicationEmail": email(n, c)}, n <= 50) for n in (49, 50, 51) for c in ("a", HAN)
    ],
    "applicationUrl": [
        ({**URL, "applicationUrl": url(n, c)}, n <= 200) for n in (199, 200, 201) for c in ("p", ROCKET)
    ],
    "status": [
        ({"status": s}, s in ("active", "archived", "draft"))
        for s in ("active", "archived", "draft", "archivedx", "archivedxx", "archivedxxx", ROCKET * 10)
    ],
    "location name": [
        ({"locations": [{"description": c * n + ", AB"}]}, n <= 256)
        for n in (255, 256, 257)
        for c in ("C", HAN)
    ],
    "location description": [
        ({"locations": place(n, c)}, n <= 300) for n in (299, 300, 301) for c in ("C", HAN)
    ],
}
CASES = [(row, change, good) for row, cases in BODIES.items() for change, good in cases]


@pytest.mark.parametrize(("row", "change", "good"), CASES, ids=lambda value: str(value)[:40])
async def test_a_limit_holds_below_at_and_above_it(api, row, change, good):
    answer = await api.post(api.body(**change))
    assert (answer.status == 201) == good, (row, answer.raw)
    if not good:
        (fault,) = {pointer.split("/")[1] for pointer, _ in answer.faults}
        assert fault in change
        return
    back = (await api.get(f"/jobs/{answer.json['id']}")).json
    for name in change.keys() & {"referenceId", "title", "applicationEmail", "applicationUrl", "status"}:
        assert back[name] == change[name]
    if row == "location name":
        assert back["locations"][0]["name"] == change["locations"][0]["description"].removesuffix(", AB")
    if row == "location description":
        city = change["locations"][0]["description"].partition(",")[0]
        assert back["locations"][0]["description"] == f"{city}, NL"


async def test_the_default_lifetime_is_60_days_from_publication(api):
    """Row: Default job lifetime. The last live day is the sixtieth after."""
    job = await api.create(closeDate=...)
    assert (job["publishDate"], job["closeDate"]) == ("2026-11-16", "2027-01-15")
    refresher = Refresher(api.store, every=timedelta(days=7), archive_closed=True)
    for days, status in ((59, "active"), (1, "active"), (1, "archived")):
        api.clock.forward(days=days)
        refresher.tick()
        assert (await api.get(f"/jobs/{job['id']}")).json["status"] == status


@pytest.mark.parametrize("letter", ["E", ROCKET])
async def test_an_employers_name_has_at_most_128(api, letter):
    """Row: employer name."""
    for length in (127, 128):
        job = await api.as_employer(letter * length).create()
        assert job["employer"]["name"] == letter * length
    with pytest.raises(Invalid):
        api.store.write(lambda tx: employers.add(tx, letter * 129))


@pytest.mark.parametrize(
    ("kind", "path", "limit"), [("categories", "categories", 40), ("position_types", "positiontypes", 10)]
)
@pytest.mark.parametrize("letter", ["N", HAN])
async def test_names_of_catalogues_have_their_limits(serve, kind, path, limit, letter):
    """Rows: category name, position type name."""
    names: Any = {kind: {100: letter * (limit - 1), 101: letter * limit}}
    async with serve(catalogue=Catalogue.default().extended(**names)) as api:
        for id, name in names[kind].items():
            assert (await api.get(f"/{path}/{id}")).json == {"id": id, "name": name}
    too_long: Any = {kind: {102: letter * (limit + 1)}}
    with pytest.raises(ConfigError, match=f"at most {limit}"):
        Catalogue.default().extended(**too_long)


async def test_fixed_names_are_within_their_limits(api):
    """Rows: salary period name and unit, applicant routing type name, location type: what ships."""
    for kind in ("salaryperiods", "applicantroutingtypes"):
        for entry in (await api.get(f"/{kind}")).json["data"]:
            assert all(1 <= len(entry[name]) <= 50 for name in entry.keys() - {"id"})
    found = (await api.get("/locations?pageSize=100")).json["data"]
    assert {entry["type"] for entry in found} == {"city"}


# --- sentences that are easy to miss

NONE = ["", None]


@pytest.mark.parametrize("none", NONE)
async def test_both_forms_of_no_reference_are_none_everywhere(api, none):
    first, second = [await api.create(referenceId=none) for _ in range(2)]
    assert first["referenceId"] is None
    assert first["id"] != second["id"]
    for answer in (
        await api.put("/jobs", api.body(referenceId=none)),
        await api.delete("/jobs", {"referenceId": none}),
    ):
        assert answer.faults == [("/referenceId", "required")]
    named = await api.create(referenceId="R")
    assert (await api.put(f"/jobs/{named['id']}", {"referenceId": none})).json["referenceId"] is None


# --- every address

#: Ids that are not 1.
WHERE = {"/locations/1": "/locations/5913490"}


def address(path: str) -> str:
    found = path.replace("{id}", "1")
    return WHERE.get(found, found)


@pytest.mark.parametrize("path", ROUTES)
async def test_every_address_answers_options_head_and_what_it_does_not_take(api, path):
    await api.create()
    here, methods = address(path), set(ROUTES[path])
    allowed = ", ".join(sorted({*methods, "OPTIONS", *({"HEAD"} if "GET" in methods else set())}))
    options = await api("OPTIONS", here)
    assert (options.status, options.headers["Allow"]) == (204, allowed)
    for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"} - methods:
        refused = await api(method, here)
        assert (refused.code, refused.headers["Allow"]) == ("method_not_allowed", allowed)
    if "GET" in methods:
        read, head = await api.get(here), await api("HEAD", here)
        assert (head.status, head.raw) == (200, b"")
        changing = {"date", "x-request-id"}
        kept = [
            {k: v for k, v in answer.headers.items() if k.lower() not in changing} for answer in (read, head)
        ]
        assert kept[0] == kept[1]


@pytest.mark.parametrize("path", ["/jobs", "/locations"])
async def test_a_list_names_its_pages_in_a_link_header(api, path):
    job = await api.create()
    for number in range(2):
        await api.create()
        await api.put(f"/jobs/{job['id']}", {"title": f"Title {number}"})
    answer = await api.get(f"{path}?pageSize=1&page=2")
    paging = answer.json["paging"]
    named = dict(reversed(part.split("; rel=")) for part in answer.headers["Link"].split(", "))
    assert named['"next"'] == f"<{paging['next']}>"
    assert named['"prev"'] == f"<{paging['previous']}>"
    assert named['"first"'] == f"<{paging['previous']}>"
    assert named['"last"'].endswith(f"pageSize=1&page={paging['pages']}>")
    first = (await api.get(f"{path}?pageSize=1")).headers["Link"]
    assert '"prev"' not in first
    beyond = (await api.get(f"{path}?page=99999")).headers["Link"]
    assert '"next"' not in beyond
