"""The jobs of an employer, and one job with its history, to people and to programs."""

import re

import pytest

from syncd.service.housekeeping import Refresher
from syncd.store import employers
from tests.sync.board import Board


async def references(browser, query):
    page = (await browser.get("/jobs" + query))[1]
    return re.findall(r"<code>([^<]+)</code>", page)


async def test_jobs_are_found_by_employer_text_and_status_in_pages(browse, world):
    feed, row = world.feeds["acme"], world.board.row
    world.board.deliver(
        feed, [row("b1", title="Crème baker"), row("b2", title="Baker"), *world.board.rows(1, 60)]
    )
    world.board.put(row("b2", title="Baker", status="archived"))
    world.board.store.write(lambda tx: employers.add(tx, "Zoo & Co"))
    browser = await browse()
    assert len(await references(browser, "")) == 50
    assert len(await references(browser, "?employer=1&page=2")) == 12
    assert set(await references(browser, "?employer=1&q=BAKER")) == {"b1", "b2"}
    assert await references(browser, "?q=creme") == ["b1"]
    assert await references(browser, "?employer=Acme+Ltd.&q=baker&status=archived") == ["b2"]
    assert await references(browser, "?q=nothing") == await references(browser, "?employer=1&page=999") == []
    page = (await browser.get("/jobs?employer=2"))[1]
    assert "Jobs of" in page
    assert "Zoo &amp; Co</option>" in page
    assert "No jobs yet" in page
    pager = re.findall(
        r'rel="next" href="([^"]+)"', (await browser.get("/jobs?employer=1&q=cook&status=active"))[1]
    )
    assert pager == ["/jobs?employer=Acme+Ltd.&amp;q=cook&amp;status=active&amp;page=2"]


async def test_one_search_looks_through_the_jobs_of_all_employers(browse, world):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 60))
    other = world.board.store.write(lambda tx: employers.add(tx, "Zoo & Co"))
    zoo = Board(world.board.store, world.board.clock, world.board.folder, other)
    for reference, title in (("z1", "Cook z1"), ("n1", "Nurse")):
        zoo.put(world.board.row(reference, title=title))
    browser = await browse()
    page = (await browser.get("/jobs?q=cook"))[1]
    assert page.count('data-label="Employer"') == 50
    assert ">60 of Acme Ltd.</a>" in page
    assert ">1 of Zoo &amp; Co</a>" in page
    assert await references(browser, "?q=z1&employer=") == ["z1"]
    assert [job["employer"]["name"] for job in (await browser.json("/jobs?q=z1"))[1]] == ["Zoo & Co"]
    assert "No job matches" in (await browser.get("/jobs?q=nothing"))[1]
    for n in range(30):
        world.board.store.write(lambda tx, n=n: employers.add(tx, f"Employer {n}"))
    page = (await browser.get("/jobs?q=cook"))[1]
    assert ">60 of Acme Ltd.</a>; 12 other employers not searched: choose one above" in page
    assert await references(browser, "?q=z1&employer=") == ["z1"]
    page = (await browser.get("/jobs"))[1]
    assert "<h1>Jobs</h1>" in page
    assert (page.count('data-label="Employer"'), ">2 of Zoo &amp; Co</a>" in page) == (50, True)


async def test_the_jobs_of_a_feed_are_listed_searched_and_paged(browse, world):
    row = world.board.row
    other = world.feed("other")
    world.board.deliver(world.feeds["acme"], [*world.board.rows(1, 60), row("x%", title="100% remote")])
    world.board.deliver(other, [row("o1")])
    world.board.put(row("r1", status="archived"))
    world.board.store.write(lambda tx: employers.add(tx, "Zoo & Co"))
    browser = await browse()
    assert await references(browser, "?feed=other") == ["o1"]
    assert len(await references(browser, "?feed=acme&page=2")) == 11
    assert await references(browser, "?feed=acme&q=%25") == ["x%"]
    assert await references(browser, "?feed=acme&status=archived") == ["r1"]
    assert "r1" not in await references(browser, "?feed=acme&status=active&limit=100")
    assert await references(browser, "?feed=acme&employer=Zoo+%26+Co") == []
    page = (await browser.get("/jobs?feed=acme&status=active"))[1]
    assert '<h1>Jobs of the feed <span class="name">acme</span></h1>' in page
    assert "<option selected>acme</option>" in page
    assert "feed=acme&amp;status=active&amp;page=2" in page
    assert [job["referenceId"] for job in (await browser.json("/jobs?feed=other"))[1]] == ["o1"]
    assert (await browser.get("/jobs?feed=nobody"))[0] == 404


async def test_a_feed_that_owns_all_jobs_of_its_employer_lists_them_as_one_that_does_not(browse, world):
    """The two have ways of their own: by the employer's lists, and by the feed's jobs."""
    row = world.board.row
    some = [*world.board.rows(1, 2), row("r3", autoRefresh=True), *world.board.rows(4, 19), row("x%")]
    world.board.deliver(world.feeds["acme"], some)
    world.board.clock.forward(days=8)
    assert Refresher(world.board.store).tick() == (1, 0)  # now the first of its list
    world.board.put(row("r1", status="archived"))
    browser = await browse()
    queries = (
        "",
        "&status=active",
        "&status=archived",
        "&q=r1",
        "&q=R1&status=archived",
        "&q=%25",
        "&q=%CC%81",
    )
    pages = [f"?feed=acme&limit=7{query}&page={number}" for query in queries for number in (1, 2, 3)]
    alone = [await references(browser, page) for page in pages]
    assert alone[:3] == [await references(browser, page.replace("feed=acme&", "")) for page in pages[:3]]
    assert alone[0][:2] == ["r3", "x%"]
    assert len(alone[0] + alone[1] + alone[2]) == 20
    world.board.put(row("own", title="R1 by hand"))
    assert [await references(browser, page) for page in pages] == alone


QUERIES = {
    400: ("?page=0", "?limit=1001", "?status=gone", "?q=" + "x" * 257),
    404: ("?employer=nobody",),
    200: ("?q=%00%1b", "?q=%25_%5C'%22", "?q=%ff%fe", "?page=2147483647"),
}


@pytest.mark.parametrize(("query", "status"), [(q, status) for status, some in QUERIES.items() for q in some])
async def test_a_query_that_is_not_one_is_refused_and_no_text_is_special(browse, world, query, status):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 2))
    browser = await browse()
    assert (await browser.get("/jobs" + query))[0] == status


async def test_a_program_names_the_employer_where_there_are_several(world, browser):
    assert (await browser.json("/jobs"))[0] == 200
    world.board.store.write(lambda tx: employers.add(tx, "Other"))
    assert (await browser.json("/jobs"))[0] == 400
    assert (await browser.json("/jobs?employer=Other"))[1] == []


async def test_a_job_is_shown_as_candidates_see_it_with_who_changed_it(browse, world, clock):
    feed, row = world.feeds["acme"], world.board.row
    world.board.deliver(
        feed, [row("r1", description="<p>Cook <b>well</b> &amp; gladly, every day of the week.</p>")]
    )
    clock.forward(hours=1)
    world.board.put(row("r1", title="Chef"))
    job = world.board.job("r1")
    browser = await browse()
    page = (await browser.get(f"/jobs/{job.id}"))[1]
    assert "<h1>Chef</h1>" in page
    assert "<dt>title</dt><dd><del>Cook r1</del> → <ins>Chef</ins></dd>" in page
    assert '<a href="/runs/1">Run 1</a> of <span class="name">acme</span>' in page
    assert "key 1" in page
    assert "Montréal, QC" in page
    view = (await browser.json(f"/jobs/{job.id}"))[1]
    assert (view["job"]["title"], view["historyPaging"]["total"]) == ("Chef", 2)
    changed, created = view["history"]
    assert changed["changedBy"] == {"kind": "key", "id": 1, "label": None}
    assert changed["changes"][0] == {"field": "title", "before": "Cook r1", "after": "Chef"}
    assert (created["action"], created["changedBy"]) == ("created", {"kind": "run", "id": 1, "label": "acme"})


async def test_a_deleted_job_has_its_history_and_a_long_history_has_pages(browse, world):
    row = world.board.row
    for number in range(24):
        job = world.board.put(row("r1", title=f"Cook {number}"))
    world.board.delete("r1")
    browser = await browse()
    page = (await browser.get(f"/jobs/{job.id}"))[1]
    assert "The job was deleted" in page
    assert "Cook 23" in page
    second = (await browser.get(f"/jobs/{job.id}?page=2"))[1]
    assert ("Page 2 of 2" in second, "Cook 0" in second, "Cook 23" in second) == (True, True, False)
    assert "No change is on this page" in (await browser.get(f"/jobs/{job.id}?page=9"))[1]
    assert (await browser.json(f"/jobs/{job.id}"))[1]["job"] is None


async def test_a_description_has_its_tags_alone_each_of_them_closed(browse, world):
    text = (
        '<p>Look</p></div></div><ul><li>one<a href="https://example.com/?a=&quot;&gt;b" target="_top">here</a>'
        "<p><b>never closed and long enough to be taken as the description of a job"
    )
    job = world.board.put(world.board.row("A-1", description=text))
    browser = await browse()
    page = (await browser.get(f"/jobs/{job.id}"))[1]
    posting = re.findall(r'<div class="posting">(.*?)</div>\n', page, re.DOTALL)[0]
    assert (posting.count("<div"), posting.count("</div"), posting.count("<b>"), posting.count("</b>")) == (
        0, 0, 1, 1,
    )  # fmt: skip
    assert 'rel="noopener noreferrer nofollow">here</a>' in posting
    assert "target=" not in posting


async def test_a_description_of_a_megabyte_is_cut(browse, world):
    job = world.board.put(world.board.row("A-1", description="<div>" * 100_000 + "words " * 50_000))
    browser = await browse()
    status, page, _ = await browser.get(f"/jobs/{job.id}")
    assert (status, len(page) < 60_000) == (200, True)
    assert "The first 20,000 of 800,000 characters" in page
