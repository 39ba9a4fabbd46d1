"""The pages, one module each: ``ROUTES`` has its addresses, and each handler returns a page or, for a program, JSON."""

__all__ = [
    "decision_pages",
    "employers_page",
    "feed_page",
    "jobs_page",
    "keys_page",
    "live_page",
    "login_page",
    "overview_page",
    "preview_page",
    "run_page",
    "runs_page",
    "service_page",
]
