"""What the operator does with a run: it is shown first, asked once, done once, and in the history."""

import asyncio
import re

import pytest

from syncd.store import feeds, history


@pytest.fixture
def held(world):
    """Run 2 of acme, which would archive 22 of 30 jobs, and waits."""
    run = world.hold()
    assert run.state == "held"
    return run


def actors(world, run_id):
    """Return who made the changes of a run: (kind, id)."""
    found = world.board.store.read(lambda tx: list(history.of_run(tx, run_id)))
    return {(entry.actor.kind.value, entry.actor.id) for entry in found}


async def test_a_held_run_is_shown_read_and_approved(world, held, browser):
    assert "1 feed needs somebody: acme waits for a decision" in (await browser.get("/"))[1]
    page = (await browser.get("/"))[1]
    assert "22 of 30 active jobs would go; up to 7 go without a decision" in page
    verbs = re.findall(r'<a class="button( main)?" href="([^"]+)">([^<]+)', page)
    assert verbs == [(" main", "/runs/2/reject", "Keep 30 online"), ("", "/runs/2/approve", "Archive 22")]
    assert '>Cook r9</a>, <a class="name"' in page
    assert '<a href="/runs/2#going">19 more</a>' in page
    page = (await browser.get("/runs/2"))[1]
    assert (held.reason in page.replace("&#39;", "'"), "22 jobs would be archived" in page) == (True, True)
    assert re.findall(r'href="/runs/2/([\w.]+)"', page) == ["reject", "approve", "file", "report.html"]
    assert held.reason in (await browser.get("/runs"))[1].replace("&#39;", "'")
    page = (await browser.get("/runs/2/approve"))[1]
    assert "22 jobs are archived." in page
    assert "<button>Archive 22</button>" in page
    assert world.board.saved(2).state == "held"
    status, _, answer = await browser.submit("/runs/2/approve")
    assert (status, answer.headers["Location"]) == (303, "/runs/2")
    assert (world.board.saved(2).state, len(world.board.active())) == ("succeeded", 8)
    ((kind, number),) = actors(world, 2)
    assert (kind, 0 <= number < 1_000_000) == ("operator", True)
    assert f"session {number:06d}" in (await browser.get("/runs/2"))[1]
    status, page, _ = await browser.get("/runs/2/approve")
    assert (status, "only a held run can be approved" in page) == (409, True)


async def test_all_jobs_that_would_go_are_seen_page_by_page(browse, world):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 300))
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 80))
    browser = await browse()
    seen = set()
    for page in (1, 2, 3):
        shown = (await browser.get(f"/runs/2?going={page}"))[1]
        seen |= set(re.findall(r'href="/jobs/\d+">Cook (r\d+)<', shown))
    assert seen == {f"r{number}" for number in range(81, 301)}
    assert (await browser.get("/runs/2?going=4"))[0] == 200


async def test_a_file_that_waits_as_a_whole_is_left_out_or_applied(browse, world):
    wrong = [world.board.row(f"x{n}", applicationEmail="wrong") for n in range(9)]
    world.board.deliver(world.feeds["acme"], [*world.board.rows(1, 9), *wrong])
    page = (await (await browse()).get("/"))[1]
    assert 'href="/runs/1/reject">Leave the file out</a>' in page
    assert 'aria-label="9 created, 9 rejected"' in page
    page = (await (await browse()).get("/runs/1"))[1]
    assert re.findall(r'aria-label="([\d][^"]+)"', page) == [
        "9 created, 9 rejected",  # what would happen
        "9 rejected",  # what happened
    ]
    assert "0 archived; what waits is not done." in page


async def test_jobs_keep_their_postings_under_the_new_ids(browse, world):
    board, feed = world.board, world.feeds["acme"]
    board.deliver(feed, board.rows(1, 60))
    board.deliver(feed, [board.row(f"x{n}", title=f"Cook r{n}") for n in range(2, 62)])
    ids = {job.title: job.id for job in board.jobs()}
    browser = await browse()
    page = (await browser.get("/"))[1]
    assert '<a class="button" href="/runs/2/rekey">Keep the postings, take the new ids</a>' in page
    page = (await browser.get("/runs/2"))[1]
    assert "59 jobs could take new ids" in page
    assert '<td data-label="Id now"><code>r2</code></td><td data-label="New id"><code>x2</code></td>' in page
    page = (await browser.get("/runs/2/rekey"))[1]
    for words in (
        "59 postings keep their addresses, their dates and their history, and take the new ids.",
        "1 new job goes online.",
        "1 job is archived.",
        '<a href="/runs/2#rekeys">All 59</a>',
        '<button class="main">Keep the postings, take the new ids</button>',
    ):
        assert words in page
    status, _, answer = await browser.submit("/runs/2/rekey")
    assert (status, answer.headers["Location"]) == (303, "/runs/2")
    assert {job.title: job.id for job in board.jobs()}.items() >= ids.items()
    assert (board.saved(2).state, board.job("x2").id) == ("succeeded", ids["Cook r2"])
    assert 'href="/runs/2"' in (await browser.get(f"/jobs/{ids['Cook r2']}"))[1]
    status, page, _ = await browser.get("/runs/2/rekey")
    assert (status, "only a held run can be approved" in page) == (409, True)


async def test_a_run_says_who_approved_it_on_each_page_of_its_changes(browse, world):
    feed = world.feeds["acme"]
    world.board.deliver(feed, world.board.rows(1, 30))
    world.board.deliver(feed, world.board.rows(30, 90))
    browser = await browse()
    assert "Approved by" not in (await browser.get("/runs/2"))[1]
    assert (await browser.submit("/runs/2/approve"))[0] == 303
    assert actors(world, 2) > {("run", 2)}  # sixty new jobs came first
    (number,) = (number for kind, number in actors(world, 2) if kind == "operator")
    who = f"<dt>Approved by</dt><dd>the operator, session {number:06d}</dd>"
    for page in (1, 2):
        assert who in (await browser.get(f"/runs/2?page={page}"))[1]
    await browser.submit("/runs/2/revert")
    who = f"<dt>Reverted by</dt><dd>the operator, session {number:06d}</dd>"
    assert who in (await browser.get("/runs/3"))[1]


async def test_a_rejected_run_archives_nothing(world, held, browser):
    assert "22 jobs that the file lacks stay online." in (await browser.get("/runs/2/reject"))[1]
    assert (await browser.submit("/runs/2/reject"))[0] == 303
    assert (world.board.saved(2).state, len(world.board.active())) == ("rejected", 30)


async def test_a_revert_says_over_which_limit_it_is_and_takes_the_run_back(browse, world):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 30))
    browser = await browse()
    page = (await browser.get("/runs/1/revert"))[1]
    assert "30 jobs that the run created are archived." in page
    assert "This is over a limit of the feed" in page
    assert "The next file of acme brings the same back" in page
    status, _, answer = await browser.submit("/runs/1/revert")
    assert (status, answer.headers["Location"]) == (303, "/runs/2")
    assert world.board.store.read(feeds.paused) == {}
    page = (await browser.get("/runs/1"))[1]
    assert '<b>Reverted</b> by <a href="/runs/2">run 2</a>' in page
    assert "/runs/1/revert" not in page
    assert 'reverted by <a href="/runs/2">run 2</a>' in (await browser.get("/runs"))[1]
    assert (await browser.json("/runs/1"))[1]["revertedBy"] == 2
    assert (world.board.active(), len(actors(world, 2))) == (set(), 1)
    status, page, _ = await browser.get("/runs/1/revert")
    assert (status, "put back before" in page) == (409, True)
    assert 'revert of <a href="/runs/1">' in (await browser.get("/runs/2"))[1]


async def test_a_revert_that_is_reverted_lets_the_run_stand_again_and_can_pause_the_feed(browse, world):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 3))
    browser = await browse()
    assert (await browser.submit("/runs/1/revert", pause="true"))[0] == 303
    assert world.board.store.read(feeds.paused) == {"acme": "run 1 was reverted"}
    await browser.submit("/runs/2/revert")
    assert [(run["id"], run["revertedBy"]) for run in (await browser.json("/runs"))[1]] == [
        (3, None),
        (2, 3),
        (1, None),
    ]
    await browser.submit("/runs/3/revert")
    assert [(run["id"], run["revertedBy"]) for run in (await browser.json("/runs"))[1]] == [
        (4, None),
        (3, 4),
        (2, None),
        (1, 2),
    ]


async def test_a_superseded_run_says_by_which(browse, world, held):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 29))
    browser = await browse()
    assert 'Its place was taken by <a href="/runs/3">run 3</a>' in (await browser.get("/runs/2"))[1]
    assert (await browser.json("/runs/2"))[1]["supersededBy"] == 3


async def test_a_revert_of_another_plan_than_was_seen_is_refused(browse, world):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 30))
    run = world.board.deliver(world.feeds["acme"], world.board.rows(1, 31))
    browser = await browse()
    before = world.board.statuses()
    status, page, _ = await browser.submit(f"/runs/{run.id}/revert", agreed="0" * 64)
    assert (status, world.board.statuses()) == (409, before)
    assert "has another plan now" in page
    assert (await browser.submit(f"/runs/{run.id}/revert"))[0] == 303
    assert list(world.board.statuses().values()).count("archived") == 1


async def test_the_kept_file_of_a_run_is_run_again(browse, world):
    feed = world.feeds["acme"]
    world.board.deliver(feed, world.board.rows(1, 3))
    world.board.deliver(feed, [world.board.row("r1", title="Baker"), *world.board.rows(2, 3)])
    browser = await browse()
    page = (await browser.get("/runs/1/again"))[1]
    assert "1 job changes." in page
    assert "<del>Baker</del> → <ins>Cook r1</ins>" in page
    status, _, answer = await browser.submit("/runs/1/again")
    assert (status, answer.headers["Location"]) == (303, "/runs/3")
    assert world.board.saved(3).repeats == 1


async def test_two_browsers_that_approve_one_run_at_once_do_it_once(browse, world, held):
    first, second = await browse(), await browse()
    answers = await asyncio.gather(*(browser.submit("/runs/2/approve") for browser in (first, second)))
    assert sorted(status for status, _, _ in answers) == [303, 409]
    assert (len(world.board.active()), world.board.saved(2).counts.archived) == (8, 22)
    assert len(actors(world, 2)) == 1


async def test_an_approval_of_another_plan_than_the_one_that_was_seen_is_refused(world, held, browser):
    status, page, _ = await browser.submit("/runs/2/approve", agreed="0" * 64)
    assert (status, "another plan now" in page) == (409, True)
    assert world.board.saved(2).state == "held"


@pytest.mark.parametrize(
    "number", ["0", "99", "-1", "2147483648", "99999999999999999999", "x", "1e3", "%00", "१", "1%2F2"]
)
async def test_a_run_or_a_job_that_is_not_there_is_a_404(world, number, browser):
    for place in ("", "/approve", "/reject", "/revert", "/again", "/file", "/report.html"):
        assert (await browser.get(f"/runs/{number}{place}"))[0] == 404
    assert (await browser.get(f"/jobs/{number}"))[0] == 404


async def test_an_action_on_a_feed_that_is_gone_is_refused(browse, world, held):
    world.feeds.clear()
    browser = await browse()
    status, page, _ = await browser.submit("/runs/2/approve")
    assert (status, "reject it instead" in page) == (404, True)
    assert (await browser.get("/runs/2/again"))[0] == 404
    assert (await browser.submit("/runs/2/reject"))[0] == 303
