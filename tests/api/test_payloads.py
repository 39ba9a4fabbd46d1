"""The answer of a read, which is made without a Job, is that of a write, byte for byte."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncd.api.payloads import Renderer
from syncd.domain import (
    Actor,
    ActorKind,
    ArchivedBy,
    Catalogue,
    CloseOrigin,
    Create,
    Job,
    Location,
    Salary,
    Status,
)
from syncd.store import Store, employers, jobs
from tests.amounts import examples
from tests.stores import store_url

CATALOGUE = Catalogue.default()
RENDER, PERIODS = Renderer(CATALOGUE), sorted(CATALOGUE.periods)
ACTOR = Actor(ActorKind.KEY, 1)

texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=40)
amounts = st.none() | st.decimals(0, 10**12 - 1, places=4).map(lambda value: value.normalize())
salaries = st.none() | st.builds(
    Salary, amounts, amounts, st.none() | st.sampled_from(PERIODS), st.booleans()
)
places = st.lists(
    st.builds(Location, st.integers(1, 10**9), texts, texts, st.just("city")), min_size=1, max_size=3
)
postings = st.builds(
    Job,
    id=st.just(0),
    employer_id=st.just(1),
    reference_id=st.none(),
    title=texts,
    published_at=st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
    publish_date=st.dates(date(1, 1, 1), date(9999, 1, 1)),
    close_date=st.dates(date(1, 1, 1), date(9999, 12, 31)),
    close_origin=st.sampled_from(CloseOrigin),
    confidential=st.booleans(),
    auto_refresh=st.booleans(),
    status=st.sampled_from(Status),
    locations=places.map(tuple),
    categories=st.lists(st.integers(1, 60), max_size=4).map(tuple),
    position_type=st.none() | st.integers(1, 9),
    salary=salaries,
    description=st.none() | texts,
    routing=st.none() | st.integers(1, 2),
    application_email=st.none() | texts,
    application_url=st.none() | texts,
    archived_by=st.none() | st.sampled_from(ArchivedBy),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("shown") / "store.db"
    with Store.open(store_url(path), timezone=ZoneInfo("America/Toronto")) as store:
        yield store


@pytest.fixture(scope="module")
def employer(store):
    return store.write(lambda tx: employers.add(tx, "Acme Ltd."))


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(posting=postings)
def test_a_job_read_for_an_answer_is_rendered_as_the_job_itself(store, employer, posting):
    (job,) = store.write(lambda tx: jobs.apply(tx, [Create(posting)], ACTOR))
    shown = store.read(lambda tx: jobs.shown(tx, employer.id, job.id))
    assert shown is not None
    assert RENDER.job(shown, employer) == RENDER.job(job, employer)
