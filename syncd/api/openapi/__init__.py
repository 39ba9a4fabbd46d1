"""The OpenAPI 3.1 document, made from the routes, limits, catalogues, rules and codes of the running service."""

from syncd.api.openapi.document import document

__all__ = ["document"]
