"""The pages, one module each: ``ROUTES`` has its addresses (path below the prefix → method → handler), and each handler returns a
page or, for a program, JSON."""

from syncd.console.pages import (
    decision_pages,
    employers_page,
    feed_pages,
    jobs_page,
    preview_page,
    run_pages,
    service_page,
)

PAGES = (feed_pages, run_pages, decision_pages, jobs_page, employers_page, service_page, preview_page)
