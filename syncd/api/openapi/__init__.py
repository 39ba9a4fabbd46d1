"""The OpenAPI 3.1 document and the operations that it describes, made from the limits, catalogues, rules and codes of the
running service."""

from syncd.api.openapi.document import openapi_document
from syncd.api.openapi.operations import OPERATIONS
