"""Search: with the index, without it, and with one that lags behind, the answer is that of a plain look at every
job."""

import random
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncd.domain import ArchivedBy, Employer, Job, Status, fold
from syncd.store import Store, Tx, employers, jobs, schema
from syncd.store.database import Asked, Window
from syncd.store.sqlite import SqliteDatabase, search, search_index
from tests.amounts import examples, some
from tests.store.board import Board, OpenStore, index_all, index_step

START = datetime(2026, 3, 2, 15, 0, tzinfo=UTC)
PAGE = 3


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few jobs are enough for the index to be asked, however far it lags behind; phrases are short."""
    monkeypatch.setattr(search, "FEW", 0)
    monkeypatch.setattr(search, "LACKING", 0.001)
    monkeypatch.setattr(search, "LONGEST", 6)


def plainly(model: list[Job], q: str, status: Status | None) -> list[int]:
    """What a look at every job finds."""
    term = fold(q)
    found = [
        job
        for job in model
        if (status is None or job.status is status)
        and (term in fold(job.title) or term in fold(job.reference_id or ""))
    ]
    return [job.id for job in sorted(found, key=lambda job: (job.published_at, job.id), reverse=True)]


def every_way(
    store: Store, employer: Employer, q: str, status: Status | None, page: int
) -> dict[str, tuple[int, list[int]]]:
    """The answer by each of the ways that are open for ``q``."""

    def look(tx: Tx) -> dict[str, tuple[int, list[int]]]:
        total, headers = jobs.page(tx, employer.id, q=q, status=status, page=page, page_size=PAGE)
        answers = {"find": (total, [header.id for header in headers])}
        asked = search.Question(tx, Asked(employer.id, fold(q), status), jobs.count(tx, employer.id))
        window = Window.of(total, page, PAGE)
        answers["scan"] = asked.first_by_scan(4).total, asked.scan(window)
        mark = asked.mark()
        if mark is not None:
            counted = asked.count_by_index(mark)
            answers["index"] = counted, asked.by_index(mark, window)
            walked = asked.walk(window)
            answers["walk"] = counted, answers["index"][1] if walked is None else walked
        return answers

    return store.read(look)


#: Few characters, so that terms meet titles: accents, letters that fold to two, wildcards, quotes, operators.
CHARACTERS = "aab bÉé%_\"'\\œß*-𝄞^:"
TITLES = st.sampled_from(["aabb", "baab", "aab É"]) | st.text(CHARACTERS, min_size=3, max_size=12)
REFERENCES = st.one_of(st.none(), st.text(CHARACTERS, min_size=1, max_size=5))
STATUSES = st.sampled_from(Status)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), TITLES, REFERENCES, STATUSES, st.integers(0, 5)),
        st.tuples(st.just("rename"), st.integers(0, 6), TITLES),
        st.tuples(st.just("archive"), st.integers(0, 6)),
        st.tuples(st.just("republish"), st.integers(0, 6), st.integers(0, 5)),
        st.tuples(st.just("delete"), st.integers(0, 6)),
        st.tuples(st.just("index"), st.integers(1, 4)),
        st.just(("index", 30)),
    ),
    min_size=5,
    max_size=30,
)
NUMBERS = count()


def do(board: Board, model: list[Job], step: tuple[Any, ...], employer: Employer) -> None:
    kind, *rest = step
    if kind == "create":
        title, reference, status, hours = rest
        if reference is None or all(job.reference_id != reference for job in model):
            at = START + timedelta(hours=hours)
            made = {"title": title, "reference_id": reference, "status": status, "published_at": at}
            model.append(board.create(employer_id=employer.id, **made))
    elif kind == "index":
        board.store.write(lambda tx: index_step(tx, rest[0]))
    elif rest[0] < len(model):
        job = model.pop(rest[0])
        if kind == "rename":
            model.append(board.update(job, title=rest[1]))
        elif kind == "archive":
            model.append(board.archive(job, ArchivedBy.PERSON))
        elif kind == "republish":
            model.append(board.update(job, published_at=START + timedelta(hours=rest[1])))
        else:
            board.delete(job)


@pytest.mark.usefixtures("eager")
@settings(
    deadline=None, max_examples=examples(80), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    steps=STEPS,
    terms=st.lists(
        st.tuples(st.text(CHARACTERS, min_size=1, max_size=9), st.none() | STATUSES, st.integers(1, 3)),
        min_size=3,
        max_size=6,
    ),
    filters=st.lists(st.none() | STATUSES, min_size=3, max_size=3),
)
def test_every_way_to_search_finds_what_a_plain_look_finds(
    board: Board, store: Store, steps: list[Any], terms: list[Any], filters: list[Any]
) -> None:
    employer = store.write(lambda tx: employers.add(tx, f"Employer {next(NUMBERS)}"))
    model: list[Job] = []
    for step in steps:
        do(board, model, step, employer)
    # what titles are and were: the index may still have the old ones
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
        for way, found in every_way(store, employer, q, status, page).items():
            assert found == expected, (way, q, status, page)
        for most in (1, 4):
            expected = min(len(whole), most + 1), whole[:most][(page - 1) * PAGE : page * PAGE]
            assert first(store, employer, q, status, page, most=most) == expected, (q, status, page, most)


def first(
    store: Store, employer: Employer, q: str, status: Status | None, page: int, *, most: int
) -> tuple[int, list[int]]:
    """A page of the first ``most`` jobs."""
    total, headers = store.read(
        lambda tx: jobs.page(tx, employer.id, q=q, status=status, page=page, page_size=PAGE, most=most)
    )
    return total, [header.id for header in headers]


@pytest.mark.usefixtures("eager")
def test_of_a_term_that_more_jobs_have_than_are_listed_the_rest_is_not_counted(
    board: Board, store: Store, employer: Employer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        board.create(title=f"Baker {number}")
    index_all(store)
    board.update(board.create(title="Baker"), title="Miller")
    monkeypatch.delattr(search.Question, "count_by_index")
    monkeypatch.delattr(search.Question, "first_by_scan")
    assert first(store, employer, "baker", None, 1, most=7)[0] == 8
    assert len(first(store, employer, "baker", None, 3, most=7)[1]) == 1
    assert first(store, employer, "ba", None, 4, most=7) == (8, [])


def test_the_index_is_asked_for_three_characters_of_an_employer_with_many_jobs(
    board: Board, store: Store, employer: Employer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FEW", 3)
    few = store.write(lambda tx: employers.add(tx, "Few"))
    for number in range(5):
        board.create(title=f"Baker {number}")
    for number in range(3):
        board.create(title=f"Baker {number}", employer_id=few.id)

    def asked(owner: Employer, term: str) -> bool:
        return store.read(
            lambda tx: search.Question(tx, Asked(owner.id, term), jobs.count(tx, owner.id)).mark() is not None
        )

    assert not asked(employer, "bak")  # all five are lacking
    index_all(store)
    assert asked(employer, "bak")
    assert not asked(employer, "ba")
    assert not asked(few, "bak")
    board.create(title="Miller", employer_id=few.id)
    assert not asked(employer, "bak")  # more than a fiftieth of the jobs is lacking
    index_all(store)
    assert asked(employer, "bak")
    assert asked(few, "bak")


@pytest.mark.usefixtures("eager")
def test_a_common_term_is_found_by_a_walk_and_a_rare_one_by_the_index(
    board: Board, store: Store, employer: Employer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SPARE", 0)
    for number in range(400):
        title = "Rare" if number == 8 else "Common" if number % 2 else "Other"
        board.create(title=title, published_at=START + timedelta(hours=number))
    index_all(store)

    def walked(term: str, page: int = 1) -> list[int] | None:
        def look(tx: Tx) -> list[int] | None:
            asked = search.Question(tx, Asked(employer.id, term), 400)
            mark = asked.mark()
            assert mark is not None
            return asked.walk(Window.of(asked.count_by_index(mark), page, 10))

        return store.read(look)

    assert len(walked("common") or ()) == len(walked("common", 20) or ()) == 10
    assert walked("common", 21) == []
    assert walked("rare") is None


@pytest.mark.usefixtures("eager")
def test_a_walk_that_turns_out_too_long_gives_up(
    board: Board, store: Store, employer: Employer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All jobs with the term are the oldest: a walk from the front would pass all the others first."""
    monkeypatch.setattr(search, "SPARE", 0)
    for number in range(200):
        board.create(title="Old" if number < 40 else "Recent", published_at=START + timedelta(hours=number))
    index_all(store)

    def look(tx: Tx) -> list[int] | None:
        asked = search.Question(tx, Asked(employer.id, "old"), 200)
        return asked.walk(Window.of(40, 1, 10))

    assert store.read(look) is None
    assert every_way(store, employer, "old", None, 1)["find"][0] == 40
    assert len(every_way(store, employer, "old", None, 1)["find"][1]) == PAGE


@pytest.mark.usefixtures("eager")
def test_a_store_without_the_index_gets_it_when_it_is_opened(
    board: Board, path: Path, open_store: OpenStore
) -> None:
    baker = board.create(title="Baker")
    index_all(board.store)
    board.update(baker, title="Miller")
    with sqlite3.connect(path) as other:
        other.execute("DROP TABLE job_search")
    other.close()
    again = open_store()
    assert again.read(search_index.lacks)
    index_all(again)
    for q, total in (("miller", 1), ("baker", 0)):
        assert {found[0] for found in every_way(again, board.employer, q, None, 1).values()} == {total}


@pytest.mark.usefixtures("eager")
def test_an_index_that_this_sqlite_cannot_read_is_left_alone_and_made_anew_later(
    board: Board, store: Store, path: Path, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    board.create(title="Baker")
    index_all(store)
    store.close()
    with monkeypatch.context() as without:
        without.setattr(search_index, "_CREATE", "CREATE VIRTUAL TABLE job_search USING fts_of_old (search)")
        with sqlite3.connect(path) as other:
            other.execute("DROP TABLE job_search")
        other.close()
        store = open_store()
        assert not store.index_some()
        assert set(every_way(store, board.employer, "bak", None, 1)) == {"find", "scan"}
        store.close()
    store = open_store()
    index_all(store)
    assert every_way(store, board.employer, "bak", None, 1)["index"][0] == 1


def test_a_step_that_took_in_all_there_was_does_not_ask_for_another(board: Board, store: Store) -> None:
    """Otherwise an indexer beside a client that writes would commit after each of its writes."""
    for number in range(5):
        board.create(title=f"Baker {number}")
    assert [store.write(lambda tx: index_step(tx, 3)) for _ in range(3)] == [
        True,
        False,
        False,
    ]
    assert store.read(search_index.lacks) is False


def with_first_schema(path: Path, source: Path) -> None:
    """A store as the first version left it, with the jobs of ``source``."""
    database = SqliteDatabase(path)
    with database.migration() as connection:
        schema.upgrade(connection, "0001")
    session = database.writer()
    session.execute("ATTACH ? AS source", (str(source),))
    for table in ("employer", "job", "job_total", "counter"):
        session.execute(f"INSERT INTO {table} SELECT * FROM source.{table}")
    session.close()


@pytest.mark.usefixtures("eager")
def test_a_store_of_the_first_schema_is_brought_up_with_its_jobs(
    board: Board, path: Path, tmp_path: Path
) -> None:
    baker, miller = (board.create(title=title, reference_id=title) for title in ("Baker", "Miller"))
    with_first_schema(tmp_path / "old.db", path)
    with Store.open(f"sqlite:///{tmp_path}/old.db", timezone=ZoneInfo("UTC")) as old:
        assert old.read(schema.version) == schema.HEAD
        assert old.read(lambda tx: jobs.by_ids(tx, [baker.id, miller.id])) == {1: baker, 2: miller}
        assert every_way(old, board.employer, "bak", None, 1)["find"] == (1, [baker.id])
        index_all(old)
        other = type(board)(old, board.employer)
        other.update(baker, title="Brewer")
        other.delete(miller)
        for q, total in (("brewer", 1), ("bak", 1), ("mill", 0)):
            answers = every_way(old, board.employer, q, None, 1)
            assert {found[0] for found in answers.values()} == {total}, (q, answers)
            assert "index" in answers


_BUSY = """
import random, sys, threading
from zoneinfo import ZoneInfo
from syncd.domain import Actor, ActorKind, JobInput, Place
from syncd.errors import NotFound
from syncd.store import Store, employers
from syncd.store.jobs import upsert
from syncd.store.sqlite import search_index

store = Store.open(sys.argv[1], timezone=ZoneInfo("UTC"), exclusive=True)
employer = store.write(lambda tx: employers.add(tx, "Acme"))
actor, chance = Actor(ActorKind.KEY, 1), random.Random(sys.argv[2])

def work():
    for number in range(100_000):
        which, title = chance.randrange(200), chance.choice(("Baker", "Miller", "Brewer"))
        sent = JobInput({"title": f"{title} {number}", "referenceId": f"R-{which}", "categories": (1,),
                         "locations": (Place("Montréal", "QC"),)})
        try:
            if chance.random() < 0.2:
                store.write(lambda tx: upsert.delete_reference(tx, employer.id, f"R-{which}", actor))
            else:
                store.write(lambda tx: upsert.put(tx, employer.id, sent, actor))
        except NotFound:
            pass
        print(number, flush=True)

def index():
    while True:
        store.write(lambda tx: search_index.step(tx, tx.search, 7))

threading.Thread(target=index, daemon=True).start()
work()
"""


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("writes", some([150, 30, 400], 1))
def test_a_kill_leaves_the_index_as_far_as_it_says(path: Path, open_store: OpenStore, writes: int) -> None:
    command = [sys.executable, "-c", _BUSY, f"sqlite:///{path}", str(writes)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(writes + random.randrange(20)):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    store = open_store()
    [employer] = store.read(employers.all)
    model = store.read(lambda tx: jobs.after(tx, employer.id, 0, 1_000))
    for stage in ("killed", "indexed"):
        store.write(lambda tx: tx.execute("INSERT INTO job_search (job_search) VALUES ('integrity-check')"))
        for q in ("baker", "mill", "r-1", "rew"):
            expected = plainly(model, q, None)
            answers = every_way(store, employer, q, None, 1)
            assert set(answers) == {"find", "scan", "index", "walk"}
            for way, found in answers.items():
                assert found == (len(expected), expected[:PAGE]), (stage, way, q)
        index_all(store)


@pytest.mark.usefixtures("eager")
def test_a_job_that_the_index_has_with_an_older_text_is_there_once(
    board: Board, store: Store, employer: Employer
) -> None:
    first, second, third = (board.create(title=f"Baker {number}") for number in range(3))
    index_all(store)
    board.update(third, title="Bakery")
    board.archive(second, ArchivedBy.PERSON)
    for q, status, ids in (
        ("baker", None, [third.id, second.id, first.id]),
        ("baker ", None, [second.id, first.id]),
        ("baker", Status.ACTIVE, [third.id, first.id]),
        ("baker", Status.ARCHIVED, [second.id]),
    ):
        for way, found in every_way(store, employer, q, status, 1).items():
            assert found == (len(ids), ids), (way, q, status)
