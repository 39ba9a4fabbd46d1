"""The catalogues: what is shipped, what the configuration makes of it, and how an entry is found by a name."""

from syncd.domain.catalogue.catalogues import (
    MAX_CATEGORY_NAME,
    MAX_POSITION_NAME,
    SHOWN_MEMBERS,
    Catalogue,
    CatalogueEntry,
)
