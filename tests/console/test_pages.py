"""What the pages show, to people and to programs."""

import re
from base64 import b64encode
from dataclasses import replace
from datetime import date, timedelta
from hashlib import sha256
from html import unescape
from typing import Any

import pytest

from syncd.console.charts import PARTS, job_chart
from syncd.console.pages.run_pages import LARGE
from syncd.console.rendering import duration, lateness, make_environment, when
from syncd.domain import FeedWarning, RejectedRow, RunState, UnknownValues
from syncd.errors import Problem
from syncd.feeds.configuration import FeedFile
from syncd.store import feeds, jobs, run_results, runs
from syncd.views import shown
from tests.clock import START, ZONE


async def test_an_empty_service_says_what_to_do_next(browse, world):
    world.feeds.clear()
    world.files.clear()
    browser = await browse()
    assert "syncd feed new NAME --from FILE" in (await browser.get("/"))[1]
    assert "Drop a file into a feed&#39;s folder" in (await browser.get("/runs"))[1].replace("'", "&#39;")


async def test_feeds_that_need_a_look_come_first(browse, world, clock):
    for name in ("bare", "calm", "late", "paused", "zero"):
        world.feed(name, 'expect_every = "1d"' if name == "late" else "")
    for name in ("late", "calm", "zero"):
        world.board.deliver(world.feeds[name], [world.board.row(name)])
    world.board.store.write(lambda tx: feeds.pause(tx, "paused", "they <send> nonsense"))
    world.files["bare"] = FeedFile("bare", None, ("bare.toml: employer: missing",))
    clock.forward(days=2)
    browser = await browse()
    page = (await browser.get("/"))[1]
    order = re.findall(r'class="name" href="/feeds/(\w+)"', page)
    assert order == ["bare", "late", "paused", "acme", "calm", "zero"]
    assert "2 feeds need somebody: bare is degraded, late is overdue" in page
    assert "bare.toml: employer: missing" in page
    assert "they &lt;send&gt; nonsense" in page
    assert "1 day ago" in page  # when a file of late was expected
    assert 'aria-label="The last 1 run: 1 succeeded"' in page


async def test_each_page_of_feeds_has_their_active_jobs(browse, world):
    for number in range(25):
        world.feed(f"feed{number:02}")
    world.board.deliver(world.feeds["feed00"], world.board.rows(1, 3))
    world.board.deliver(world.feeds["feed24"], world.board.rows(4, 5))
    browser = await browse()
    pages = [(await browser.get(f"/?page={page}"))[1] for page in (1, 2)]
    found = [re.findall(r'data-label="Active jobs"><span class="trend"><span>(\d+)<', page) for page in pages]
    assert found == [["0", "3", *["0"] * 18], [*["0"] * 5, "2"]]
    active = {feed["name"]: feed["activeJobs"] for feed in (await browser.json("/"))[1]}
    assert {name: number for name, number in active.items() if number} == {"feed00": 3, "feed24": 2}


async def test_a_page_of_the_overview_stays_small_with_many_feeds_and_runs(browse, world):
    def add_runs(tx):
        for name in names:
            feed_id = feeds.feed_id(tx, name, world.board.employer.id)
            for _ in range(40):
                run = runs.begin(tx, feed_id, world.board.employer.id, "jobs.xml", 1, None)
                reason = "100,000 of 850,000 active jobs are missing, more than 25 %"
                runs.save(tx, replace(run, state=RunState.SUPERSEDED, reason=reason, ended_at=tx.now.instant))

    names = [f"partner-with-a-long-name-{number:03}" for number in range(60)]
    for name in names:
        world.feed(name)
    world.board.store.write(add_runs)
    browser = await browse()
    content = (await browser.get("/"))[1]
    strips = re.findall(r'class="strip".*?</svg>', content)
    assert [len(re.findall(r"M\d", strip)) for strip in strips] == [30] * 19  # acme has no runs
    assert len(content.encode()) < 60_000


async def test_runs_are_listed_by_feed_and_state_in_pages(browse, world):
    other = world.feed("other")
    for number in range(3):
        world.board.deliver(world.feeds["acme"], world.board.rows(1, number + 1))
    world.board.deliver(other, [world.board.row("o1")])
    browser = await browse()

    async def numbers(query):
        page = (await browser.get("/runs" + query))[1]
        return [int(number) for number in re.findall(r">Run (\d+)<", page)]

    assert await numbers("") == [4, 3, 2, 1]
    assert await numbers("?feed=acme") == [3, 2, 1]
    assert await numbers("?feed=acme&state=succeeded&limit=2") == [3, 2]
    assert await numbers("?limit=3&page=2") == [1]
    assert "/runs?limit=2&amp;page=2" in (await browser.get("/runs?limit=2"))[1]
    assert await numbers("?state=held") == []
    page = (await browser.get("/runs"))[1]
    assert re.findall(r'href="/feeds/(\w+)"', page) == ["other", "acme", "acme", "acme"]
    assert (await browser.get("/runs?feed=nobody"))[0] == 404
    for query in ("?page=0", "?page=x", "?limit=1001", "?state=unknown", "?page=99999999999999999999"):
        assert (await browser.get("/runs" + query))[0] == 400


async def test_a_run_shows_its_changes_field_by_field_and_by_action(browse, world):
    feed, row = world.feeds["acme"], world.board.row
    world.board.deliver(feed, world.board.rows(1, 60))
    world.board.deliver(feed, [row("r1", title="Baker"), *world.board.rows(2, 61)])
    browser = await browse()
    page = (await browser.get("/runs/2"))[1]
    assert "<dt>title</dt><dd><del>Cook r1</del> → <ins>Baker</ins></dd>" in page
    created = (await browser.get("/runs/2?action=created"))[1]
    assert ("r61" in created, "Baker" in created) == (True, False)
    last = (await browser.get("/runs/1?page=3"))[1]
    assert (last.count(">created</td>"), "Page 3 of 3" in last) == (10, True)


async def test_a_large_run_has_the_numbers_of_its_changes_unless_it_was_cut_off(browse, world):
    run = world.board.deliver(world.feeds["acme"], world.board.rows(1, LARGE))
    browser = await browse()
    page = (await browser.get("/runs/1"))[1]
    assert all(text in page for text in ("Changes: 10,000", ">created 10,000</a>", "Page 1 of 400"))
    world.board.store.write(lambda tx: runs.save(tx, replace(run, attempt=2)))
    page = (await browser.get("/runs/1"))[1]
    assert all(text in page for text in ("Changes: 10,000", ">created</a>", "Page 1 of 400"))
    filtered = (await browser.get("/runs/1?action=created&page=400"))[1]
    assert filtered.count(">created</td>") == 25
    assert (await browser.get("/runs/1?action=archived"))[1].count(">archived</td>") == 0


async def test_rejected_rows_are_grouped_by_kind_and_value(browse, world):
    feed, row = world.feeds["acme"], world.board.row
    rows = [row(f"x{n}", applicationEmail=f"wrong{n % 2}") for n in range(4)] + world.board.rows(1, 60)
    world.board.deliver(feed, rows)
    browser = await browse()
    page = (await browser.get("/runs/1"))[1]
    assert "Rejected rows: 4" in page
    assert '<span class="n">4 ×</span>/applicationEmail: <code>invalid_email</code>' in page
    assert page.count("<code>wrong0</code>") == page.count("<code>wrong1</code>") == 1


async def test_the_file_and_the_report_of_a_run_are_downloads(browse, world):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 2))
    browser = await browse()
    _, content, answer = await browser.get("/runs/1/file")
    assert content.startswith("[{")
    assert answer.headers["Content-Disposition"] == "attachment; filename*=UTF-8''jobs.json"
    status, page, answer = await browser.get("/runs/1/report.html")
    assert (status, "All 2 rows went in" in page) == (200, True)
    (world.board.folder / "drop" / "acme" / "done" / "1-jobs.json").unlink()
    assert (await browser.get("/runs/1/file"))[0] == 404


#: Addresses that are not pages: those for programs, and the API's.
OTHERS = {"/readyz", "/metrics", "http://127.0.0.1:8080/docs"}


@pytest.mark.parametrize("prefix", ["", "/operator"])
async def test_every_link_of_a_page_leads_somewhere(browse, world, prefix):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 60))
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 8))
    browser = await browse(prefix)
    todo, seen = [prefix + "/"], set()
    while todo:
        path = todo.pop()
        seen.add(path)
        status, page, answer = await browser.get(path)
        assert status == 200, path
        if answer.content_type == "text/html" and "Content-Disposition" not in answer.headers:
            links = {*re.findall(r'(?:href|action)="([^"#]+)', page.replace("&amp;", "&"))} - seen - OTHERS
            todo += [link for link in links if not link.endswith(("/logout", "/pause"))]
    assert all(path.startswith(prefix + "/") for path in seen)
    assert {prefix + place for place in ("/runs/2/approve", "/runs/1/revert", "/runs/1?page=2")} <= seen


async def test_the_pages_below_a_prefix_have_a_way_in_without_the_slash(browse, world):
    browser = await browse("/operator")
    status, _, answer = await browser.get("/operator")
    assert (status, answer.headers["Location"]) == (308, "/operator/")
    assert answer.headers.get("Set-Cookie") is None
    assert (await browser.get("/operator/"))[2].cookies["syncd_operator"]["path"] == "/operator"


async def test_a_program_gets_json_and_no_cookie(browse, world):
    world.hold()
    browser = await browse()
    assert (await browser.json("/runs/1/revert"))[1]["counts"]["archived"] == 30
    assert (await browser.json("/runs/9"))[0] == 404
    answer = await browser.client.get("/", headers={"Accept": "application/json"})
    assert "Set-Cookie" not in answer.headers


async def test_a_report_names_the_stylesheet_inside_it_by_its_hash(browse, world):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 2))
    report = (await (await browse()).get("/runs/1/report.html"))[1]
    (style,) = re.findall(r"<style>(.*)</style>", report, re.DOTALL)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in unescape(report)
    assert " style=" not in report


def test_the_jobs_of_a_day_are_noted_once(world, clock):
    store = world.board.store
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 3))
    for _ in range(2):
        store.write(jobs.note_day)
    clock.forward(days=1)
    world.board.delete("r1")
    store.write(jobs.note_day)
    noted = store.read(lambda tx: jobs.days_since(tx, clock.today - timedelta(days=1)))
    assert [day["active"] for day in noted.values()] == [3, 2]


async def test_the_active_jobs_of_each_feed_are_noted_at_the_beginning_of_a_day_and_drawn(
    browse, world, clock
):
    store, active = world.board.store, []
    world.feed("zero")
    for day in range(33):
        world.board.deliver(world.feeds["acme"], world.board.rows(1, 3 + day))
        active.append(3 + day)
        for _ in range(2):  # once a day
            store.write(feeds.note_day)
        clock.forward(days=1)
    days = store.read(lambda tx: feeds.active_by_day(tx, ["acme", "zero"]))
    assert (set(days["zero"].values()), list(days["acme"].values())) == ({0}, active[-feeds.DAYS :])
    page = (await (await browse()).get("/feeds"))[1]
    (line,) = re.findall(r'<svg class="line".*?</svg>', page)
    assert "<title>6 on 19 November, 35 now, at most 35</title>" in line
    assert (len(re.findall("[ML]", line)), page.count('class="trend"')) == (feeds.DAYS + 1, 2)


def test_a_chart_begins_with_the_first_day_that_is_known_and_fills_gaps():
    today = date(2026, 11, 16)
    days = {today - timedelta(days=9): {"active": 10}, today: {"active": 5, "archived": 5}}
    chart = job_chart(days, today)
    assert 'aria-label="Jobs by status since 7 November: now 5 active, 0 draft, 5 archived"' in chart
    assert chart.count("<path") == 2
    # ten days of 8 units, at full height
    assert 'viewBox="0 0 80 160"' in chart
    assert 'd="M0 4.0h8v156.0h-8zM8 4.0h8v156.0h-8z' in chart
    assert job_chart({}, today) == ""
    assert job_chart({today: {"active": 7}}, today) == ""  # a single day
    assert job_chart({today - timedelta(days=1): {"active": 0}, today: {"active": 0}}, today) == ""


def test_a_bar_has_a_part_for_each_action_and_says_it_in_words(world):
    parts: Any = make_environment(world.settings, "").get_template("parts.html.j2").module
    bar = parts.bar_of
    none = dict.fromkeys(PARTS, 0)
    shown = bar({**none, "created": 750, "rejected": 250})
    assert 'aria-label="750 created, 250 rejected"' in shown
    assert 'class="good" x="0.0" width="750.0"' in shown
    assert 'class="bad" x="750.0" width="250.0"' in shown
    assert "svg" not in bar(none)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "40 ms"), (2.5, "2.5 s"), (42, "42 s"), (60, "1 minute"), (7300, "2 hours"), (90_000, "1 day")],
)
def test_durations_are_short(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        ("2026-11-16T16:00:00Z", "today 11:00"),
        ("2026-11-16T04:59:00Z", "yesterday 23:59"),
        ("2026-03-08T07:30:00Z", "8 Mar 03:30"),
        ("2025-12-31T12:00:00Z", "31 Dec 2025 07:00"),
    ],
)
def test_times_are_in_the_zone_of_the_service_with_the_exact_instant_on_hover(instant, text):
    assert when(instant, ZONE, START) == f'<time datetime="{instant}" title="{instant}">{text}</time>'


def test_values_are_one_line():
    late = '<time datetime="2026-11-16T18:00:00Z" data-relative>in 1 hour</time>'
    assert lateness("2026-11-16T18:00:00Z", START) == late
    assert shown([{"description": "Toronto, ON"}, {"id": 1, "name": "Welding"}]) == "Toronto, ON, Welding"
    assert shown(None) == "none"
    salary = {"amount": 23, "max": None, "period": {"id": 5, "name": "Hourly"}}
    assert shown(salary) == "amount 23, period Hourly"
    assert shown("x" * 300).endswith("… (300 characters)")


async def test_an_unknown_address_answers_a_browser_with_a_page_and_a_program_with_a_problem(browser):
    status, page, answer = await browser.get("/nowhere")
    assert (status, answer.content_type) == (404, "text/html")
    assert "there is nothing at this address" in page
    assert (await browser.json("/nowhere"))[1]["code"] == "not_found"


async def test_the_page_of_a_run_stays_small_however_much_was_wrong_and_changed(browse, world):
    board, long = world.board, "x" * 400
    board.deliver(world.feeds["acme"], board.rows(1, 60))
    changed: dict[str, object] = {
        "description": f"<p>{long * 5}</p>",
        "salary": {"amount": 20, "period": {"id": 5}},
    }
    changed |= {"confidential": True, "applicationEmail": "other@example.com", "positionType": {"id": 2}}
    run = board.deliver(world.feeds["acme"], board.rows(1, 60, **changed))
    rejected = [
        RejectedRow(
            n, n, None, (Problem(f"/field{n % 30}", "invalid_format", f"{n} is wrong: {long}", f"{n}{long}"),)
        )
        for n in range(900)
    ]
    unknown = UnknownValues(
        {"positionType": [("Type", 9)]}, "\n".join(f'"{n} {long[:150]}" = ""' for n in range(900))
    )

    def spoil(tx):
        run_results.add_rejected(tx, run.id, rejected)
        run_results.add_warnings(tx, run.id, [FeedWarning(f"w{n % 30}", f"{n}{long}", n) for n in range(900)])
        run_results.set_unknown(tx, run.id, unknown)

    board.store.write(spoil)
    page = (await (await browse()).get(f"/runs/{run.id}"))[1]
    assert page.count("<ins>") == 25 * 5
    assert "The 5 most frequent of 30; the report has more." in page
    assert f"850 lines more: <code>syncd runs show {run.id}</code>" in page
    assert len(page.encode()) < 60_000
