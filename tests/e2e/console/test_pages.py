"""Every page in a real browser: accessible, on a phone too, and without a fault."""

import re

import pytest

from syncd import languages
from syncd.feeds.configuration import FeedDefaults, parse_feed
from syncd.feeds.mapping.presets import preset_names
from syncd.sync.report.files import sheet_of
from tests.e2e import partner_reports
from tests.e2e.console.world import LONG, TOKEN
from tests.feeds.fuzzing import CATALOGUE

pytestmark = pytest.mark.slow
THEMES = ("light", "dark")
WIDTHS = (1366, 720, 390)


def opened(page, site):
    """Yield the name of each page when it is open. The login comes first, and is used."""
    for name, path in site.pages().items():
        if name == "overview":
            page.get_by_label("Token of the operator").fill(TOKEN)
            page.get_by_role("button", name="Log in").click()
            page.wait_for_url(f"{site.url}/")
        answer = page.goto(site.url + path)
        assert (answer.status, page.get_by_role("heading", level=1).count()) == (200, 1), name
        yield name
    for name, lead in site.forms().items():
        page.set_viewport_size({"width": 1366, "height": 900})
        lead(page)
        yield name


def widths(page, name):
    """Yield each width after the page has got it. Raise if one has to scroll sideways."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{name} is {wide} wide at {width}"
        yield width


def test_every_page_is_accessible_and_fits_in_both_themes_and_widths(look, site):
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    page, found = look(log_in=False), []
    for name in opened(page, site):
        for width in widths(page, name):
            for theme in THEMES if width != 720 else ():  # as 1366, but narrow
                page.emulate_media(color_scheme=theme)
                for violation in Axe().run(page).response["violations"]:
                    places = [node["target"] for node in violation["nodes"]][:3]
                    found.append(f"{name} {width} {theme}: {violation['id']}: {places}")
    assert found == []


def test_every_page_opens_and_fits_without_javascript(look, site):
    page = look(log_in=False, java_script_enabled=False)
    for name in opened(page, site):
        assert list(widths(page, name)) == list(WIDTHS)


def test_the_report_for_the_partner_fits_a_phone(look, site, tmp_path):
    """It is downloaded and opened as a file, as from an e-mail."""
    page = look()
    page.goto(f"{site.url}/runs/{site.partial}")
    with page.expect_download() as started:
        page.evaluate("path => { location.href = path }", f"/runs/{site.partial}/report.html")
    started.value.save_as(tmp_path / "report.html")
    page.goto(f"file://{tmp_path}/report.html")
    assert LONG in page.locator("body").inner_text()
    assert list(widths(page, "report")) == list(WIDTHS)


def test_going_through_pages_of_changes_loads_the_part_that_changes(look, site):
    page = look()
    page.goto(f"{site.url}/runs?limit=3")
    page.evaluate("window.kept = true")
    page.get_by_role("link", name="Older").click()
    page.get_by_text("Page 2 of").wait_for()
    assert page.evaluate("window.kept") is True
    page.go_back()
    page.get_by_text("Page 1 of").wait_for()


def test_in_print_a_page_is_its_content_alone(look, site):
    page = look()
    page.goto(f"{site.url}/runs/{site.held['lakeside']}")
    assert page.locator(".scroll").first.evaluate("it => getComputedStyle(it).maxHeight") != "none"
    page.emulate_media(media="print", color_scheme="dark")
    for name in (".top", ".foot", ".buttons", ".tabs"):
        assert not page.locator(name).first.is_visible(), name
    assert page.get_by_role("heading", name="Why it waits").is_visible()
    assert page.locator(".scroll").first.evaluate("it => getComputedStyle(it).maxHeight") == "none"
    ink = page.locator("body").evaluate("it => getComputedStyle(it).color")
    card = page.locator(".card").first.evaluate("it => getComputedStyle(it).backgroundColor")
    assert (ink, card) == ("rgb(0, 0, 0)", "rgb(255, 255, 255)")


def test_the_sheet_for_a_partner_is_one_page_of_paper(chromium):
    """Of each preset, in each language."""
    page, longer = chromium.new_page(), []
    for preset in (None, *preset_names()):
        for language in languages.names():
            text = f'employer = "A"\nlanguage = "{language}"\nmarker = ".done"\n'
            text += f'preset = "{preset}"\n' if preset else ""
            config = parse_feed("acme", text, CATALOGUE, FeedDefaults())
            page.set_content(sheet_of(config, "Hôpital de la Rive-Sud et associés", (), CATALOGUE).html)
            printed = page.pdf(
                format="Letter", margin=dict.fromkeys(("top", "right", "bottom", "left"), "1cm")
            )
            if len(re.findall(rb"/Type /Page\b", printed)) != 1:
                longer.append((preset, language))
    page.close()
    assert longer == []


def test_the_pictures_of_the_reports_are_those_of_the_documents(chromium, tmp_path):
    """They are taken by ``python -m tests.e2e.partner_reports``. Pixels differ between machines, so they are not compared."""
    taken = set(partner_reports.take(chromium, tmp_path, tmp_path))
    assert taken == {path.name for path in partner_reports.PICTURES.iterdir()}
