"""GET /jobs: order, filters, pages, and the addresses of pages (docs/specification.md 2.7, 2.8, 4.7)."""

import asyncio
import re
import threading
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from syncd.store import jobs
from tests.api.client import ApiClient


async def listed(api: ApiClient, query: str = "") -> list[str]:
    """The titles on a page."""
    answer = await api.get(f"/jobs{query}")
    assert answer.status == 200, answer.raw
    return [header["title"] for header in answer.json["data"]]


async def test_a_header_has_the_eight_fields_of_the_job(api):
    job = await api.create(referenceId="A-1")
    (header,) = (await api.get("/jobs")).json["data"]
    names = ["id", "referenceId", "employer", "title", "publishDate", "locations", "confidential", "status"]
    assert header == {name: job[name] for name in names}


async def test_the_latest_published_comes_first_also_within_a_day(api):
    for title in ("first", "second", "third"):
        await api.create(title=title)
        api.clock.forward(minutes=1)
    draft = await api.create(title="draft", status="draft")
    assert await listed(api) == ["draft", "third", "second", "first"]
    await api.create(title="newest")
    api.clock.forward(days=1)
    await api.put(f"/jobs/{draft['id']}", {"status": "active"})
    assert await listed(api) == ["draft", "newest", "third", "second", "first"]


async def test_what_was_acknowledged_is_read_at_once(api):
    async def edit_and_look(reference: str) -> None:
        for turn in range(10):
            body = api.body(referenceId=reference, title=f"{reference} {turn}")
            job = (await api.put("/jobs", body)).json
            assert (await api.get(f"/jobs/{job['id']}")).json == job
            assert job["title"] in await listed(api)

    await asyncio.gather(*(edit_and_look(f"R{number}") for number in range(8)))


@pytest.mark.parametrize("query", ["?q=cook", "?q=co", "?q=cook&page=2&status=active", "?page=2000"])
async def test_a_long_search_delays_no_other_request(api, monkeypatch, query):
    job = await api.create()
    searching, found = threading.Event(), threading.Event()

    def search(*_: object, **__: object) -> tuple[int, list[object]]:
        searching.set()
        assert found.wait(10)
        return 0, []

    monkeypatch.setattr(jobs, "page", search)
    answer = asyncio.ensure_future(api.get(f"/jobs{query}"))
    assert await asyncio.to_thread(searching.wait, 10)
    assert (await api.get(f"/jobs/{job['id']}")).status == 200
    assert not answer.done()
    found.set()
    assert (await answer).status == 200


async def test_jobs_of_one_instant_come_by_descending_id(api):
    for n in range(12):
        await api.create(title=str(n))
    assert await listed(api, "?pageSize=100") == [str(n) for n in range(11, -1, -1)]


@pytest.mark.parametrize(
    ("q", "titles"),
    [
        ("", ["Línea 100% _x_ \\o/", 'Chef\'s "Table"', "CUISINIER À MONTRÉAL"]),
        ("cuisinier", ["CUISINIER À MONTRÉAL"]),
        ("a montreal", ["CUISINIER À MONTRÉAL"]),
        ("linea", ["Línea 100% _x_ \\o/"]),
        ("lÍñêA", ["Línea 100% _x_ \\o/"]),
        ("ÇHÈF", ['Chef\'s "Table"']),
        ("rÉf-2", ['Chef\'s "Table"']),
        ("\n", []),
        ("montreal\nref", []),
        ("montréalref", []),
        ("%", ["Línea 100% _x_ \\o/"]),
        ("_", ["Línea 100% _x_ \\o/"]),
        ("\\", ["Línea 100% _x_ \\o/"]),
        ("'", ['Chef\'s "Table"']),
        ('"table', ['Chef\'s "Table"']),
        ("REF-2", ['Chef\'s "Table"']),
        ("ref-", ["Línea 100% _x_ \\o/", 'Chef\'s "Table"', "CUISINIER À MONTRÉAL"]),
        ("*", []),
        ("c.isinier", []),
        ("x' OR '1'='1", []),
        ("\x00", []),
        ("😀", []),
    ],
)
async def test_q_is_a_literal_piece_of_title_or_reference(api, q, titles):
    for n, title in enumerate(("CUISINIER À MONTRÉAL", 'Chef\'s "Table"', "Línea 100% _x_ \\o/"), 1):
        await api.create(title=title, referenceId=f"Ref-{n}")
    assert await listed(api, f"?q={quote(q)}") == titles


@pytest.mark.parametrize("path", ["/jobs", "/locations"])
@pytest.mark.parametrize("q", ["x" * 7_000, "%25" * 2_000, quote("\ufdfa") * 500])
async def test_q_may_be_as_long_as_an_address_can_be(api, path, q):
    await api.create()
    assert (await api.get(f"{path}?q={q}")).json["data"] == []


async def test_a_q_too_long_for_a_link_header_is_repeated_in_the_paging_object(api):
    title = "\U0001f680" * 256
    for _ in range(2):
        await api.create(title=title)
    path = f"/jobs?q={quote(title)}&pageSize=1"
    answer = await api.get(path)
    assert "Link" not in answer.headers
    following = answer.json["paging"]["next"]
    assert following == str(api.client.make_url("/api/v1.1")) + path + "&page=2"
    assert "Link" in (await api.get("/jobs?q=e&pageSize=1")).headers


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("?status=active", ["A2", "A1"]),
        ("?status=draft", ["D"]),
        ("?status=archived", ["X"]),
        ("?status=", ["X", "D", "A2", "A1"]),
        ("?page=", ["X", "D", "A2", "A1"]),
        ("?q=&page=&pageSize=&status=", ["X", "D", "A2", "A1"]),
        ("?pageSize=2147483647", ["X", "D", "A2", "A1"]),
        ("?unheard=1&unheard=2", ["X", "D", "A2", "A1"]),
        ("?status=active&q=a1", ["A1"]),
        ("?Status=draft&callback=x&_=17", ["X", "D", "A2", "A1"]),
    ],
)
async def test_filters_narrow_and_unknown_parameters_do_nothing(api, query, titles):
    for title, status in (("A1", "active"), ("A2", "active"), ("D", "draft"), ("X", "archived")):
        await api.create(title=title, status=status)
    answer = await api.get(f"/jobs{query}")
    assert [header["title"] for header in answer.json["data"]] == titles
    assert answer.json["paging"]["total"] == len(titles)


@pytest.mark.parametrize(
    "query",
    (
        "pageSize=0 pageSize=-1 pageSize=ten pageSize=1.0 pageSize=1e1 pageSize=%2B5 pageSize=+5 "
        "pageSize=%D9%A3 pageSize=2147483648 pageSize=99999999999999999999999 page=0 page=-1 page=x "
        "page=2147483648 page=0x1 page=1_0 status=Active status=gone status=active,draft q=a&q=b "
        "page=1&page=1 status=active&status= pageSize=5&page%53ize=5 q=%FF q=%ED%A0%80"
    ).split(),
)
async def test_a_parameter_that_cannot_be_used_is_a_400(api, query):
    answer = await api.get(f"/jobs?{query}")
    assert (answer.status, answer.code) == (400, "invalid_parameter")
    assert answer.json["detail"].startswith(("pageSize", "page", "status", "q ", "the query is not UTF-8"))


async def test_an_empty_list_has_no_pages(api):
    assert (await api.get("/jobs")).json == {
        "data": [],
        "paging": {"total": 0, "page": 1, "pages": 0, "pageSize": 10, "previous": None, "next": None},
    }


@pytest.mark.parametrize("query", ["", "?q=nobody", "?page=3"])
async def test_an_empty_list_links_to_pages_that_there_are(api, query):
    link = (await api.get(f"/jobs{query}")).headers["Link"]
    assert 'rel="next"' not in link
    for address in re.findall(r"<([^>]+)>", link):
        answer = await api.get(address.partition("/api/v1.1")[2])
        assert (answer.status, answer.json["paging"]["page"]) == (200, 1)


async def test_pages_name_their_neighbours_and_the_largest_page_number_is_fine(api):
    for n in range(5):
        await api.create(title=f"Job {n}")

    async def around(page: int) -> tuple[object, ...]:
        paging = (await api.get(f"/jobs?pageSize=2&page={page}")).json["paging"]
        assert (paging["total"], paging["pages"], paging["pageSize"]) == (5, 3, 2)
        return paging["page"], number(paging["previous"]), number(paging["next"])

    assert [await around(page) for page in (1, 2, 3, 9, 2**31 - 1)] == [
        (1, None, 2),
        (2, 1, 3),
        (3, 2, None),
        (9, 3, None),
        (2**31 - 1, 3, None),
    ]
    assert await listed(api, "?pageSize=2&page=9") == []


def number(address: str | None) -> int | None:
    return None if address is None else int(parse_qs(urlsplit(address).query)["page"][0])


async def test_following_next_visits_every_job_once_with_the_same_filters(api):
    for n in range(7):
        await api.create(title=f"Job & Söhne +{n}", status="draft" if n == 3 else "active")
    root = str(api.client.make_url("/api/v1.1"))
    path: str | None = "/jobs?q=" + quote("& söhne +") + "&status=active&pageSize=2&ignored=1"
    seen, pages = [], 0
    while path is not None:
        answer = (await api.get(path)).json
        seen += [header["title"][-1] for header in answer["data"]]
        pages += 1
        following = answer["paging"]["next"]
        if following is not None:
            assert following.startswith(root + "/jobs?")
            asked = parse_qs(urlsplit(following).query)
            assert asked == {
                "q": ["& söhne +"],
                "status": ["active"],
                "pageSize": ["2"],
                "page": [str(pages + 1)],
            }
        path = following and following.removeprefix(root)
    assert (seen, pages) == (list("654210"), 3)


@pytest.mark.parametrize(
    ("settings", "headers", "origin"),
    [
        ({}, {"Host": "jobs.example:8443"}, "http://jobs.example:8443/api/v1.1"),
        ({}, {"Host": "[::1]:80"}, "http://[::1]:80/api/v1.1"),
        ({"public_url": "https://jobs.example"}, {"Host": "inside"}, "https://jobs.example/api/v1.1"),
        ({}, {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example"}, "http://127.0.0.1:{port}/api/v1.1"),
        (
            {"trusted_proxies": ("127.0.0.0/8",)},
            {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "jobs.example, inner"},
            "https://jobs.example/api/v1.1",
        ),
        ({"trusted_proxies": ("127.0.0.1",)}, {"X-Forwarded-Proto": "gopher"}, "http://127.0.0.1:{port}/api/v1.1"),
        (
            {"trusted_proxies": ("10.0.0.0/8",)},
            {"X-Forwarded-Host": "jobs.example"},
            "http://127.0.0.1:{port}/api/v1.1",
        ),
    ],
)  # fmt: skip
async def test_absolute_addresses_are_those_of_the_outside(serve, settings, headers, origin):
    async with serve(**settings) as api:
        origin = origin.format(port=api.port)
        created = await api.post(api.body(), headers=headers)
        assert created.headers["Location"] == f"{origin}/jobs/{created.json['id']}"
        replaced = await api.put("/jobs", api.body(referenceId="A-1"), headers=headers)
        assert replaced.headers["Location"] == f"{origin}/jobs/{replaced.json['id']}"
        paging = (await api.get("/jobs?pageSize=1", headers=headers)).json["paging"]
        assert paging["next"] == f"{origin}/jobs?pageSize=1&page=2"


@pytest.mark.parametrize("host", ["a b", 'x"><script>', "x/../y", "a@b", "[::1", "a:b:c"])
async def test_an_invalid_host_is_not_repeated(api, host):
    answer = await api.post(api.body(), headers={"Host": host})
    assert (answer.status, answer.code) == (400, "malformed_request")
    assert answer.json["detail"] == "the Host header names no host"
    assert (await api.get("/jobs")).json["paging"]["total"] == 0


async def test_a_wrong_host_of_a_proxy_is_reported_as_such(serve):
    async with serve(trusted_proxies=("127.0.0.1",)) as api:
        answer = await api.get("/jobs", headers={"X-Forwarded-Host": "a b"})
        assert answer.json["detail"] == "the X-Forwarded-Host header names no host"


async def test_a_search_finds_what_was_acknowledged(api):
    """Clients of two employers search, write and search again, beside each other."""

    async def found(client: ApiClient, query: str) -> tuple[int, list[int]]:
        answer = (await client.get(f"/jobs?{query}")).json
        return answer["paging"]["total"], [header["id"] for header in answer["data"]]

    async def edit_and_search(client: ApiClient, name: str) -> None:
        ids = [(await client.create(title=f"{name} {number}"))["id"] for number in range(3)]
        for turn in range(4):
            for job_id in ids:
                old, new = await found(client, f"q={name}"), await found(client, f"q=new+{name}")
                assert await found(client, f"q={name}") == old == (3, sorted(ids, reverse=True))
                assert await found(client, f"q={name}&page=2&pageSize=2") == (3, old[1][2:])
                await client.put(f"/jobs/{job_id}", {"title": f"new {name} {turn}"})
                total, now = await found(client, f"q=new+{name}+{turn}")
                assert job_id in now
                assert total == len(now) == ids.index(job_id) + 1
                assert (await found(client, f"q=new+{name}"))[0] == min(3, new[0] + 1)
        await client.delete(f"/jobs/{ids[0]}")
        assert await found(client, f"q={name}") == (2, sorted(ids[1:], reverse=True))

    other = api.as_employer("Other")
    await asyncio.gather(
        *(edit_and_search(client, name) for client in (api, other) for name in ("baker", "miller", "cook"))
    )
