"""A partner's reports, one for each way in which a run can end, in each language: what tests and the pictures of docs/feeds.md
share.

``python -m tests.e2e.partner_reports`` takes the pictures."""

import csv
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from syncd import languages
from syncd.cli.entry import run
from tests.e2e.console.world import launched

PICTURES = Path(__file__).parents[2] / "docs" / "reports"
SIZE = {"width": 720, "height": 640}
#: Language → employer and the names of his columns.
PARTNERS = {
    "en": ("Harbour Bakery", "ID,Job Title,City,Province,Sector,Description,Apply URL,Closing Date"),
    "fr": (
        "Boulangerie du Port",
        "Numéro,Titre du poste,Ville,Province,Secteur,Description du poste,Lien,Date limite",
    ),
}
Row = list[str]


def _row(
    number: int, title: str = "", city: str = "Laval", province: str = "QC", closing: str = "2099-11-30"
) -> Row:
    names = ("Baker", "Cook", "Cashier", "Driver", "Pastry chef")
    name = title or f"{names[number % len(names)]} {number}"
    text = "<p>You bake bread at night.</p>"
    return [
        f"-{number}",
        name,
        city,
        province,
        "Food & Beverage",
        text,
        "https://port.example/jobs",
        closing,
    ]


_GOOD = [_row(number) for number in range(1, 31)]
_BAD = [
    *(_row(number, " ") for number in (31, 32, 36)),
    _row(33, city="Lavall"),
    _row(34, closing="soon"),
    _row(35, closing="05/06/2099"),
]


def reports(base: Path, language: str) -> dict[str, Path]:
    """Make an installation in ``base`` and return way of ending → the page of a run that ended so."""
    employer, header = PARTNERS[language]
    folder = base / "config" / "feeds.d"
    folder.mkdir(parents=True)
    (base / "config" / "syncd.toml").write_text(f'language = "{language}"\n')

    made: dict[str, Path] = {}

    def call(*arguments: str) -> None:
        code = run(["--config", str(base / "config" / "syncd.toml"), *arguments])
        assert code in (0, 1, 3), arguments

    def deliver(feed: str, rows: list[Row] | str, name: str = "jobs.csv") -> None:
        path = base / name
        with path.open("w", newline="", encoding="utf-8") as file:
            if isinstance(rows, str):
                file.write(rows)
            else:
                # a referenceId belongs to one feed
                csv.writer(file).writerows(
                    [header.split(","), *([f"{len(made) + 1}{row[0]}", *row[1:]] for row in rows)]
                )
        call("import", str(path), feed)

    call("employer", "add", employer)
    number = 0

    def way(
        name: str, *files: list[Row] | str, after: Callable[[int], None] | None = None, before: int = 0
    ) -> None:
        """``before``: the files after that of the report."""
        nonlocal number
        (folder / f"{name}.toml").write_text(f'employer = "{employer}"\npreset = "csv"\n')
        for rows in files:
            deliver(name, rows)
        number += len(files)
        of = number - before
        if after is not None:
            after(of)
        (made[name],) = (base / "feeds" / "drop" / name).glob(f"*/{of}-*.report.html")

    way("applied", _GOOD)
    way("partial", [*_GOOD, *_BAD[:4]])
    way("held-archive", _GOOD, _GOOD[:8])
    way("held-all", _GOOD, [*_GOOD[:10], *_BAD])
    way("failed", "<!doctype html><html><body>Not found</body></html>")
    way("declined", _GOOD, _GOOD[:8], after=lambda run: call("runs", "reject", str(run)))
    way("approved", _GOOD, _GOOD[:8], after=lambda run: call("runs", "approve", str(run)))
    way("superseded", _GOOD, _GOOD[:8], _GOOD, before=1)
    way("unchanged", _GOOD, _GOOD)
    return made


def take(browser: Any, base: Path, folder: Path) -> Iterator[str]:
    """Write a picture of each report in each language to ``folder``; yield their names."""
    page = browser.new_page(viewport=SIZE)
    for language in languages.names():
        for name, path in reports(base / language, language).items():
            page.goto(f"file://{path}")
            picture = f"{name}-{language}.png"
            page.screenshot(path=folder / picture)
            yield picture
    page.close()


def main() -> None:
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        browser = launched(playwright, program)
        print("\n".join(take(browser, Path(place), PICTURES)))
        browser.close()


if __name__ == "__main__":
    main()
