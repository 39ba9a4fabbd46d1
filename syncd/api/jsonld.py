"""A job as a JobPosting of schema.org in JSON-LD, with the members that search engines ask for.

It is for the public: a confidential job shows neither its employer nor where applications go. Times are in the time zone of
the service: a posting is valid through its last day.
"""

from __future__ import annotations

from syncd.api.payloads import Shape, encode
from syncd.domain import ADDRESSES, Catalogue, Employer, Job, Location, Salary, exact

JSON_LD = "application/ld+json"
CURRENCY = "CAD"
#: Position type id → schema.org employmentType; one that is not here is OTHER.
EMPLOYMENT_TYPES = {1: "FULL_TIME", 2: "PART_TIME", 3: "CONTRACTOR", 4: "TEMPORARY", 5: "VOLUNTEER"}


class JsonLd:
    """Renders jobs with the names of one catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def job(self, job: Job, employer: Employer) -> bytes:
        """Return a JobPosting without the members that the job lacks."""
        places = [_place(place) for place in job.locations]
        shape = {
            "@context": "https://schema.org",
            "@type": "JobPosting",
            "title": job.title,
            "description": job.description,
            "identifier": _identifier(job, employer),
            "datePosted": job.publish_date.isoformat(),
            "validThrough": f"{job.close_date.isoformat()}T23:59:59",
            "employmentType": _employment(job.position_type),
            "hiringOrganization": _organization(job, employer),
            "jobLocation": places[0] if len(places) == 1 else places,
            "occupationalCategory": self._categories(job),
            "baseSalary": self._salary(job.salary),
            "incentiveCompensation": "Commission" if job.salary and job.salary.plus_commission else None,
            "applicationContact": _contact(job),
        }
        return encode({name: value for name, value in shape.items() if value is not None})

    def _categories(self, job: Job) -> list[str]:
        found = (self._catalogue.categories.get(id) for id in job.categories)
        return [entry.name for entry in found if entry is not None]

    def _salary(self, salary: Salary | None) -> Shape | None:
        if salary is None or salary.amount is None:
            return None
        period = self._catalogue.periods.get(salary.period or 0)
        amount, most = exact(salary.amount), exact(salary.max_amount)
        value: Shape = {"value": amount} if most is None else {"minValue": amount, "maxValue": most}
        if period is not None:
            value["unitText"] = period.unit.upper()
        value = {"@type": "QuantitativeValue", **value}
        return {"@type": "MonetaryAmount", "currency": CURRENCY, "value": value}


def _employment(position_type: int | None) -> str | None:
    return None if position_type is None else EMPLOYMENT_TYPES.get(position_type, "OTHER")


def _identifier(job: Job, employer: Employer) -> Shape:
    owner = {} if job.confidential else {"name": employer.name}
    return {"@type": "PropertyValue", **owner, "value": job.reference_id or str(job.id)}


def _organization(job: Job, employer: Employer) -> Shape | str:
    return "confidential" if job.confidential else {"@type": "Organization", "name": employer.name}


def _place(place: Location) -> Shape:
    province = place.description.removeprefix(place.name).removeprefix(", ")
    region = {"addressRegion": province} if province else {}
    address = {"@type": "PostalAddress", "addressLocality": place.name, **region, "addressCountry": "CA"}
    return {"@type": "Place", "address": address}


def _contact(job: Job) -> Shape | None:
    if job.confidential or job.routing is None:
        return None
    # (The kinds of the addresses, email and url, are the names of schema.org too.)
    address = next(field for field in ADDRESSES if field.routing == job.routing)
    value = getattr(job, address.attribute)
    return {"@type": "ContactPoint", "contactType": "applications", address.kind.value: value}
