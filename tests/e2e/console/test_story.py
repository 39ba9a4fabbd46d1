"""What the operator does on a morning, in a real browser."""

import pytest

from tests.e2e.conftest import EMPLOYER
from tests.e2e.console.world import TOKEN, WAYS, rows

pytestmark = pytest.mark.slow


class Mouse:
    """Works as most people do. ``use`` follows a link or presses a button."""

    options: dict[str, bool] = {}  # noqa: RUF012

    def __init__(self, page):
        self.page = page

    def use(self, role, name):
        self.page.get_by_role(role, name=name, exact=True).first.click()

    def write(self, label, text):
        self.page.get_by_label(label).fill(text)

    def choose(self, label, option):
        self.page.get_by_label(label).select_option(option)

    def upload(self, label, path):
        self.page.get_by_label(label).set_input_files(path)

    def log_in(self):
        self.write("Token of the operator", TOKEN)
        self.use("button", "Log in")


class Plain(Mouse):
    """Works in a browser without JavaScript."""

    options = {"java_script_enabled": False}  # noqa: RUF012


class Keyboard(Mouse):
    """Works without a mouse: Tab until the thing has the focus, then Enter."""

    def __init__(self, page):
        super().__init__(page)
        # Chromium shows its own dialog until somebody listens. A key can be there before a listener of the same moment.
        page.on("filechooser", lambda _: None)

    def use(self, role, name):
        self._reach(self.page.get_by_role(role, name=name, exact=True).first)
        self.page.keyboard.press("Enter")

    def write(self, label, text):
        self._reach(self.page.get_by_label(label))
        self.page.keyboard.type(text)

    def choose(self, label, option):
        self._reach(self.page.get_by_label(label))
        self.page.keyboard.type(option)

    def upload(self, label, path):
        self._reach(self.page.get_by_label(label))
        with self.page.expect_file_chooser() as chooser:
            self.page.keyboard.press("Enter")
        chooser.value.set_files(path)

    def _reach(self, wanted):
        for _ in range(150):
            if wanted.evaluate("it => it === document.activeElement"):
                shown = wanted.evaluate("it => getComputedStyle(it).outlineStyle")
                assert shown != "none", "no visible focus"
                return
            self.page.keyboard.press("Tab")
        pytest.fail(f"Tab never reaches {wanted}")

    def log_in(self):
        self.page.locator("#token:focus").wait_for()  # as the page says
        self.page.keyboard.type(TOKEN)
        self.page.keyboard.press("Enter")


def state(page):
    return page.locator("h1 + p .state").inner_text()


@pytest.mark.parametrize(("feed", "way"), [*zip(WAYS, (Mouse, Keyboard, Plain), strict=True)])
def test_a_held_run_is_seen_understood_approved_and_reverted(look, site, feed, way):
    number = site.held[feed]
    page, second = look(log_in=False, **way.options), look()
    page.goto(f"{site.url}/")
    operator = way(page)
    operator.log_in()
    page.wait_for_url(f"{site.url}/")
    assert "waits for a decision" in page.get_by_role("heading", level=1).inner_text()

    operator.use("link", f"Run {number}")
    page.wait_for_url(f"{site.url}/runs/{number}")
    assert "22" in page.locator("section", has_text="Why it waits").first.inner_text()
    assert page.locator("dd", has_text="Baker").first.inner_text() == "Welder → Baker"
    assert len(site.active(feed)) == 30
    second.goto(f"{site.url}/runs/{number}")
    assert state(second) == "held"

    operator.use("link", "Archive 22")
    page.wait_for_url(f"{site.url}/runs/{number}/approve")
    assert page.get_by_text("22 jobs are archived.").is_visible()
    operator.use("button", "Archive 22")
    page.wait_for_url(f"{site.url}/runs/{number}")
    assert (state(page), len(site.active(feed))) == ("succeeded", 8)
    assert site.active(feed)[f"{feed}-0"] == "Baker"
    second.locator("h1 + p .state", has_text="succeeded").wait_for()  # by itself
    assert second.get_by_text("the operator, session").first.is_visible()

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


@pytest.mark.parametrize("way", [Mouse, Keyboard, Plain])
def test_a_file_is_previewed_a_key_made_and_used_and_a_feed_paused(look, site, way):
    before = len(site.active("prairie"))
    page, second, third = look(log_in=False, **way.options), look(), look()
    third.goto(f"{site.url}/employers/{site.employer}")
    for other in (second, third):
        other.evaluate("window.kept = true")  # neither is loaded again
    line = second.get_by_role("row", name="prairie")
    page.goto(f"{site.url}/")
    operator = way(page)
    operator.log_in()
    page.wait_for_url(f"{site.url}/")

    operator.use("link", "Preview")
    page.wait_for_url(f"{site.url}/preview")
    operator.choose("Feed", "prairie")
    operator.upload("File", site.file("more.csv", rows("prairie", before + 1)))
    operator.use("button", "Preview")
    page.get_by_role("heading", name="more.csv as a file of prairie").wait_for()
    assert "1 created" in page.locator(".headline").inner_text()
    assert len(site.active("prairie")) == before
    operator.use("button", "Apply")
    page.wait_for_url(f"{site.url}/runs/*")
    assert (state(page), len(site.active("prairie"))) == ("succeeded", before + 1)
    line.locator(f'a[href="/runs/{page.url.rpartition("/")[2]}"]').wait_for()

    operator.use("link", "Employers")
    page.wait_for_url(f"{site.url}/employers")
    operator.use("link", EMPLOYER)
    page.wait_for_url(f"{site.url}/employers/{site.employer}")
    operator.write("What it is for", way.__name__)
    operator.use("button", "Create key")
    key = page.locator("pre.secret").inner_text()
    made = third.get_by_role("row", name=way.__name__)
    assert made.locator("[data-label='Last used']").inner_text() == "never"
    assert site.put_job(key, f"key-{way.__name__}") == 201

    operator.use("link", "Overview")
    page.wait_for_url(f"{site.url}/")
    operator.use("link", "prairie")
    page.wait_for_url(f"{site.url}/feeds/prairie")
    operator.write("Why it is paused", f"paused by {way.__name__}")
    operator.use("button", "Pause")
    page.get_by_role("button", name="Resume").wait_for()
    line.get_by_text(f"paused by {way.__name__}").wait_for()
    operator.use("button", "Resume")
    page.get_by_role("button", name="Pause").wait_for()
    line.locator(".state.good", has_text="ok").wait_for()

    made.locator("[data-label='Last used'] time").wait_for(timeout=60_000)  # it is written twice a minute
    assert [other.evaluate("window.kept") for other in (second, third)] == [True, True]


def test_what_somebody_writes_stays_while_the_page_renews_itself_and_times_go_on(look, site):
    page = look()
    page.goto(f"{site.url}/employers/{site.employer}")
    page.get_by_label("What it is for").press_sequentially("half a lab")
    second = look()
    second.goto(f"{site.url}/employers/{site.employer}")
    second.get_by_label("What it is for").fill("another")
    second.get_by_role("button", name="Create key").click()
    page.get_by_role("row", name="another").wait_for()
    page.keyboard.type("el")
    assert page.get_by_label("What it is for").input_value() == "half a label"

    page.clock.install()
    page.goto(f"{site.url}/")
    ago = page.get_by_role("row", name="late").locator("time[data-relative]")
    before = ago.inner_text()
    page.route(
        "**/*", lambda route: route.fulfill(status=304)
    )  # a renewal would bring the service's own times
    page.clock.fast_forward("02:05:00")
    assert (before != "2 hours ago", ago.inner_text()) == (True, "2 hours ago")


def test_an_open_page_changes_only_where_it_differs(look, site):
    page = look()
    page.goto(f"{site.url}/feeds/maple?tab=rejects")
    page.get_by_text("The same as a table").click()
    page.evaluate("[kept, table] = [document.activeElement, document.querySelector('#rejected + div table')]")
    with page.expect_response(lambda answer: answer.status == 304):
        pass
    site.pause("maple", "until noon")
    page.get_by_text("until noon").wait_for()
    assert (
        page.evaluate("[document.activeElement === kept, kept.parentElement.open, table.isConnected]")
        == [True] * 3
    )
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("button", name="Pause").wait_for()


def test_a_hidden_page_asks_for_nothing_until_it_is_seen_again(look, site):
    page, asked = look(), []
    page.clock.install()
    page.goto(f"{site.url}/", wait_until="networkidle")
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate(
        "Object.defineProperty(document, 'hidden', {get: () => window.away, configurable: true}); away = true"
    )
    page.clock.run_for(10_000)
    assert asked == []
    with page.expect_response(lambda answer: answer.status in (200, 304)):
        page.evaluate("away = false; document.dispatchEvent(new Event('visibilitychange'))")
