"""The page of a run whose file has many faults."""

import re
import time
from html import unescape

from syncd.domain import FeedWarning, RejectedRow
from syncd.errors import Problem
from syncd.store import run_results
from syncd.sync.report import letter_of
from syncd.sync.report.files.html import render_html
from syncd.sync.report.reports import partner_report
from tests.amounts import WHOLE

#: More than a page could group once; the seconds of the processor that the page may take.
ROWS, MAX_SECONDS = 100_000 if WHOLE else 12_000, 0.3


def _rejected(number):
    errors = [Problem("/title", "required", "a job needs a title")]
    if number % 3 == 0:
        errors = [
            Problem(
                f"/locations/{number % 2}/description", "unknown_place", "it is not known", f"Town {number}"
            )
        ]
    if number % 1000 == 7:
        errors.append(Problem("/closeDate", "invalid_date", "it is not a date", "soon"))
    return RejectedRow(number, number + 1, f"r{number}", tuple(errors))


async def test_rejected_rows_are_counted_to_the_last_one_and_as_report_and_command_count_them(
    browse, world, command
):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 2))
    warnings = [FeedWarning("title_cut", f"title cut to {n % 7} characters", n) for n in range(1, ROWS)]
    world.board.store.write(lambda tx: run_results.add_warnings(tx, 1, warnings))
    world.board.store.write(lambda tx: run_results.add_rejected(tx, 1, map(_rejected, range(1, ROWS + 1))))
    browser, took = await browse(), []
    for _ in range(3):
        began = time.process_time()  # of all threads: other processes take their share of the clock
        page = (await browser.get("/runs/1"))[1]
        took.append(time.process_time() - began)
    assert min(took) < MAX_SECONDS
    kinds = re.findall(r'<span class="n">([\d,]+) ×</span>(\S+): <code>(\w+)', page)
    places, dates = ROWS // 3, len(range(7, ROWS + 1, 1000))
    assert kinds == [
        (f"{ROWS - places:,}", "/title", "required"),
        (f"{places:,}", "/locations/description", "unknown_place"),
        (f"{dates:,}", "/closeDate", "invalid_date"),
    ]
    assert f'<span class="n">{ROWS - 1:,} ×</span><code>title_cut</code>' in page
    shown = command("runs", "show", "1", text=True)
    assert re.findall(r"([\d,]+) ×  (\S*) +(\w+)  ", shown)[:3] == kinds
    assert re.findall(r"([\d,]+) × +title_cut", shown) == [f"{ROWS - 1:,}"]
    report = world.board.store.read(
        lambda tx: render_html(partner_report(tx, 1, None), letter_of(tx, "acme"))
    )
    assert [re.sub(r"\D", "", number) for number in re.findall(r'<span class="n">([\d,]+) ', report)][:3] == [
        str(ROWS - places),
        str(places),
        str(dates),
    ]
    assert (
        "The first rows: record 7, line 8 (<code>r7</code>); record 1,007, line 1,008 (<code>r1007</code>)"
        in unescape(page)
    )
