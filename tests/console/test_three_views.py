"""A page, its JSON and the command with ``--json`` say the same (docs/operations.md "JSON output")."""

from dataclasses import replace
from html import unescape

import pytest

from syncd.feeds.configuration import FeedFile
from syncd.store import feeds, keys, runs
from syncd.sync.drop_file import DropFile

#: Address of a page → the command that prints the same.
VIEWS = {
    "/": ("feed", "list"),
    "/runs": ("runs",),
    "/runs?feed=acme&state=held": ("runs", "--feed", "acme", "--state", "held"),
    "/runs/1": ("runs", "show", "1"),
    "/runs/2": ("runs", "show", "2"),
    "/feeds/acme": ("feed", "show", "acme"),
    "/feeds/acme/sheet": ("feed", "sheet", "acme"),
    "/employers": ("employer", "list"),
    "/employers/1/keys": ("key", "list"),
    "/jobs": ("jobs", "--employer", "Acme Ltd."),
    "/jobs?q=cook&status=active": ("jobs", "--employer", "Acme Ltd.", "-q", "cook", "--status", "active"),
}


@pytest.mark.parametrize("path", VIEWS)
async def test_a_page_its_json_and_the_command_say_the_same(browse, world, command, path):
    held = world.hold()
    world.board.store.write(lambda tx: keys.create(tx, 1, "import"))
    browser = await browse()
    status, by_page = await browser.json(path)
    assert (status, by_page) == (200, command(*VIEWS[path]))
    html = unescape((await browser.get(path))[1])
    if "jobs" in path:
        assert all(f"/jobs/{job['id']}" in html for job in by_page)
    elif "employers" in path:
        assert world.board.employer.name in html
    elif path.endswith("/sheet"):
        assert all(f"<b>{column['name']}</b>" in html for column in by_page["columns"])
    elif path != "/runs/1":
        assert held.state.value in html
        assert f"/runs/{held.id}" in html


@pytest.mark.parametrize("attempt", [1, 2])
async def test_a_run_that_was_continued_says_what_its_counts_leave_out(browse, world, command, attempt):
    ended = world.board.deliver(world.feeds["acme"], world.board.rows(1, 3))
    world.board.store.write(lambda tx: runs.save(tx, replace(ended, attempt=attempt)))
    browser = await browse()
    for text in (unescape((await browser.get("/runs/1"))[1]), command("runs", "show", "1", text=True)):
        assert ("2; a row that an earlier attempt applied counts as unchanged" in text) == (attempt == 2)


async def test_the_state_of_a_feed_is_the_same_word_in_all_views_and_names_what_waits(
    browse, world, command, clock
):
    """Feeds in each state that a feed can be in."""
    board, waits = world.board, "run 2 waits for a decision: "
    folder = world.settings.feeds
    for name in ("broken", "failed", "held", "overdue", "paused", "well"):
        world.feed(name, 'expect_every = "1d"' if name == "overdue" else "")
        lines = 'expect_every = "1d"\n' if name == "overdue" else ""
        employer = "3" if name == "broken" else f'"{board.employer.name}"'
        (folder / f"{name}.toml").write_text(f"employer = {employer}\n{lines}")
    board.deliver(world.feeds["held"], board.rows(1, 30))
    assert board.deliver(world.feeds["held"], board.rows(1, 8)).id == 2
    board.store.write(lambda tx: feeds.pause(tx, "paused", "they send nonsense"))
    board.deliver(world.feeds["overdue"], [board.row("late")])
    spoilt = board.folder / "drop" / "failed" / "spoilt.json"
    spoilt.write_text("{")
    source = DropFile.at(spoilt)
    board.importer.run(world.feeds["failed"], source, board.begin(world.feeds["failed"], source))
    world.files["broken"] = FeedFile("broken", None, ("employer: must be text, but is 3",))
    clock.forward(days=2)
    browser = await browse()
    listed = {feed["name"]: feed for feed in (await browser.json("/"))[1]}
    wanted = {"broken": "degraded", "well": "ok", "acme": "ok"}
    assert {name: feed["state"] for name, feed in listed.items()} == {
        name: wanted.get(name, name) for name in listed
    }
    assert listed["held"]["reason"].startswith(waits)
    assert listed["failed"]["reason"].startswith("run 4 failed: ")
    by_command = {feed["name"]: feed for feed in command("feed", "list")}
    overview = unescape((await browser.get("/"))[1])
    for name, feed in listed.items():
        word = f">{feed['state']}</span>"
        line = overview[overview.index(f'href="/feeds/{name}"') :].partition("</tr>")[0]
        page = unescape((await browser.get(f"/feeds/{name}"))[1]).partition("</section>")[0]
        assert (word in line, word in page) == (True, True), name
        assert (feed["reason"] or "") in line
        assert (feed["reason"] or "") in page
        if name != "broken":  # the command reads the file itself
            assert by_command[name]["state"] == feed["state"]
            assert by_command[name]["reason"] == feed["reason"]
    assert by_command["broken"]["state"] == "degraded"


async def test_a_paused_feed_with_a_run_that_waits_says_both_and_can_be_resumed(browse, world, command):
    world.hold()
    world.board.store.write(lambda tx: feeds.pause(tx, "acme", "they send nonsense"))
    (feed,) = command("feed", "list")
    assert (feed["state"], feed["reason"].startswith("run 2 waits")) == ("held", True)
    assert feed["reason"].endswith("; they send nonsense")
    page = (await (await browse()).get("/feeds/acme"))[1]
    assert ("/feeds/acme/resume" in page, 'href="/runs/2"' in page) == (True, True)
