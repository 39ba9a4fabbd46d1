"""The catalogues of the API, and their names there."""

from __future__ import annotations

from typing import NamedTuple


class CatalogueResource(NamedTuple):
    """One catalogue. ``catalogue`` is its name in the domain (``JobField.catalogue``), ``schema`` the name of an entry in
    the OpenAPI document, ``plural`` the name of all entries there, ``about`` the same in words."""

    catalogue: str
    schema: str
    plural: str
    about: str

    @property
    def path(self) -> str:
        """The path of the list under the base path."""
        return f"/{self.plural.lower()}"


CATALOGUES = (
    CatalogueResource("position_types", "PositionType", "PositionTypes", "position types"),
    CatalogueResource("categories", "Category", "Categories", "job categories"),
    CatalogueResource("periods", "SalaryPeriod", "SalaryPeriods", "salary periods"),
    CatalogueResource(
        "routing_types", "ApplicantRoutingType", "ApplicantRoutingTypes", "applicant routing types"
    ),
)
#: Name of a catalogue in the domain → name of the schema of its entries.
SCHEMAS = {resource.catalogue: resource.schema for resource in CATALOGUES}
