# ruff: noqa: N803, N806, N815 - the names are the specification's, and types are made where they are needed
"""The server to compare with: the same three operations in FastAPI + SQLModel + uvicorn, written as their guides do.

It does less work than syncd: keys are in memory, places are not looked up, there is no history and no log, and a list
does not read the descriptions. Its database in SQLite has the same page size, cache, journal and ``synchronous=FULL``; on
PostgreSQL it is a database of the same server as that of syncd.
"""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

import sqlalchemy as sa
from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request, Response
from pydantic import BaseModel, ConfigDict, EmailStr, HttpUrl, field_validator, model_validator
from pydantic import Field as Value
from sqlalchemy.orm import defer
from sqlmodel import Field, Session, SQLModel, col, create_engine, func, select

EMPLOYER = {"id": 1, "name": "Bench"}
KEYS: dict[str, int] = {}
POSITIONS = {1: "Full Time", 2: "Part Time", 3: "Contract", 4: "Temp", 5: "Volunteer"}
PERIODS = {
    1: ("Yearly", "Year"),
    2: ("Monthly", "Month"),
    3: ("Weekly", "Week"),
    4: ("Daily", "Day"),
    5: ("Hourly", "Hour"),
}
ROUTINGS = {1: "Email", 2: "URL"}
_REFUSED = re.compile(
    r"<(?!/?(?:li|p|b|br|i|em|ul|ol|div|strong)\s*/?>|/a\s*>|a(?:\s+(?:href|target)=\"[^\"<>]*\")+\s*>)"
)


# --- the table ---------------------------------------------------------------------------------------------


class Job(SQLModel, table=True):
    __table_args__ = (
        sa.UniqueConstraint("employer_id", "reference_id"),
        sa.Index("job_list", "employer_id", "published_at", "id"),
    )
    id: int | None = Field(default=None, primary_key=True)
    employer_id: int
    reference_id: str | None = None
    title: str
    published_at: datetime
    close_date: date
    confidential: bool = False
    auto_refresh: bool = False
    status: str = "draft"
    locations: list[dict[str, Any]] = Field(sa_type=sa.JSON)
    categories: list[dict[str, Any]] = Field(sa_type=sa.JSON)
    position_type: int | None = None
    salary_amount: float | None = None
    salary_max: float | None = None
    salary_period: int | None = None
    salary_commission: bool = False
    routing: int | None = None
    application_email: str | None = None
    application_url: str | None = None
    description: str | None = None


# --- what comes in -----------------------------------------------------------------------------------------


class In(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Id(In):
    id: int


class LocationIn(In):
    description: str = Value(min_length=1, max_length=300)


class SalaryIn(In):
    amount: Decimal | None = Value(None, ge=0, max_digits=16, decimal_places=4)
    maxAmount: Decimal | None = Value(None, ge=0, max_digits=16, decimal_places=4)
    period: Id | None = None
    plusCommission: bool = False


class JobIn(In):
    referenceId: str = Value(min_length=1, max_length=50)
    title: str | None = Value(None, min_length=1, max_length=256)
    closeDate: date | None = None
    confidential: bool = False
    autoRefresh: bool = False
    status: Literal["active", "archived", "draft"] = "draft"
    locations: list[LocationIn] | None = Value(None, min_length=1, max_length=3)
    categories: list[Id] | None = Value(None, min_length=1, max_length=3)
    positionType: Id | None = None
    salary: SalaryIn | None = None
    description: str | None = None
    applicantRoutingType: Id | None = None
    applicationEmail: EmailStr | None = None
    applicationUrl: HttpUrl | None = None

    @field_validator("description")
    @classmethod
    def allowed_html(cls, text: str | None) -> str | None:
        if text and _REFUSED.search(text):
            raise ValueError("disallowed HTML")
        return text

    @model_validator(mode="after")
    def has_address(self) -> "JobIn":
        if (self.applicantRoutingType or Id(id=0)).id == 1 and not self.applicationEmail:
            raise ValueError("applicationEmail is required")
        return self

    def columns(self) -> dict[str, Any]:
        """Return the values of the fields that were sent, by column."""
        sent = self.model_dump(exclude_unset=True)
        found = {_COLUMNS[name]: value for name, value in sent.items() if name in _COLUMNS}
        if self.locations:
            found["locations"] = [
                {"id": 1, "name": p.description, "description": p.description, "type": "city"}
                for p in self.locations
            ]
        if self.categories:
            found["categories"] = [{"id": c.id, "name": f"Category {c.id}"} for c in self.categories]
        if self.positionType:
            found["position_type"] = self.positionType.id
        if self.applicantRoutingType:
            found["routing"] = self.applicantRoutingType.id
        if self.salary:
            found |= {
                "salary_amount": self.salary.amount and float(self.salary.amount),
                "salary_max": self.salary.maxAmount and float(self.salary.maxAmount),
                "salary_period": self.salary.period and self.salary.period.id,
                "salary_commission": self.salary.plusCommission,
            }
        return found


_COLUMNS = {
    "referenceId": "reference_id",
    "title": "title",
    "closeDate": "close_date",
    "confidential": "confidential",
    "autoRefresh": "auto_refresh",
    "status": "status",
    "description": "description",
    "applicationEmail": "application_email",
}


# --- what goes out -----------------------------------------------------------------------------------------


class Named(BaseModel):
    id: int
    name: str


class Place(Named):
    description: str
    type: str


class Period(Named):
    unit: str


class SalaryOut(BaseModel):
    amount: float | None
    maxAmount: float | None
    period: Period | None
    plusCommission: bool


class Head(BaseModel):
    id: int
    referenceId: str | None
    employer: Named
    title: str
    publishDate: date
    locations: list[Place]
    confidential: bool
    status: str


class Whole(Head):
    closeDate: date
    autoRefresh: bool
    categories: list[Named]
    positionType: Named | None
    salary: SalaryOut | None
    description: str | None
    applicantRoutingType: Named | None
    applicationEmail: str | None
    applicationUrl: str | None


class Paging(BaseModel):
    total: int
    page: int
    pages: int
    pageSize: int
    previous: str | None
    next: str | None


class Page(BaseModel):
    data: list[Head]
    paging: Paging


def head(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "referenceId": job.reference_id,
        "employer": EMPLOYER,
        "title": job.title,
        "publishDate": job.published_at.date(),
        "locations": job.locations,
        "confidential": job.confidential,
        "status": job.status,
    }


def whole(job: Job) -> dict[str, Any]:
    period = PERIODS.get(job.salary_period or 0)
    salary = {
        "amount": job.salary_amount,
        "maxAmount": job.salary_max,
        "period": period and {"id": job.salary_period, "name": period[0], "unit": period[1]},
        "plusCommission": job.salary_commission,
    }
    return {
        **head(job),
        "closeDate": job.close_date,
        "autoRefresh": job.auto_refresh,
        "categories": job.categories,
        "positionType": job.position_type and {"id": job.position_type, "name": POSITIONS[job.position_type]},
        "salary": salary if job.salary_amount is not None or job.salary_commission else None,
        "description": job.description,
        "applicantRoutingType": job.routing and {"id": job.routing, "name": ROUTINGS[job.routing]},
        "applicationEmail": job.application_email if job.routing == 1 else None,
        "applicationUrl": job.application_url if job.routing == 2 else None,
    }


# --- the application ---------------------------------------------------------------------------------------


def connect(url: str) -> sa.Engine:
    """Return an engine for the database at ``url``, with a connection for each thread that FastAPI may use."""
    if url.startswith("postgresql"):
        return create_engine(url, pool_size=40)
    engine = create_engine(url, connect_args={"check_same_thread": False}, pool_size=40)

    @sa.event.listens_for(engine, "connect")
    def _prepare(driver: Any, _record: object) -> None:
        for pragma in (
            "page_size=16384",
            "journal_mode=WAL",
            "synchronous=FULL",
            "cache_size=-16000",
            "busy_timeout=10000",
        ):
            driver.execute(f"PRAGMA {pragma}")

    return engine


def prepare(url: str, bodies: Iterator[dict[str, Any]]) -> None:
    """Fill the database with the same jobs."""
    engine = connect(url)
    SQLModel.metadata.create_all(engine)
    now = datetime.now(UTC)
    defaults = {
        "employer_id": 1,
        "published_at": now,
        "close_date": (now + timedelta(days=60)).date(),
        "salary_commission": False,
    }
    defaults |= {"confidential": False, "auto_refresh": False}
    with engine.begin() as connection:
        rows = [{**defaults, **JobIn.model_validate(body).columns()} for body in bodies]
        connection.execute(sa.insert(Job), rows)


def make_app(url: str, key: str) -> FastAPI:
    engine = connect(url)
    KEYS[key] = 1
    app = FastAPI()

    def session() -> Iterator[Session]:
        with Session(engine) as opened:
            yield opened

    def employer(api_key: Annotated[str, Header()]) -> int:
        if api_key not in KEYS:
            raise HTTPException(401)
        return KEYS[api_key]

    Database = Annotated[Session, Depends(session)]
    Owner = Annotated[int, Depends(employer)]

    @app.get("/api/v1.1/jobs/{job_id}", response_model=Whole)
    def get_job(job_id: int, db: Database, owner: Owner) -> Any:
        job = db.get(Job, job_id)
        if job is None or job.employer_id != owner:
            raise HTTPException(404)
        return whole(job)

    @app.get("/api/v1.1/jobs", response_model=Page)
    def list_jobs(
        request: Request,
        db: Database,
        owner: Owner,
        page: Annotated[int, Query(ge=1)] = 1,
        pageSize: Annotated[int, Query(ge=1)] = 10,
    ) -> Any:
        size = min(pageSize, 100)
        mine = col(Job.employer_id) == owner
        total = db.exec(select(func.count()).select_from(Job).where(mine)).one()
        wanted = select(Job).where(mine).options(defer(Job.description))  # type: ignore[arg-type]
        newest = wanted.order_by(col(Job.published_at).desc(), col(Job.id).desc())
        found = db.exec(newest.offset((page - 1) * size).limit(size)).all()
        pages = -(-total // size)
        url = request.url.include_query_params
        return {
            "data": [head(job) for job in found],
            "paging": {
                "total": total,
                "page": page,
                "pages": pages,
                "pageSize": size,
                "previous": str(url(page=page - 1)) if page > 1 else None,
                "next": str(url(page=page + 1)) if page < pages else None,
            },
        }

    @app.put("/api/v1.1/jobs", response_model=Whole)
    def put_job(sent: JobIn, db: Database, owner: Owner, response: Response) -> Any:
        same = select(Job).where(Job.employer_id == owner, Job.reference_id == sent.referenceId)
        job = db.exec(same).first()
        if job is None:
            if not (sent.title and sent.locations and sent.categories):
                raise HTTPException(422)
            now = datetime.now(UTC)
            job = Job(employer_id=owner, published_at=now, close_date=(now + timedelta(days=60)).date())  # type: ignore[call-arg]
            response.status_code = 201
        job.sqlmodel_update(sent.columns())
        db.add(job)
        db.commit()
        db.refresh(job)
        return whole(job)

    return app


def serve(url: str, key: str, port: int) -> None:
    import uvicorn

    uvicorn.run(
        make_app(url, key), host="127.0.0.1", port=port, log_level="warning", access_log=False, loop="auto"
    )
