"""What the operator does on a morning, in a real browser."""

import pytest

from tests.e2e.console.world import TOKEN, WAYS

pytestmark = pytest.mark.slow


class Mouse:
    """Works as most people do. ``use`` follows a link or presses a button."""

    options: dict[str, bool] = {}  # noqa: RUF012

    def __init__(self, page):
        self.page = page

    def use(self, role, name):
        self.page.get_by_role(role, name=name, exact=True).first.click()

    def log_in(self):
        self.page.get_by_label("Token of the operator").fill(TOKEN)
        self.use("button", "Log in")


class Plain(Mouse):
    """Works in a browser without JavaScript."""

    options = {"java_script_enabled": False}  # noqa: RUF012


class Keyboard(Mouse):
    """Works without a mouse: Tab until the thing has the focus, then Enter."""

    def use(self, role, name):
        wanted = self.page.get_by_role(role, name=name, exact=True).first
        for _ in range(150):
            if wanted.evaluate("it => it === document.activeElement"):
                assert wanted.evaluate("it => getComputedStyle(it).outlineStyle") != "none", (
                    "no visible focus"
                )
                self.page.keyboard.press("Enter")
                return
            self.page.keyboard.press("Tab")
        pytest.fail(f"Tab never reaches {name}")

    def log_in(self):
        self.page.keyboard.type(TOKEN)  # the field has the focus
        self.page.keyboard.press("Enter")


def state(page):
    """Return the state of the run that a page shows."""
    return page.locator("h1 + p .state").inner_text()


@pytest.mark.parametrize(("feed", "way"), [*zip(WAYS, (Mouse, Keyboard, Plain), strict=True)])
def test_a_held_run_is_seen_understood_approved_and_reverted(look, site, feed, way):
    number = site.held[feed]
    page, second = look(log_in=False, **way.options), look()
    page.goto(f"{site.url}/")
    operator = way(page)
    operator.log_in()
    page.wait_for_url(f"{site.url}/")
    assert "for you" in page.get_by_role("heading", level=1).inner_text()

    operator.use("link", f"Run {number}")
    page.wait_for_url(f"{site.url}/runs/{number}")
    assert "22" in page.locator("section", has_text="Why it waits").first.inner_text()
    assert page.locator("dd", has_text="Baker").first.inner_text() == "Welder → Baker"
    assert len(site.active(feed)) == 30
    second.goto(f"{site.url}/runs/{number}")
    assert state(second) == "held"

    operator.use("link", "Approve")
    page.wait_for_url(f"{site.url}/runs/{number}/approve")
    assert page.get_by_text("22 jobs are archived.").is_visible()
    operator.use("button", "Approve")
    page.wait_for_url(f"{site.url}/runs/{number}")
    assert (state(page), len(site.active(feed))) == ("succeeded", 8)
    assert site.active(feed)[f"{feed}-0"] == "Baker"
    second.locator("h1 + p .state", has_text="succeeded").wait_for()  # by itself
    assert second.get_by_text("by the operator, session").first.is_visible()

    operator.use("link", "Revert")
    page.wait_for_url(f"{site.url}/runs/{number}/revert")
    operator.use("button", "Revert")
    page.wait_for_url(lambda url: url.rpartition("/")[2].isdecimal() and not url.endswith(f"/{number}"))
    assert (state(page), len(site.active(feed))) == ("succeeded", 30)
    assert site.active(feed)[f"{feed}-0"] == "Welder"
    second.goto(page.url)
    assert f"revert of run {number}" in second.locator("h1 + p").inner_text()

    operator.use("button", "Log out")
    page.wait_for_url(f"{site.url}/login")
    page.goto(f"{site.url}/runs/{number}")
    assert "/login" in page.url
