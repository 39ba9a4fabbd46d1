"""The handlers of the API, one module for each resource, and the table of their addresses."""

from syncd.api.endpoints.job_history import history_entry
from syncd.api.endpoints.routes import ROUTES, add_routes

__all__ = ["ROUTES", "add_routes", "history_entry"]
