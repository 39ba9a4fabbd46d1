"""Search: after all kinds of changes, and in each way to find jobs, the answer is that of a plain look at every job."""

from datetime import timedelta
from itertools import count, product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncd.domain import ArchivedBy, Employer, Job, Status
from syncd.store import Tx, employers, jobs
from syncd.store.postgres import search as postgres_search
from syncd.store.sqlite import search_index as sqlite_search
from tests.amounts import examples
from tests.store.board import START, Board, ask, plainly
from tests.stores import POSTGRES

PAGE = 3
#: Few characters, so that terms meet titles: accents, letters that fold to two, wildcards, quotes, operators.
CHARACTERS = "aab bÉé%_\"'\\œß*-𝄞^:$1"
TITLES = st.sampled_from(["aabb", "baab", "aab É"]) | st.text(CHARACTERS, min_size=3, max_size=12)
REFERENCES = st.one_of(st.none(), st.text(CHARACTERS, min_size=1, max_size=5))
STATUSES = st.sampled_from(Status)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), TITLES, REFERENCES, STATUSES, st.integers(0, 5)),
        st.tuples(st.just("rename"), st.integers(0, 6), TITLES),
        st.tuples(st.just("refer"), st.integers(0, 6), TITLES),
        st.tuples(st.just("archive"), st.integers(0, 6)),
        st.tuples(st.just("republish"), st.integers(0, 6), st.integers(0, 5)),
        st.tuples(st.just("delete"), st.integers(0, 6)),
        st.tuples(st.just("index"), st.integers(1, 4)),
        st.just(("index", 30)),
    ),
    min_size=5,
    max_size=30,
)
TERMS = st.lists(
    st.tuples(st.text(CHARACTERS, min_size=1, max_size=9), st.none() | STATUSES, st.integers(1, 3)),
    min_size=3,
    max_size=6,
)
NUMBERS = count()


@pytest.fixture(params=product((0, 2, 500), (0, 1_000)), ids=str)
def _ways(request, monkeypatch):
    """How many jobs are sorted, and the part of the jobs that the index may lack: 0 looks at each job where it lacks one."""
    most, lacking = request.param
    monkeypatch.setattr(sqlite_search, "MAX_SORTED", most)
    monkeypatch.setattr(sqlite_search, "MAX_LACKING", lacking)
    monkeypatch.setattr(sqlite_search, "MAX_INDEXED", 6)
    monkeypatch.setattr(postgres_search, "MAX_SORTED", most)
    monkeypatch.setattr(postgres_search, "SPARE", lacking)


def do(board: Board, model: list[Job], step: tuple[Any, ...], employer: Employer) -> None:
    kind, *rest = step
    if kind == "create":
        title, reference, status, hours = rest
        if reference is None or all(job.reference_id != reference for job in model):
            at = START + timedelta(hours=hours)
            made = {"title": title, "reference_id": reference, "status": status, "published_at": at}
            model.append(board.create(employer_id=employer.id, **made))
    elif kind == "index":
        if not POSTGRES:
            board.store.write(lambda tx: sqlite_search.add(tx, rest[0]))
    elif rest[0] < len(model):
        job = model.pop(rest[0])
        if kind == "rename":
            model.append(board.update(job, title=rest[1]))
        elif kind == "refer":
            model.append(board.update(job, reference_id=f"{rest[1]} {job.id}"))
        elif kind == "archive":
            model.append(board.archive(job, ArchivedBy.PERSON))
        elif kind == "republish":
            model.append(board.update(job, published_at=START + timedelta(hours=rest[1])))
        else:
            board.delete(job)


@pytest.mark.usefixtures("_ways")
@settings(
    deadline=None, max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=STEPS, terms=TERMS, filters=st.lists(st.none() | STATUSES, min_size=3, max_size=3))
def test_every_search_finds_the_jobs_that_a_plain_look_finds(board, store, steps, terms, filters):
    employer = store.write(lambda tx: employers.add(tx, f"Employer {next(NUMBERS)}"))
    model: list[Job] = []
    for step in steps:
        do(board, model, step, employer)
    # titles of now and before: the index may still have the old ones
    titles = dict.fromkeys(
        text for _, *rest in steps for text in rest[:2] if isinstance(text, str) and len(text) > 2
    )
    cut = [
        (title[:size], status, 1)
        for title in titles
        for size, status in zip((3, 5, 12), filters, strict=True)
    ]
    for q, status, page in [*terms, *cut]:
        whole = plainly(model, q, status)
        expected = len(whole), whole[(page - 1) * PAGE : page * PAGE]
        assert ask(store, employer, q, status, page, size=PAGE) == expected, (q, status, page)


@pytest.mark.usefixtures("_ways")
@pytest.mark.parametrize("q", ["ba", "baker"])
def test_the_pages_of_a_search_are_all_of_it_once(board, store, employer, q):
    made = [
        board.create(title="Baker" if number % 2 else "Miller", published_at=START + timedelta(hours=number))
        for number in range(40)
    ]
    bakers = [job.id for job in made[::-1] if job.title == "Baker"]
    store.index_some()
    for size in (1, 3, 7, 20, 100):
        pages = [ask(store, employer, q, None, page, size=size) for page in range(1, 20 // size + 3)]
        assert {total for total, _ in pages} == {20}
        assert [job_id for _, ids in pages for job_id in ids] == bakers
    assert ask(store, employer, q, None, 2**31 - 1, size=100) == (20, [])
    assert ask(store, employer, q, Status.DRAFT) == (0, [])


@pytest.mark.usefixtures("_ways")
def test_jobs_that_are_all_at_the_end_of_the_list_are_found(board, store, employer):
    made = [
        board.create(title="Old" if number < 8 else "Recent", published_at=START + timedelta(hours=number))
        for number in range(60)
    ]
    store.index_some()
    old = [job.id for job in made[:8]][::-1]
    assert ask(store, employer, "old") == (8, old[:PAGE])
    assert ask(store, employer, "old", None, 3) == (8, old[6:])
    assert ask(store, employer, "ol") == (8, old[:PAGE])


def test_a_search_sees_one_moment_and_the_next_one_what_was_written(board, store, employer, open_store):
    """The job is renamed by another process, between the two searches of one transaction."""
    baker = board.create(title="Baker")
    other = Board(open_store(), employer)

    def look_twice(tx: Tx) -> list[int]:
        totals = []
        for _ in range(2):
            totals.append(jobs.page(tx, employer.id, q="baker", status=None, page=1, page_size=9)[0])
            if len(totals) == 1:
                other.update(baker, title="Miller")
        return totals

    assert store.read(look_twice) == [1, 1]
    assert ask(store, employer, "baker") == (0, [])
    assert ask(store, employer, "miller") == (1, [baker.id])
