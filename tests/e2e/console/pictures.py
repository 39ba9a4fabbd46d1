"""Take the pictures of docs/pages.md: ``python -m tests.e2e.console.pictures [FOLDER]``.

With a folder, every page is taken whole there, to be looked at."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.e2e.console.world import Looked, Site, launched, site

PICTURES = Path(__file__).parents[3] / "docs" / "pages"
#: Pages of the documentation, as ``Site.pages`` names them.
SHOWN = ("overview", "run-held", "run-rejected-rows")
#: Width → height of a picture, and what follows the theme in its name.
SIZES = {1366: (900, ""), 390: (844, "-390")}


def take(browser: Any, found: Site, folder: Path, *, everything: bool = False) -> None:
    """Write a picture of each page of the documentation to ``folder``, or (``everything``) of each page there is, whole."""
    looked = Looked(browser, reduced_motion="reduce")
    looked.log_in(found.url)
    for name, path in found.pages().items():
        if everything or name in SHOWN:
            looked.page.goto(found.url + path)
            _take_one(looked.page, name, folder, everything)
    for name, lead in found.forms().items() if everything else ():
        lead(looked.page)
        _take_one(looked.page, name, folder, everything)
    looked.close()


def _take_one(page: Any, name: str, folder: Path, whole: bool) -> None:
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width, (height, end) in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            page.screenshot(path=folder / f"{name}-{theme}{end}.png", full_page=whole)


def main() -> None:
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    folder = Path(sys.argv[1]) if sys.argv[1:] else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, site(Path(place)) as found, sync_playwright() as playwright:
        browser = launched(playwright, program)
        take(browser, found, folder, everything=bool(sys.argv[1:]))
        browser.close()


if __name__ == "__main__":
    main()
