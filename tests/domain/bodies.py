"""A whole body of a job, and the check of a body: its fields or its problems."""

from decimal import Decimal

import pytest

from syncd.domain.body import check_body
from syncd.domain.catalogue import Catalogue
from syncd.errors import Invalid

CATALOGUE = Catalogue.default()
BODY = {
    "referenceId": "ACME-1",
    "title": "Welder",
    "closeDate": "2027-01-15",
    "confidential": False,
    "autoRefresh": True,
    "status": "active",
    "locations": [{"description": "Montréal, QC"}],
    "categories": [{"id": 28}],
    "positionType": {"id": 1},
    "salary": {"amount": Decimal("25.50"), "maxAmount": 30, "period": {"id": 5}, "plusCommission": False},
    "description": "<p>Weld.</p>",
    "applicantRoutingType": {"id": 1},
    "applicationEmail": "jobs@example.com",
    "applicationUrl": "https://example.com/jobs",
}
GRIN = "😀"


def faults(body, **options):
    """Return (pointer, code) of every problem of a body that is not valid."""
    with pytest.raises(Invalid) as caught:
        check_body(body, CATALOGUE, **options)
    return [(p.pointer, p.code) for p in caught.value.problems]


def sent(**fields):
    """Return the checked fields of a valid body with these members."""
    return check_body(fields, CATALOGUE).fields
