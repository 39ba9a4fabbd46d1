"""A whole job, made by a decision, and its changes as the store would keep them."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from syncd.domain.decisions import Create, Reject, Unchanged, Update
from syncd.domain.job import Job, JobInput, Location, Moment, Status
from syncd.domain.lifecycle import decide

TODAY = date(2026, 11, 21)
NOW = Moment(datetime(2026, 11, 21, 15, 0, tzinfo=UTC), TODAY)
LATER = Moment(datetime(2026, 12, 1, 15, 0, tzinfo=UTC), date(2026, 12, 1))
LAVAL = Location(1, "Laval", "Laval, QC")
REGINA = Location(2, "Regina", "Regina, SK")
FIELDS = {
    "referenceId": "A-1",
    "title": "Welder",
    "status": Status.ACTIVE,
    "locations": (LAVAL,),
    "categories": (28,),
    "positionType": 1,
    "salary": {"amount": Decimal("25.5"), "period": 5},
    "description": "<p>Weld.</p>",
    "applicantRoutingType": 1,
    "applicationEmail": "jobs@example.com",
    "applicationUrl": "https://example.com",
}


def put(current: Job | None, now: Moment = NOW, /, **fields: object) -> Any:
    """Return the decision on a body that the employer sent."""
    return decide(current, JobInput(fields), now, employer_id=9)


def stored(decision: Create | Update | Unchanged | Reject) -> Job:
    if isinstance(decision, Create):
        return replace(decision.job, id=1, version=1)
    if isinstance(decision, Update):
        return replace(decision.job, version=decision.job.version + 1)
    assert isinstance(decision, Unchanged)
    return decision.job


def job(**changes: Any) -> Job:
    return replace(stored(put(None, **FIELDS)), **changes)
