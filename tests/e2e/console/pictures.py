"""Take the pictures of docs/pages.md: ``python -m tests.e2e.console.pictures [FOLDER]``.

With a folder, every page is taken whole, at both widths and in both themes, to be looked at."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.e2e.console.world import Looked, Site, launched, site

PICTURES = Path(__file__).parents[3] / "docs" / "pages"
#: Pages of the documentation, as ``Site.pages`` names them, and the size of their pictures.
SHOWN = (
    *("overview", "feed-held", "runs", "run-held", "approve", "preview"),
    *("jobs", "job", "employers", "employer", "service", "previewed"),
)
SIZE = {"width": 720, "height": 390}


def take(browser: Any, found: Site, folder: Path, whole: bool) -> None:
    """Write a picture of each page to ``folder``."""
    looked = Looked(browser, viewport=SIZE, reduced_motion="reduce")
    looked.log_in(found.url)
    for name, path in found.pages().items():
        if whole or name in SHOWN:
            looked.page.goto(found.url + path)
            _take_one(looked.page, name, folder, whole)
    for name, lead in found.forms().items():
        if whole or name in SHOWN:
            looked.page.set_viewport_size(SIZE)
            lead(looked.page)
            _take_one(looked.page, name, folder, whole)
    looked.close()


def _take_one(page: Any, name: str, folder: Path, whole: bool) -> None:
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width in (1280, 390) if whole else (SIZE["width"],):
            page.set_viewport_size({**SIZE, "width": width})
            size = f"-{width}" if whole else ""
            page.screenshot(path=folder / f"{name}-{theme}{size}.png", full_page=whole)


def main() -> None:
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    folder = Path(sys.argv[1]) if sys.argv[1:] else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, site(Path(place)) as found, sync_playwright() as playwright:
        browser = launched(playwright, program)
        take(browser, found, folder, whole=bool(sys.argv[1:]))
        browser.close()


if __name__ == "__main__":
    main()
