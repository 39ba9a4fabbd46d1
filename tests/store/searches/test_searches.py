"""Searches that remember what they found: the answer is always that of a look at every job, whatever changes jobs."""

import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from syncd.domain import ArchivedBy, Create, Employer, Job, Status, fold
from syncd.store import Store, Tx, employers, history, jobs, searches
from syncd.store.database import FIRST, Asked
from syncd.store.postgres import search as postgres_search
from syncd.store.search_memory import answers, text_words
from syncd.store.search_memory import words as word_memory
from syncd.store.searches import changes, remembered, words
from syncd.store.sqlite import search as sqlite_search
from tests.amounts import examples
from tests.clock import Clock
from tests.store.board import ACTOR, START, Board, OpenStore
from tests.stores import change, store_url

PAGE = 2


@pytest.fixture(autouse=True)
def _eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an employer with few jobs searches are remembered, with few ids, and words are counted."""
    monkeypatch.setattr(remembered, "FEW", 0)
    monkeypatch.setattr(words, "MANY", 0)
    monkeypatch.setattr(sqlite_search, "FEW", 0)
    monkeypatch.setattr(sqlite_search, "LACKING", 0.001)
    monkeypatch.setattr(postgres_search, "FEW", 0)
    monkeypatch.setattr(postgres_search, "ALL", 1)
    for module in (remembered, changes, sqlite_search, postgres_search):
        monkeypatch.setattr(module, "FIRST", 3)


def ask(
    store: Store,
    employer: Employer,
    q: str,
    status: Status | None = None,
    page: int = 1,
    *,
    size: int = PAGE,
    most: int | None = None,
) -> tuple[int, list[int]]:
    return store.read(lambda tx: look(tx, employer, q, status, page, size=size, most=most))


def look(
    tx: Tx,
    employer: Employer,
    q: str,
    status: Status | None = None,
    page: int = 1,
    *,
    size: int = PAGE,
    most: int | None = None,
) -> tuple[int, list[int]]:
    total, found = jobs.page(tx, employer.id, q=q, status=status, page=page, page_size=size, most=most)
    return total, [header.id for header in found]


def plainly(
    store: Store, employer: Employer, q: str, status: Status | None, page: int, *, most: int | None
) -> tuple[int, list[int]]:
    """What a look at every job finds."""
    term = fold(q)
    found = [
        job
        for job in store.read(lambda tx: jobs.after(tx, employer.id, 0, 10_000, status=status))
        if term in fold(job.title) or term in fold(job.reference_id or "")
    ]
    ids = [job.id for job in sorted(found, key=lambda job: (job.published_at, job.id), reverse=True)]
    total = len(ids) if most is None else min(len(ids), most + 1)
    return total, ids[:most][(page - 1) * PAGE : page * PAGE]


# -- any writes ----------------------------------------------------------------------------------------------

TITLES = st.sampled_from(["aab", "aabb", "baab É", "b", "c", "aab 12", "1b2"])
WHICH = st.integers(0, 6)
WRITES = st.one_of(
    st.tuples(st.just("create"), st.integers(0, 1), TITLES, st.sampled_from(Status)),
    st.tuples(st.just("rename"), WHICH, TITLES),
    st.tuples(st.just("reference"), WHICH, TITLES),
    st.tuples(st.just("archive"), WHICH),
    st.tuples(st.just("republish"), WHICH, st.integers(0, 5)),
    st.tuples(st.just("delete"), WHICH),
    st.tuples(st.just("undone"), TITLES),
    st.tuples(st.just("prune"), st.integers(0, 8)),
    st.just(("index",)),
    st.tuples(st.just("words"), st.sampled_from([1, 2, 100])),
)
SEARCHES = st.tuples(
    st.sampled_from(["a", "aa", "aab", "aabb", "b", "e", "zz", "b ", "1", "12"]),
    st.none() | st.sampled_from(Status),
    st.integers(1, 3),
    st.none() | st.integers(1, 4),
)
NAMES = (f"Employer {number}" for number in count())


class Stores:
    """Two stores in one place, as two processes have them, and the jobs of two employers that are written through both."""

    def __init__(self, first: Store, second: Store, clock: Clock) -> None:
        self.both, self.clock = (first, second), clock
        self.employers = [first.write(lambda tx: employers.add(tx, next(NAMES))) for _ in range(2)]
        self.jobs: list[Job] = []
        self._turn = count()

    def write(self, kind: str, *values: Any) -> None:
        store = self.both[next(self._turn) % 2]
        board = Board(store, self.employers[0])
        self.clock.forward(hours=1)
        if kind == "create":
            owner, title, status = values
            self.jobs.append(board.create(title=title, status=status, employer_id=self.employers[owner].id))
        elif kind == "prune":
            before = self.clock() - timedelta(hours=values[0])
            store.write(lambda tx: history.prune(tx, before))
        elif kind == "index":
            store.index_some()
        elif kind == "words":
            for each in self.both:
                going = iter([True] * values[0])
                each.count_words(lambda: next(going, False))  # noqa: B023 - called at once
        elif kind == "undone":
            self._undone(board, values[0])
        elif values[0] < len(self.jobs):
            job = self.jobs.pop(values[0])
            if kind == "delete":
                board.delete(job)
                return
            if kind == "archive":
                job = board.archive(job, ArchivedBy.PERSON)
            elif kind == "rename":
                job = board.update(job, title=values[1])
            elif kind == "reference":
                job = board.update(job, reference_id=f"{values[1]} {job.id}")
            else:
                job = board.update(job, published_at=START + timedelta(hours=values[1]))
            self.jobs.append(job)

    def _undone(self, board: Board, title: str) -> None:
        """Create a job, search within the transaction, and undo all of it."""

        def fail(tx: Tx) -> None:
            jobs.apply(tx, [Create(board.job(title=title))], ACTOR)
            for q in ("a", "aab"):
                look(tx, board.employer, q)
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            board.store.write(fail)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    made=st.lists(st.tuples(TITLES, st.sampled_from(Status)), min_size=2, max_size=5),
    writes=st.lists(WRITES, min_size=3, max_size=12),
    asked=st.lists(SEARCHES, max_size=4),
    checked=st.sampled_from([0, 2, 1_000]),
    followed=st.sampled_from([1, 3, 200]),
    most=st.sampled_from([0, 2, 1_000]),
    first_ids=st.sampled_from([3, 1_000]),
    batch=st.sampled_from([1, 2, 1_000]),
    rare=st.sampled_from([(0, 0), (2, 1), (5_000, 0), (5_000, 1_000)]),
)
def test_an_answer_is_that_of_a_look_at_every_job_after_any_writes(
    open_store: OpenStore,
    clock: Clock,
    *,
    made: list[Any],
    writes: list[Any],
    asked: list[Any],
    checked: int,
    followed: int,
    most: int,
    first_ids: int,
    batch: int,
    rare: tuple[int, int],
) -> None:
    asked = [("a", None, 1, None), ("aab", None, 1, None), ("b", Status.ACTIVE, 2, None), *asked]
    with pytest.MonkeyPatch.context() as patched, open_store() as first, open_store() as second:
        patched.setattr(changes, "CHECKED", checked)
        patched.setattr(changes, "FOLLOWED", followed)
        patched.setattr(words, "CHECKED", checked)
        patched.setattr(words, "BEHIND", followed)
        patched.setattr(words, "BATCH", batch)
        for name, value in zip(("RARE", "ALL"), rare, strict=True):
            patched.setattr(text_words, name, value)
        patched.setattr(answers, "MOST", most)
        patched.setattr(remembered, "FIRST", first_ids)
        patched.setattr(changes, "FIRST", first_ids)
        stores = Stores(first, second, clock)
        for write in [*(("create", 0, *job) for job in made), *writes]:
            stores.write(*write)
            for q, status, page, limit in asked:
                expected = plainly(first, stores.employers[0], q, status, page, most=limit)
                for store in stores.both:
                    found = ask(store, stores.employers[0], q, status, page, most=limit)
                    assert found == expected, (write, q, status, page, limit)


# -- one by one ----------------------------------------------------------------------------------------------


def test_an_answer_is_remembered_until_many_jobs_of_the_employer_change(
    board: Board, store: Store, employer: Employer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another program writes into the table of jobs is not in the history: it shows which answers are remembered."""
    other = store.write(lambda tx: employers.add(tx, "Other"))
    old, new, _ = (board.create(title=title).id for title in ("Baker", "Baker", "Miller"))

    def answers() -> list[tuple[int, list[int]]]:
        return [ask(store, employer, q, size=1) for q in ("baker", "báker", "BA")]

    assert answers() == [(2, [new])] * 3
    change(path, f"UPDATE job SET search = 'none' WHERE id = {old}")
    assert answers() == [(2, [new])] * 3
    board.create(employer_id=other.id)
    assert answers() == [(2, [new])] * 3
    board.create(employer_id=other.id)
    board.create(title="Miller")
    assert answers() == [(2, [new])] * 3
    newest = board.create(title="Baker").id
    assert answers() == [(3, [newest])] * 3
    monkeypatch.setattr(changes, "FOLLOWED", 2)
    for title in ("Miller", "Miller", "Baker"):
        newest = board.create(title=title).id
    assert answers() == [(3, [newest])] * 3


@pytest.mark.parametrize("most", [None, 4, 7, 9])
@pytest.mark.parametrize("first", [3, 1_000])
@pytest.mark.parametrize("q", ["ba", "baker"])
def test_the_pages_of_a_search_are_those_of_the_first_time(
    board: Board,
    store: Store,
    employer: Employer,
    *,
    q: str,
    first: int,
    most: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remembered, "FIRST", first)
    made = [board.create(title="Baker").id for _ in range(9)][::-1]
    total, listed = (9, made) if most in (None, 9) else (most + 1, made[:most])
    for page, size in [
        (3, 2),
        (1, 2),
        (1, 3),
        (2, 2),
        (2, 3),
        (4, 2),
        (5, 2),
        (6, 2),
        (3, 3),
        (1, 9),
        (9, 1),
    ] * 2:
        expected = listed[(page - 1) * size : page * size]
        assert ask(store, employer, q, None, page, size=size, most=most) == (total, expected), (page, size)


@pytest.mark.parametrize("q", ["ba", "baker"])
def test_a_page_that_was_asked_for_and_those_before_it_are_not_looked_for_again(
    board: Board, store: Store, employer: Employer, path: Path, *, monkeypatch: pytest.MonkeyPatch, q: str
) -> None:
    monkeypatch.setattr(remembered, "FIRST", 1_000)
    made = [board.create(title="Baker").id for _ in range(9)][::-1]
    for page in (1, 2, 3):
        ask(store, employer, q, None, page)
    change(path, "UPDATE job SET search = 'none'")
    for page in (1, 2, 3):
        assert ask(store, employer, q, None, page) == (9, made[(page - 1) * PAGE : page * PAGE])


def count_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    for count_jobs in ("count_by_index", "first_by_scan"):
        monkeypatch.delattr(sqlite_search.Question, count_jobs)
    for count_jobs in ("count", "up_to"):
        monkeypatch.delattr(postgres_search._Having, count_jobs)


@pytest.mark.parametrize("first", [3, 1_000])
def test_what_a_change_of_some_jobs_means_for_a_common_term_is_not_counted_again(
    board: Board, store: Store, employer: Employer, *, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "FIRST", first)
    monkeypatch.setattr(changes, "FIRST", first)
    made = [board.create(title="Baker") for _ in range(7)]
    totals = [(q, status) for q in ("baker", "ba") for status in (None, Status.ACTIVE, Status.ARCHIVED)]
    for q, status in totals:
        ask(store, employer, q, status)
    count_no_more(monkeypatch)
    board.update(made[0], title="Miller")
    made[1] = board.update(made[1], title="Bakers")
    board.archive(made[2], ArchivedBy.PERSON)
    board.delete(made[3])
    made[4] = board.update(made[4], published_at=made[6].published_at + timedelta(days=1))
    made.append(board.create(title="A baker"))
    found = [ask(store, employer, q, status, size=9) for q, status in totals]
    listed = [made[number].id for number in (4, 7, 6, 5, 2, 1)]
    active = [job_id for job_id in listed if job_id != made[2].id]
    assert found == [(6, listed), (5, active), (1, [made[2].id])] * 2
    gone = board.create(title="Baker")
    board.delete(gone)
    assert [ask(store, employer, q, status, size=9) for q, status in totals] == found


@pytest.mark.parametrize("q", ["ba", "baker"])
def test_a_job_that_is_published_again_comes_first(
    board: Board, store: Store, employer: Employer, clock: Clock, *, q: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "FIRST", 1_000)
    made = [board.create(title="Baker") for _ in range(3)]
    listed = [job.id for job in reversed(made)]
    for page in (1, 2):
        ask(store, employer, q, page=page)
    board.update(made[0], published_at=clock() + timedelta(days=1))
    assert ask(store, employer, q, size=3) == (3, [listed[2], *listed[:2]])


def test_a_search_that_was_counted_in_part_is_counted_when_fewer_have_the_term(
    board: Board, store: Store, employer: Employer
) -> None:
    made = [board.create(title="Baker") for _ in range(4)]
    listed = [job.id for job in reversed(made)]
    for number, expected in enumerate([(3, 2), (3, 2), (2, 2), (1, 1)]):
        assert ask(store, employer, "baker", most=2) == (expected[0], listed[number:][: expected[1]])
        board.update(made[3 - number], title="Miller")


def test_the_second_search_of_a_common_term_counts_nothing(
    board: Board, store: Store, employer: Employer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [board.create(title="Baker").id for _ in range(9)][::-1]
    assert ask(store, employer, "baker") == ask(store, employer, "ba") == (9, made[:2])
    count_no_more(monkeypatch)
    for page in range(1, 7):
        expected = made[(page - 1) * PAGE : page * PAGE]
        assert (
            ask(store, employer, "baker", page=page) == ask(store, employer, "ba", page=page) == (9, expected)
        )


def test_a_look_at_one_moment_gets_the_answer_of_that_moment(
    board: Board, store: Store, employer: Employer
) -> None:
    baker = board.create(title="Baker")
    seen, go_on = threading.Event(), threading.Event()
    answers: list[Any] = []

    def at_one_moment(tx: Tx) -> None:
        answers.append(look(tx, employer, "baker"))
        seen.set()
        go_on.wait(30)
        answers.append(look(tx, employer, "baker"))
        answers.append(look(tx, employer, "mil"))

    thread = threading.Thread(target=store.read, args=(at_one_moment,))
    thread.start()
    seen.wait(30)
    board.update(baker, title="Miller")
    after = [ask(store, employer, "baker"), ask(store, employer, "mil")]
    go_on.set()
    thread.join()
    assert answers == [(1, [baker.id]), (1, [baker.id]), (0, [])]
    assert after == [ask(store, employer, "baker"), ask(store, employer, "mil")] == [(0, []), (1, [baker.id])]


def test_an_answer_is_not_used_when_the_numbers_of_changes_begin_again(
    board: Board, store: Store, employer: Employer, clock: Clock
) -> None:
    made = [board.create(title="Baker") for _ in range(3)]
    assert ask(store, employer, "baker", size=9)[0] == 3
    clock.forward(days=100)
    assert store.write(lambda tx: history.prune(tx, clock())) == 3
    for number, job in enumerate(made, start=1):
        board.update(job, title="Miller")
        if number == 3:
            assert ask(store, employer, "baker") == (0, [])


def test_an_answer_is_not_used_when_a_change_since_was_pruned(
    board: Board, store: Store, employer: Employer, clock: Clock
) -> None:
    other = store.write(lambda tx: employers.add(tx, "Other"))
    baker = board.create(title="Baker")
    assert ask(store, employer, "baker")[0] == 1
    board.update(baker, title="Miller")
    clock.forward(days=100)
    board.create(employer_id=other.id)
    assert store.write(lambda tx: history.prune(tx, clock())) == 2
    assert ask(store, employer, "baker") == (0, [])


_RENAME = """
import sys
from zoneinfo import ZoneInfo
from syncd.domain import Actor, ActorKind, JobInput
from syncd.store import Store
from syncd.store.jobs import upsert

with Store.open(sys.argv[1], timezone=ZoneInfo("UTC")) as store:
    sent = JobInput({"title": sys.argv[4]})
    store.write(lambda tx: upsert.update(tx, int(sys.argv[2]), int(sys.argv[3]), sent, Actor(ActorKind.KEY, 1)))
"""


def test_an_answer_is_not_used_after_another_process_changed_a_job(
    board: Board, store: Store, employer: Employer, path: Path
) -> None:
    baker = board.create(title="Baker")
    for old, new in (("Baker", "Miller"), ("Miller", "Baker")):
        assert ask(store, employer, old) == (1, [baker.id])
        values = (store_url(path), str(employer.id), str(baker.id), new)
        subprocess.run([sys.executable, "-c", _RENAME, *values], check=True)
        assert ask(store, employer, old) == (0, [])
        assert ask(store, employer, new) == (1, [baker.id])


def test_what_is_remembered_is_bounded(
    board: Board, store: Store, employer: Employer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "MOST", 3)
    terms = ["a" * 200, "ba", "bak", "bake"]
    job = board.create(title="Baker", reference_id="r")
    board.update(job, title="a" * 256)
    job = board.create(title="Baker")
    for term in [*terms, "ba", "a" * 201]:
        assert ask(store, employer, term)[0] == 1
    assert len(store.search_memory) == 3
    change(path, "UPDATE job SET search = 'none'")
    assert [ask(store, employer, term)[0] for term in ("ba", "bak", "bake", *terms[:1], "a" * 201)] == [
        1,
        1,
        1,
        0,
        0,
    ]
    for number in range(100):
        ask(store, employer, f"{number}")
    assert len(store.search_memory) == 3


def test_few_ids_are_remembered_of_a_search(
    board: Board, store: Store, employer: Employer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert FIRST == 1_000
    for _ in range(9):
        board.create(title="Baker")
    for q in ("ba", "baker"):
        for size in (1, 9):
            for page in (1, 5):
                ask(store, employer, q, page=page, size=size)
        kept = store.search_memory.get(Asked(employer.id, q))
        assert kept is not None
        assert len(kept.found.first) <= 3


# -- words ------------------------------------------------------------------------------------------------


def go_on() -> bool:
    return True


@pytest.fixture
def bakers(board: Board, store: Store, employer: Employer) -> list[Job]:
    """Seven jobs, of which the words are counted."""
    made = [board.create(title=f"Baker {number}", reference_id=f"R-{number}") for number in range(7)]
    ask(store, employer, "ba")
    store.count_words(go_on)
    return made


def elsewhere(*steps: Callable[[], object]) -> None:
    """Do the steps in another thread, one after the other, while this one is in a transaction."""
    for step in steps:
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()


def test_words_count_what_was_never_asked_for(
    board: Board, store: Store, employer: Employer, bakers: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    count_no_more(monkeypatch)
    for q in ("bak", "baker", "er ", "E"):
        for status in (None, Status.ACTIVE):
            assert ask(store, employer, q, status, 2) == (7, [bakers[4].id, bakers[3].id])
            assert ask(store, employer, q, status, 2, most=3) == (4, [bakers[4].id])
    assert ask(store, employer, "k", Status.DRAFT) == ask(store, employer, "astronaut") == (0, [])
    board.update(bakers[6], title="Miller")
    board.archive(bakers[5], ArchivedBy.PERSON)
    board.delete(bakers[4])
    newest = board.create(title="A baker")
    assert ask(store, employer, "bake") == (6, [newest.id, bakers[5].id])
    assert ask(store, employer, "bake", Status.ACTIVE) == (5, [newest.id, bakers[3].id])
    assert ask(store, employer, "mi") == (1, [bakers[6].id])


def test_words_count_also_what_is_in_reference_ids(
    board: Board, store: Store, employer: Employer, bakers: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    count_no_more(monkeypatch)
    assert ask(store, employer, "r") == ask(store, employer, "r-") == (7, [bakers[6].id, bakers[5].id])
    board.update(bakers[6], reference_id="X-6")
    assert ask(store, employer, "R-") == (6, [bakers[5].id, bakers[4].id])
    assert ask(store, employer, "x", Status.ACTIVE) == (1, [bakers[6].id])


def test_words_count_one_digit_and_two(
    board: Board, store: Store, employer: Employer, bakers: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    count_no_more(monkeypatch)
    board.archive(board.create(title="Baker 1122"), ArchivedBy.PERSON)
    board.update(bakers[6], title="Baker 7")
    assert [ask(store, employer, q)[0] for q in "0123456789"] == [1, 2, 2, 1, 1, 1, 1, 1, 0, 0]
    assert [ask(store, employer, q, status)[0] for q in ("1", "12") for status in Status] == [
        1,
        1,
        0,
        0,
        1,
        0,
    ]
    assert [ask(store, employer, q)[0] for q in ("21", "22")] == [0, 1]


def test_words_count_terms_with_digits(
    board: Board, store: Store, employer: Employer, bakers: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    long = board.create(title="Baker 312345", reference_id="R-2026-312345")
    for q in ("12345", "26-312345"):  # the digits decide that are cut off
        assert ask(store, employer, q) == (1, [long.id])
    count_no_more(monkeypatch)
    assert ask(store, employer, "ker 3") == (2, [long.id, bakers[3].id])
    assert ask(store, employer, "R-3") == (1, [bakers[3].id])
    for q in ("r-2026-31", "2026", "3123", "-31"):
        assert ask(store, employer, q) == (1, [long.id])
    assert ask(store, employer, "26-32") == (0, [])


def test_where_reference_ids_are_random_words_are_counted_anew(
    board: Board, store: Store, employer: Employer, bakers: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_words, "MOST_REFERENCES", 3)
    monkeypatch.setattr(words, "BATCH", 2)
    store.search_memory.words = word_memory.WordMemory()
    made = [board.create(title="Miller", reference_id=f"{letter}-mi") for letter in "uvwxyz"]
    ask(store, employer, "q")
    store.count_words(go_on)
    known = store.search_memory.words.get(employer.id)
    assert known is not None
    assert (known.counted, known.words.usable, known.words.random_references) == (None, True, True)
    assert ask(store, employer, "-mi") == (6, [made[5].id, made[4].id])  # a referenceId may have it
    count_no_more(monkeypatch)
    assert ask(store, employer, "mi") == (6, [made[5].id, made[4].id])
    assert ask(store, employer, "il") == ask(store, employer, "mill") == (6, [made[5].id, made[4].id])
    assert ask(store, employer, "bake") == (7, [bakers[6].id, bakers[5].id])
    assert ask(store, employer, "z") == (1, [made[5].id])
    board.update(made[5], reference_id="q-mi")
    assert ask(store, employer, "q-") == (1, [made[5].id])
    assert ask(store, employer, "z-") == (0, [])


@pytest.mark.usefixtures("bakers")
def test_of_a_term_that_few_have_only_its_jobs_are_read(
    board: Board, store: Store, employer: Employer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [board.create(title=title) for title in ('"Mill" OR 3', "Old mills", "Bakers")]
    found = [job.id for job in made[:2]]
    for search in (sqlite_search.IndexSearch, postgres_search.PostgresSearch):
        monkeypatch.delattr(search, "find")
    for q in ("l", "il", "mill"):
        assert ask(store, employer, q, Status.ACTIVE) == ask(store, employer, q) == (2, found[::-1])
        assert ask(store, employer, q, page=2, size=1) == (2, found[:1])
        assert ask(store, employer, q, page=9) == (2, [])
        assert ask(store, employer, q, Status.DRAFT) == (0, [])
        assert ask(store, employer, q, most=1) == (2, found[1:])
    board.delete(made[1])
    assert ask(store, employer, "ll") == (1, found[:1])


@pytest.mark.usefixtures("bakers")
def test_a_combining_mark_alone_is_no_term(store: Store, employer: Employer) -> None:
    listed = store.read(
        lambda tx: jobs.page(tx, employer.id, q="\u0301", status=None, page=1, page_size=PAGE)
    )
    everything = store.read(
        lambda tx: jobs.page(tx, employer.id, q=None, status=None, page=1, page_size=PAGE)
    )
    assert (listed[0], [job.id for job in listed[1]]) == (7, [job.id for job in everything[1]])


def test_words_that_are_replaced_are_freed_in_steps(
    board: Board, store: Store, employer: Employer, bakers: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "BEHIND", 1)
    memory = store.search_memory.words
    before = memory.get(employer.id)
    assert before is not None
    for job in bakers[:3]:
        board.update(job, title="Miller")
    store.count_words(go_on)
    assert memory.get(employer.id) is not before
    while memory.free_some():
        pass
    assert not before.words.usable
    assert ask(store, employer, "mill") == (3, [bakers[2].id, bakers[1].id])


def test_words_are_counted_only_of_employers_with_many_jobs(
    board: Board, store: Store, employer: Employer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "MANY", 1)
    board.create()
    ask(store, employer, "ba")
    store.count_words(go_on)
    assert not store.search_memory.words.all()
    board.create()
    ask(store, employer, "er")
    assert store.search_memory.words.all() == {employer.id: None}
    store.count_words(go_on)
    assert store.search_memory.words.get(employer.id) is not None


def test_words_are_counted_before_the_first_search(
    board: Board, store: Store, employer: Employer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "MANY", 1)
    other = store.write(partial(employers.add, name="Other"))
    for owner in (employer, employer, other):
        board.create(title="Baker", employer_id=owner.id)
    store.count_words(go_on)
    assert list(store.search_memory.words.all()) == [employer.id]
    count_no_more(monkeypatch)
    assert ask(store, employer, "ker")[0] == 2
    board.create(title="Baker", employer_id=other.id)
    store.count_words(go_on)
    assert ask(store, other, "ker")[0] == 2


def test_while_many_changes_are_made_only_employers_that_were_searched_are_counted(
    board: Board, store: Store, employer: Employer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "CHECKED", 1)
    other = store.write(partial(employers.add, name="Other"))

    def counted(*, changes: int) -> list[int]:
        for _ in range(changes):
            board.create(title="Baker", employer_id=other.id)
        store.count_words(go_on)
        return [number for number, known in store.search_memory.words.all().items() if known is not None]

    assert counted(changes=0) == counted(changes=2) == []
    ask(store, employer, "ba")
    assert counted(changes=2) == []  # it has no jobs
    board.create(title="Baker")
    ask(store, employer, "ke")
    assert counted(changes=2) == [employer.id]
    assert counted(changes=1) == [employer.id, other.id]
    count_no_more(monkeypatch)
    assert ask(store, other, "er")[0] == 7


def test_the_words_of_few_employers_are_kept_those_with_the_most_jobs_and_those_that_are_searched(
    board: Board, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_memory, "EMPLOYERS", 2)
    monkeypatch.setattr(word_memory, "RECENT", 0)
    monkeypatch.setattr(words, "EMPLOYERS", 2)
    made = [store.write(partial(employers.add, name=name)) for name in ("a", "b", "c")]
    for one, number in zip(made, (1, 3, 2), strict=True):
        for _ in range(number):
            board.create(employer_id=one.id)
    known = store.search_memory.words

    def numbers() -> list[int]:
        store.count_words(go_on)
        return [made.index(next(one for one in made if one.id == number)) for number in known.all()]

    assert numbers() == [1, 2]
    ask(store, made[0], "ba")
    assert numbers() == [0, 1]
    ask(store, made[1], "ba")
    ask(store, made[0], "er")
    ask(store, made[2], "ba")
    assert numbers() == [2, 0]
    assert [known.is_searched(one.id) for one in made] == [True, False, True]


def test_of_more_employers_that_are_searched_in_turn_some_find_their_words(
    board: Board, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_memory, "EMPLOYERS", 2)
    monkeypatch.setattr(word_memory, "RECENT", 6)
    made = [store.write(partial(employers.add, name=name)) for name in ("a", "b", "c")]
    for one in made:
        board.create(employer_id=one.id)
    known = store.search_memory.words
    for q in ("ba", "bak", "bake"):
        for one in made:
            assert ask(store, one, q)[0] == 1
        assert sorted(known.all()) == [made[0].id, made[1].id]
    for number in range(6):
        ask(store, made[0], f"{number}")
        ask(store, made[2], f"{number}")
    assert sorted(known.all()) == [made[0].id, made[2].id]


def test_a_count_before_the_first_search_stops_when_many_jobs_change(
    board: Board, store: Store, employer: Employer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("BATCH", 1), ("LOOK", 2), ("CHECKED", 3)):
        monkeypatch.setattr(words, name, value)
    other = store.write(partial(employers.add, name="Other"))
    for _ in range(9):
        board.create()
    steps = count()

    def go_on() -> bool:
        if next(steps) == 3:
            for _ in range(4):
                board.create(employer_id=other.id)
        return True

    store.count_words(go_on)
    known = store.search_memory.words.get(employer.id)
    assert known is not None
    assert known.counted is not None
    store.count_words(lambda: True)  # it is searched now
    assert known.counted is None


def test_a_count_of_words_stops_when_asked(
    board: Board, store: Store, employer: Employer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "BATCH", 2)
    for _ in range(5):
        board.create()
    ask(store, employer, "ba")
    # asked before it looks for employers, before it begins, after two jobs, after four
    going = iter([True, True, True, False])
    store.count_words(lambda: next(going))
    known = store.search_memory.words.get(employer.id)
    assert known is not None
    counted = known.counted
    assert counted is not None
    assert ask(store, employer, "bak")[0] == 5
    assert next(going, None) is None
    store.count_words(go_on)
    assert store.search_memory.words.get(employer.id) is known
    assert known.counted is None
    count_no_more(monkeypatch)
    assert ask(store, employer, "bake")[0] == 5


def test_a_count_ends_where_the_employer_has_to_make_room_for_another(
    board: Board, store: Store, employer: Employer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "BATCH", 1)
    monkeypatch.setattr(word_memory, "EMPLOYERS", 1)
    monkeypatch.setattr(word_memory, "RECENT", 0)
    other = store.write(lambda tx: employers.add(tx, "Other"))
    for one in (employer, other):
        for _ in range(5):
            board.create(employer_id=one.id)
    ask(store, employer, "ba")
    steps = count()

    def go_on() -> bool:
        step = next(steps)
        if step == 3:
            ask(store, other, "ba")
        return step < 20

    store.count_words(go_on)
    assert next(steps) == 4
    assert store.search_memory.words.all() == {other.id: None}


def test_jobs_that_change_while_words_are_counted_are_counted_once(
    board: Board, store: Store, employer: Employer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some are counted already, some not yet, and some move from one side to the other."""
    monkeypatch.setattr(words, "BATCH", 3)
    made = [board.create(title="Baker", published_at=START + timedelta(hours=n)) for n in range(6)]
    ask(store, employer, "ba")
    going = iter([True, True, False])
    store.count_words(lambda: next(going))
    board.update(made[0], published_at=START + timedelta(days=2))
    board.update(made[5], published_at=START - timedelta(days=2))
    board.update(made[1], title="Miller")
    board.update(made[4], title="Miller")
    board.delete(made[2])
    board.delete(made[3])
    for days in (-3, 3):
        board.create(title="Baker", published_at=START + timedelta(days=days))
    store.count_words(go_on)
    count_no_more(monkeypatch)
    assert (ask(store, employer, "bak")[0], ask(store, employer, "mil")[0]) == (4, 2)


def test_words_follow_changes_and_are_counted_anew_after_many_of_the_employer(
    board: Board, store: Store, employer: Employer, bakers: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    def known() -> object:
        return store.search_memory.words.get(employer.id)

    other = store.write(lambda tx: employers.add(tx, "Other"))
    monkeypatch.setattr(words, "BEHIND", 1)
    first = known()
    board.create(title="Miller 1")
    for _ in range(5):
        board.create(employer_id=other.id)
    store.count_words(go_on)
    assert known() is first
    for number in (2, 3):
        board.create(title=f"Miller {number}")
    store.count_words(go_on)
    assert known() is not first
    count_no_more(monkeypatch)
    assert (ask(store, employer, "mille")[0], ask(store, employer, "bake")[0]) == (3, 7)


def test_a_pruning_of_changes_that_were_followed_has_nothing_counted_anew(
    board: Board,
    store: Store,
    employer: Employer,
    clock: Clock,
    *,
    bakers: list[Job],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ask(store, employer, "baker")
    first = store.search_memory.words.get(employer.id)
    clock.forward(days=100)
    board.update(bakers[0], title="Miller")
    assert store.write(lambda tx: history.prune(tx, clock())) == 7
    board.update(bakers[1], title="Miller")
    count_no_more(monkeypatch)
    assert ask(store, employer, "baker")[0] == ask(store, employer, "aker")[0] == 5
    store.count_words(go_on)
    assert store.search_memory.words.get(employer.id) is first
    assert ask(store, employer, "mil")[0] == 2


@pytest.mark.parametrize("newest", [True, False])
def test_words_are_counted_anew_where_changes_were_pruned_before_they_were_followed(
    board: Board,
    store: Store,
    employer: Employer,
    clock: Clock,
    *,
    bakers: list[Job],
    newest: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    board.update(bakers[0], title="Miller")
    clock.forward(days=100)
    other = store.write(lambda tx: employers.add(tx, "Other"))
    if not newest:
        board.create(employer_id=other.id)
    store.write(lambda tx: history.prune(tx, clock()))
    for _ in range(9):  # on SQLite they may have the numbers of those that went
        board.create(employer_id=other.id)
    assert ask(store, employer, "aker")[0] == 6
    store.count_words(go_on)
    count_no_more(monkeypatch)
    assert (ask(store, employer, "bak")[0], ask(store, employer, "mil")[0]) == (6, 1)


def test_a_count_that_sees_an_earlier_moment_than_a_search_changes_nothing(
    board: Board, store: Store, employer: Employer, bakers: list[Job]
) -> None:
    def at_one_moment(tx: Tx) -> None:
        assert look(tx, employer, "baker")[0] == 7
        elsewhere(lambda: board.update(bakers[0], title="Miller"), lambda: ask(store, employer, "mil"))
        known = store.search_memory.words.get(employer.id)
        assert known is not None
        followed = known.state
        searches.count_words(lambda fn: fn(tx), store.search_memory, go_on)
        assert (store.search_memory.words.get(employer.id), known.state) == (known, followed)

    store.read(at_one_moment)
    assert ask(store, employer, "bak")[0] == 6


def test_a_look_at_an_earlier_moment_does_not_ask_the_words_of_a_later_one(
    board: Board, store: Store, employer: Employer, bakers: list[Job]
) -> None:
    def at_one_moment(tx: Tx) -> None:
        assert look(tx, employer, "baker")[0] == 7
        elsewhere(lambda: board.update(bakers[0], title="Miller"), lambda: store.count_words(go_on))
        assert look(tx, employer, "bake")[0] == 7
        assert look(tx, employer, "mil")[0] == 0

    store.read(at_one_moment)
    assert ask(store, employer, "bak")[0] == 6
    assert ask(store, employer, "mill")[0] == 1


def test_a_search_does_not_wait_for_words_that_are_being_followed(
    store: Store, employer: Employer, bakers: list[Job]
) -> None:
    known = store.search_memory.words.get(employer.id)
    assert known is not None
    with known.lock:
        assert ask(store, employer, "bake") == (7, [bakers[6].id, bakers[5].id])


def test_words_that_another_program_changed_are_not_asked_again(
    board: Board, store: Store, employer: Employer, path: Path, bakers: list[Job]
) -> None:
    """A job that was there before the words were counted, and whose title changed without an entry in the history."""
    change(path, f"UPDATE job SET search = 'miller\n', title = 'Miller' WHERE id = {bakers[0].id}")
    store.search_memory.words = word_memory.WordMemory()
    ask(store, employer, "ker")
    store.count_words(go_on)
    board.update(replace(bakers[0], title="Other"), title="Third")
    assert ask(store, employer, "bake")[0] == 6
    known = store.search_memory.words.get(employer.id)
    store.count_words(go_on)
    assert known is not None
    assert store.search_memory.words.get(employer.id) is known
    assert not known.words.usable


def test_of_an_employer_with_few_jobs_nothing_is_remembered(
    board: Board, store: Store, employer: Employer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "FEW", 2)
    for title in ("Baker", "Miller"):
        board.create(title=title)
    assert ask(store, employer, "baker")[0] == 1
    change(path, "UPDATE job SET search = 'none'")
    assert ask(store, employer, "baker")[0] == 0
    board.create(title="Baker")
    assert ask(store, employer, "baker")[0] == 1
    change(path, "UPDATE job SET search = 'none'")
    assert ask(store, employer, "baker")[0] == 1
