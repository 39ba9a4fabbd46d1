"""The five questions of the morning: each is answered in at most two clicks, and without scrolling. And the pictures of that."""

import pytest

from tests.e2e.console import pictures
from tests.e2e.console.world import WAYS

pytestmark = pytest.mark.slow
SCREEN = {"width": 1366, "height": 900}
MAX_CLICKS = 2
#: Bytes of a picture of the documents.
MAX_PICTURE = 150_000


class Morning:
    """An operator at a screen, who follows links that are in sight and counts them."""

    def __init__(self, page, url):
        self.page, self.url, self.clicks = page, url, 0
        page.goto(f"{url}/")

    def sees(self, place):
        """Raise if a thing is not in sight as a whole."""
        box = place.bounding_box()
        assert box is not None, f"{place} is not shown"
        within = box["y"] >= 0 and box["y"] + box["height"] <= SCREEN["height"]
        assert within, f"{place} is out of sight: {box}"
        return place.inner_text()

    def follow(self, place):
        self.sees(place)
        place.click()
        self.clicks += 1
        assert self.clicks <= MAX_CLICKS
        return self.page


@pytest.fixture
def morning(look, site):
    return Morning(look(viewport=SCREEN), site.url)


def test_is_all_well(morning):
    headline = morning.sees(morning.page.get_by_role("heading", level=1))
    assert headline.startswith("6 feeds need somebody: harbour waits for a decision")


def test_what_waits(morning, site):
    cards = morning.page.locator(".decision")
    assert cards.count() == len(WAYS)
    for feed, card in zip(WAYS, cards.all(), strict=True):
        morning.sees(card)
        assert f"Run {site.held[feed]} of {feed}" in card.inner_text()
        assert [verb.inner_text() for verb in card.locator(".button").all()] == [
            "Keep 30 online",
            "Archive 22",
        ]


@pytest.mark.parametrize("place", ["card", "page of the run"])
def test_what_would_happen(morning, site, place):
    card = morning.page.locator(".decision").first
    if place == "page of the run":
        card = morning.follow(card.get_by_role("link", name="19 more")).locator("#going")
        assert morning.sees(card.get_by_role("heading")) == "22 jobs would be archived"
        assert morning.sees(card.locator("tbody tr").nth(4).get_by_role("link")) == "Welder"
        return
    assert morning.sees(card.locator(".key")).split("\n") == ["8 stay", "22 of 30 would go", "limit 25 %: 7"]
    assert [job.inner_text() for job in card.locator("a.name").all()] == [
        "Line cook",
        "Data analyst",
        "Bus driver",
    ]


def test_what_was_wrong_with_the_file_of_tuesday(morning, site):
    page = morning.follow(morning.page.get_by_role("link", name="summit", exact=True))
    page = morning.follow(page.get_by_role("row", name="tuesday.csv").get_by_role("link"))
    assert page.url == f"{site.url}/runs/{site.tuesday}"
    assert morning.sees(page.get_by_role("heading", name="Rejected rows")) == "Rejected rows: 4"
    first = page.locator("details").first
    assert morning.sees(first.get_by_text("jobs at summit.example"))
    assert morning.sees(first.locator("summary .n")) == "3 ×"
    for place in page.locator("summary .n").all()[:2]:
        morning.sees(place)


def test_when_the_next_file_comes(morning):
    cell = morning.page.get_by_role("row", name="late").locator("td[data-label='Next expected']")
    assert "ago" in morning.sees(cell)


def test_the_pictures_of_the_documents_are_those_of_the_pages(chromium, site, tmp_path):
    """They are taken by ``python -m tests.e2e.console.pictures``. Pixels differ between machines, so they are not compared."""
    pictures.take(chromium, site, tmp_path)
    taken = {path.name for path in tmp_path.iterdir()}
    assert taken == {path.name for path in pictures.PICTURES.iterdir()}
    for path in pictures.PICTURES.iterdir():
        assert path.stat().st_size <= MAX_PICTURE, path.name
