"""A job as plain values, the way the store keeps it: text, numbers and booleans, dates in ISO form, exact
amounts as text. Without what only a transaction knows: id, version, instant of publication, places."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import cast

from msgspec import Struct

from syncd.domain.job import Job, Place, Status
from syncd.domain.text import fold

#: The names of the values of ``flat``, in its order.
FLAT = (
    "employer_id",
    "reference_id",
    "title",
    "publish_date",
    "close_date",
    "close_origin",
    "confidential",
    "auto_refresh",
    "status",
    "categories",
    "position_type",
    "salary_amount",
    "salary_max",
    "salary_period",
    "salary_commission",
    "routing",
    "application_email",
    "application_url",
    "archived_by",
    "description",
    "search",
)
Flat = tuple[str | int | None, ...]


def flat(job: Job) -> Flat:
    """The values of FLAT."""
    salary = job.salary
    return (
        job.employer_id,
        job.reference_id,
        job.title,
        job.publish_date.isoformat(),
        job.close_date.isoformat(),
        job.close_origin.value,
        job.confidential,
        job.auto_refresh,
        job.status.value,
        _ids(job.categories),
        job.position_type,
        decimal_text(salary.amount) if salary else None,
        decimal_text(salary.max_amount) if salary else None,
        salary.period if salary else None,
        salary.plus_commission if salary else None,
        job.routing,
        job.application_email,
        job.application_url,
        job.archived_by.value if job.archived_by else None,
        job.description,
        search_text(job),
    )


def search_text(job: Job) -> str:
    """What ``q`` looks in: folded title and referenceId, on two lines so that no term matches across."""
    return f"{fold(job.title)}\n{fold(job.reference_id or '')}"


def decimal_text(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:f}"


@lru_cache(maxsize=4096)
def _ids(ids: tuple[int, ...]) -> str:
    """As JSON."""
    return f"[{','.join(map(str, ids))}]"


class NewJob(Struct, frozen=True):
    """A job to be inserted, worked out before it is known what is in the store: its flat ``values``, and its
    ``places`` as they were written."""

    values: Flat
    places: tuple[Place, ...]

    @property
    def employer_id(self) -> int:
        return cast("int", self.values[0])

    @property
    def reference_id(self) -> str | None:
        return cast("str | None", self.values[1])

    @property
    def status(self) -> Status:
        return _STATUS[cast("str", self.values[_STATUS_AT])]


_STATUS_AT = FLAT.index("status")
_STATUS = {status.value: status for status in Status}
