"""The page of a feed: what it shows, pause and resume."""

import os
import re
import time
from dataclasses import replace

import pytest

from syncd.feeds.configuration import FeedFile
from syncd.store import feeds
from tests.console.conftest import csrf_of


@pytest.fixture
def folder(world):
    return world.feeds["acme"].folder


@pytest.fixture
def written(world, tmp_path):
    """Have the files of feeds on disk, where the mapping in force is read."""
    config = tmp_path / "config" / "feeds.d"
    config.mkdir()
    world.settings = replace(world.settings, feeds=config)
    (config / "acme.toml").write_text('employer = "Acme Ltd."\n')
    return config


def cells(page, heading):
    """Return the cells of the rows below a heading, as text."""
    part = page[page.index(f'id="{heading}"') :].partition("<h2")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", part, re.DOTALL)[1:]
    return [[re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)] for row in rows]


async def test_a_feed_shows_its_runs_in_pages_and_its_jobs(browse, world, written):
    for number in range(1, 28):
        world.board.deliver(world.feeds["acme"], world.board.rows(1, number))
    browser = await browse()
    page = (await browser.get("/feeds/acme"))[1]
    numbers = re.findall(r">Run (\d+)<", page[page.index('id="runs"') :])
    assert numbers == [str(number) for number in range(27, 2, -1)]
    page = (await browser.get("/feeds/acme?tab=jobs"))[1]
    assert "Active jobs: 27" in page
    assert [title for _, title, _, _ in cells(page, "jobs")] == [f"Cook r{n}" for n in range(1, 11)]
    assert '<a href="/jobs?feed=acme&amp;status=active">All of them</a>' in page
    second = (await browser.get("/feeds/acme?page=2"))[1]
    assert ("Page 2 of 2" in second, ">Run 2<" in second) == (True, True)
    assert 'href="/feeds/acme"' in (await browser.get("/runs/3"))[1]


async def test_the_mapping_has_the_origin_of_each_line_and_a_sample_value(browse, world, written):
    (written / "acme.toml").write_text('employer = "Acme Ltd."\n[fields]\ntitle = "<T>"\n')
    world.board.deliver(world.feeds["acme"], [world.board.row("r1", title="Cook & baker")])
    page = (await (await browse()).get("/feeds/acme?tab=mapping"))[1]
    assert cells(page, "mapping") == [
        ["employer", "Acme Ltd.", "acme.toml", ""],
        ["fields.title", "&lt;T&gt;", "acme.toml", "Cook &amp; baker"],
    ]


async def test_a_file_of_the_feed_that_is_wrong_or_gone_is_said(world, written, browser):
    (written / "acme.toml").write_text("employer = [")
    assert "was changed and is wrong now" in (await browser.get("/feeds/acme?tab=mapping"))[1]
    (written / "acme.toml").unlink()
    assert (await browser.get("/feeds/acme?tab=mapping"))[0] == 200
    world.files["bare"] = FeedFile("bare", None, ("bare.toml: employer: <missing>",))
    page = (await browser.get("/feeds/bare?tab=mapping"))[1]
    assert "bare.toml: employer: &lt;missing&gt;" in page
    assert "has to be corrected first" in page
    assert (await browser.json("/feeds/bare"))[0] == 409


async def test_the_folder_says_what_lies_there_and_why_it_waits(browse, world, written, folder):
    old = time.time() - 600
    for name in ("complete.json", "<b>.json", ".hidden", "half.part"):
        (folder / name).write_text("[]")
        os.utime(folder / name, (old, old))
    (folder / "fresh.json").write_text("[]")
    os.utime(folder / "fresh.json", (old + 6000, old + 6000))  # it is fresh for as long as the test takes
    (folder / "link.json").symlink_to("/etc/passwd")
    browser = await browse()
    page = (await browser.get("/feeds/acme?tab=folder"))[1]
    found = {name: why for name, _, _, why in cells(page, "folder")}
    assert found["complete.json"] == found["&lt;b&gt;.json"] == "it waits for its turn"
    assert found["fresh.json"] == "it is settling"
    assert "a symbolic link" in found["link.json"]
    assert "never taken" in found[".hidden"]
    assert "never taken" in found["half.part"]
    with (folder / "complete.json").open("ab"):
        page = (await browser.get("/feeds/acme?tab=folder"))[1]
    found = {name: why for name, _, _, why in cells(page, "folder")}
    assert found["complete.json"] == "a process has it open for writing"
    world.trusted = False
    page = (await browser.get("/feeds/acme?tab=folder"))[1]
    found = {name: why for name, _, _, why in cells(page, "folder")}
    assert "files wait until the time is trusted" in found["complete.json"]
    assert found["fresh.json"] == "it is settling"


async def test_a_degraded_feed_says_whether_its_files_are_taken_as_before(browse, world, folder):
    world.files["acme"] = FeedFile("acme", None, ("acme.toml: title: is a field of a job",))
    (folder / "new.json").write_text("[]")
    os.utime(folder / "new.json", (0, 0))
    browser = await browse()

    async def why():
        return cells((await browser.get("/feeds/acme?tab=folder"))[1], "folder")[0][3]

    assert await why() == "it waits for its turn", "it goes on with what its file said before"
    del world.feeds["acme"]
    assert await why() == "the feed is degraded"
    (folder / "new.json").unlink()
    page = (await browser.get("/feeds/acme?tab=folder"))[1]
    assert "left lying until the feed is corrected" in page
    assert "No runs yet. The feed has to be corrected first." in (await browser.get("/feeds/acme"))[1]


async def test_a_folder_with_many_files_lists_some(browse, world, written, folder):
    for number in range(150):
        (folder / f"{number}.json").touch()
    page = (await (await browse()).get("/feeds/acme?tab=folder"))[1]
    assert (len(cells(page, "folder")), "150 lie there; the first 100 are listed" in page) == (100, True)


async def test_a_folder_that_is_a_link_is_not_followed(browse, world, written, folder, tmp_path):
    (folder / "done").rmdir()
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.json").touch()
    folder.symlink_to(tmp_path / "elsewhere")
    status, page, _ = await (await browse()).get("/feeds/acme")
    assert (status, "secret.json" in page) == (200, False)


async def test_rejected_rows_are_shown_by_kind_over_time_in_a_chart_and_a_table(browse, world, written):
    row = world.board.row
    for wrong in (1, 3, 0):
        rows = [row(f"x{n}", applicationEmail="<wrong") for n in range(wrong)]
        world.board.deliver(world.feeds["acme"], rows + world.board.rows(1, 60 + wrong))
    page = (await (await browse()).get("/feeds/acme?tab=rejects"))[1]
    assert cells(page, "rejected") == [["Run 1", "1"], ["Run 2", "3"], ["Run 3", "0"]]
    svg = page[page.index("<svg") : page.index("</svg>")]
    assert re.findall(r"<title>(.*?)</title>", svg) == [
        "run 1: 1 /applicationEmail: invalid_email",
        "run 2: 3 /applicationEmail: invalid_email",
    ]
    assert 'height="116.0"' in svg


async def test_a_feed_is_paused_with_a_reason_and_resumed(world, written, browser):
    csrf = csrf_of((await browser.get("/feeds/acme"))[1])
    for name, why, refused in (("nobody", "x", 404), ("acme", "x" * 501, 400)):
        assert (await browser.post(f"/feeds/{name}/pause", {"csrf": csrf, "why": why}))[0] == refused
    status, _, answer = await browser.post("/feeds/acme/pause", {"csrf": csrf, "why": " <nonsense> "})
    assert (status, answer.headers["Location"]) == (303, "/feeds/acme")
    assert world.board.store.read(feeds.paused) == {"acme": "<nonsense>"}
    page = (await browser.get("/feeds/acme"))[1]
    assert ("&lt;nonsense&gt;" in page, "Resume" in page) == (True, True)
    assert (await browser.post("/feeds/acme/resume", {"csrf": csrf}))[0] == 303
    assert world.board.store.read(feeds.paused) == {}
    status, page, _ = await browser.post("/feeds/acme/resume", {"csrf": csrf})
    assert (status, "is not paused" in page) == (409, True)


async def test_the_list_of_feeds_has_the_last_run_of_each_in_signs(browse, world):
    wrong = world.board.row("x", applicationEmail="wrong")
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 30))
    world.board.deliver(
        world.feeds["acme"], [world.board.row("r1", title="Baker"), *world.board.rows(4, 32), wrong]
    )
    browser = await browse()
    page = (await browser.get("/feeds"))[1]
    chips = re.findall(r'class="chip \w+" title="([^"]+)">(\S)(\d+)<', page)
    assert chips == [
        ("2 new or back", "+", "2"),
        ("1 changed", "~", "1"),
        ("2 archived", "−", "2"),
        ("1 rejected", "✗", "1"),
    ]
    assert '<a href="/feeds" aria-current="page">Feeds</a>' in page
    assert "waits for you" not in page
    assert await browser.json("/feeds") == await browser.json("/")


async def test_a_feed_that_cannot_be_used_shows_its_jobs_and_what_lies_in_its_folder(browse, world, folder):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 12))
    (folder / "next.json").write_text("[]")
    del world.feeds["acme"]
    world.files["acme"] = FeedFile("acme", None, ("acme.toml: employer: missing",))
    browser = await browse()
    page = (await browser.get("/feeds/acme?tab=folder"))[1]
    assert ([cell[0] for cell in cells(page, "folder")], "Nothing waits" in page) == (["next.json"], False)
    assert len(cells((await browser.get("/feeds/acme?tab=jobs"))[1], "jobs")) == 10
    assert (await browser.get("/feeds/acme?tab=nothing"))[0] == 400
