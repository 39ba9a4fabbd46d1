"""A page, its JSON and the command with ``--json`` say the same (docs/operations.md "JSON output")."""

import json
from dataclasses import replace
from html import unescape

import pytest

from syncd.cli.entry import run
from tests.stores import store_url

#: Address of a page → the command that prints the same.
VIEWS = {
    "/": ("feed", "list"),
    "/runs": ("runs",),
    "/runs?feed=acme&state=held": ("runs", "--feed", "acme", "--state", "held"),
    "/runs/1": ("runs", "show", "1"),
    "/runs/2": ("runs", "show", "2"),
    "/feeds/acme": ("feed", "show", "acme"),
    "/jobs": ("jobs", "--employer", "Acme Ltd."),
    "/jobs?q=cook&status=active": ("jobs", "--employer", "Acme Ltd.", "-q", "cook", "--status", "active"),
}


@pytest.fixture
def command(world, capsys, tmp_path):
    """``command("runs")``: what the command prints with ``--json`` about the same store and the same feeds."""
    folder = tmp_path / "config"
    (folder / "feeds.d").mkdir()
    world.settings = replace(world.settings, feeds=folder / "feeds.d")
    (folder / "feeds.d" / "acme.toml").write_text(f'employer = "{world.board.employer.name}"\n')
    (folder / "syncd.toml").write_text(
        f'timezone = "America/Toronto"\n[store]\nurl = "{store_url(tmp_path / "a.db")}"\n[drop]\nfolder = "{tmp_path}/drop"\n'
    )

    def call(*arguments):
        capsys.readouterr()
        code = run(["--config", f"{folder}/syncd.toml", *arguments, "--json"])
        shown = capsys.readouterr()
        assert code == 0, shown.err
        return json.loads(shown.out)

    return call


@pytest.mark.parametrize("path", VIEWS)
async def test_a_page_its_json_and_the_command_say_the_same(browse, world, command, path):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 30))
    held = world.board.deliver(world.feeds["acme"], world.board.rows(1, 8))
    browser = await browse()
    status, by_page = await browser.json(path)
    assert (status, by_page) == (200, command(*VIEWS[path]))
    html = unescape((await browser.get(path))[1])
    if "jobs" in path:
        assert all(f"/jobs/{job['id']}" in html for job in by_page)
    elif path != "/runs/1":
        assert held.state.value in html
        assert f"/runs/{held.id}" in html
