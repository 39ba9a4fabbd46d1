"""The OpenAPI 3.1 document, made from what runs: routes, limits, catalogues, rules, the table of errors."""

from syncd.api.openapi.document import document

__all__ = ["document"]
