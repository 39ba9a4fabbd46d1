"""Take the pictures of docs/pages.md: ``python -m tests.e2e.console.pictures [FOLDER]``.

With a folder, every page is taken whole, at both widths and in both themes, to be looked at."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.e2e.console.world import Looked, Site, launched, site

PICTURES = Path(__file__).parents[3] / "docs" / "pages"
#: Pages of the documentation, as ``Site.pages`` names them.
SHOWN = (
    *("overview", "feed", "runs", "run-held", "approve", "run-rejected-rows", "preview"),
    *("jobs", "job", "employers", "employer", "service"),
)


def take(browser: Any, found: Site, folder: Path, whole: bool) -> None:
    """Write a picture of each page to ``folder``."""
    looked = Looked(browser, viewport={"width": 1100, "height": 760}, reduced_motion="reduce")
    looked.log_in(found.url)
    for name, path in found.pages().items():
        if not whole and name not in SHOWN:
            continue
        looked.page.goto(found.url + path)
        for theme in ("light", "dark"):
            looked.page.emulate_media(color_scheme=theme)
            for width in (1280, 390) if whole else (1100,):
                looked.page.set_viewport_size({"width": width, "height": 760})
                looked.page.screenshot(path=folder / f"{name}-{theme}-{width}.png", full_page=whole)
    looked.close()


def main() -> None:
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    folder = Path(sys.argv[1]) if sys.argv[1:] else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, site(Path(place)) as found, sync_playwright() as playwright:
        browser = launched(playwright, program)
        take(browser, found, folder, whole=bool(sys.argv[1:]))
        browser.close()


if __name__ == "__main__":
    main()
