"""The handlers of the API, one module for each resource."""
