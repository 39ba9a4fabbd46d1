"""The handlers of the API, one module for each kind of resource: ``catalogues``, ``documentation`` and ``jobs``."""
