"""One daemon and one Chromium for all tests of a module. They need TESTS_WHOLE=1: the short suite starts no browser."""

import pytest

from tests.amounts import WHOLE
from tests.e2e.console import world


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with world.site(tmp_path_factory.mktemp("site")) as found:
        yield found


@pytest.fixture(scope="module")
def chromium(program):
    if not WHOLE:
        pytest.skip("a browser is started only with TESTS_WHOLE=1")
    from playwright.sync_api import sync_playwright

    path = program("chromium", "chromium-browser", "google-chrome")
    with sync_playwright() as playwright:
        browser = world.launched(playwright, path)
        yield browser
        browser.close()


@pytest.fixture
def look(chromium, site):
    """``look()``: another browser, which has logged in. At the end of the test nothing may have gone wrong in any."""
    opened: list[world.Looked] = []

    def open_browser(*, log_in=True, **options):
        found = world.Looked(chromium, **options)
        opened.append(found)
        if log_in:
            found.log_in(site.url)
        return found.page

    yield open_browser
    for each in opened:
        each.close()
