"""Every page in a real browser: accessible, on a phone too, and without a fault."""

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

from tests.e2e.console.world import LONG, TOKEN

pytestmark = pytest.mark.slow
THEMES = ("light", "dark")
WIDTHS = (1280, 390)


def test_every_page_is_accessible_and_fits_in_both_themes_and_widths(look, site):
    page, found = look(log_in=False), []
    for name, path in site.pages().items():
        if name == "overview":
            page.get_by_label("Token of the operator").fill(TOKEN)
            page.get_by_role("button", name="Log in").click()
            page.wait_for_url(f"{site.url}/")
        page.goto(site.url + path)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            wide = page.evaluate("document.documentElement.scrollWidth")
            if wide > width:
                found.append(f"{name} is {wide} wide at {width}")
            for theme in THEMES:
                page.emulate_media(color_scheme=theme)
                for violation in Axe().run(page).response["violations"]:
                    places = [node["target"] for node in violation["nodes"]][:3]
                    found.append(f"{name} {width} {theme}: {violation['id']}: {places}")
    assert found == []


def test_hostile_text_and_a_long_name_are_text(look, site):
    page = look()
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.goto(f"{site.url}/runs/{site.partial}")
    assert LONG in page.locator("h1 + p").inner_text()
    assert "<script>alert(1)</script>" in page.locator(".diff").first.inner_text()
    assert page.locator("main script, main img").count() == 0


def test_going_through_pages_of_changes_loads_the_part_that_changes(look, site):
    page = look()
    page.goto(f"{site.url}/runs?limit=3")
    page.evaluate("window.kept = true")
    page.get_by_role("link", name="Older").click()
    page.get_by_text("Page 2 of").wait_for()
    assert page.evaluate("window.kept") is True
    page.go_back()
    page.get_by_text("Page 1 of").wait_for()
