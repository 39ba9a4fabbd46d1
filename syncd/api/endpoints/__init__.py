"""The handlers of the API, one module for each kind of resource."""

__all__ = ["catalogues", "documentation", "jobs"]
