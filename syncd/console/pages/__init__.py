"""The pages, one module each: ``ROUTES`` has its addresses, and each handler returns a page or, for a program, JSON."""

__all__ = ["decision_pages", "login_page", "overview_page", "run_page", "runs_page"]
