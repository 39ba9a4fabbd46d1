"""Text patterns: what they say of a term is what a look at every job finds, and they say nothing else."""

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncd.domain import Status, fold, search_text
from syncd.store.database import SHORTEST
from syncd.store.search_memory import TextPatterns, counted_texts, cut_texts, text_patterns

CHARACTERS = "aab bÉ112２٣-'\\%œ²"
TEXTS = st.text(CHARACTERS, min_size=1, max_size=7)
TITLES = st.one_of(TEXTS, st.text("112", min_size=1, max_size=5).map("a{}".format))
JOBS = st.lists(
    st.tuples(TITLES, st.none() | st.text("ab1122-c", min_size=1, max_size=6), st.sampled_from(Status)),
    max_size=9,
)
TERMS = st.one_of(
    TEXTS,
    st.sampled_from(["a", "b", "ab", "aa", "aab", "b-", "c", "cb", "1", "2", "12", "21", "121", "٣"]),
    st.text("ab1 -", min_size=1, max_size=3),
    st.text("112", min_size=1, max_size=5),
)


def patterns_of(jobs: list[Any]) -> TextPatterns:
    patterns = TextPatterns()
    for title, reference, status in jobs:
        patterns.add(search_text(title, reference), status.value)
    return patterns


@pytest.fixture(params=[(4, 1_000), (1, 1_000), (2, 3), (1, 3), (0, 2)], ids=str)
def bounds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """How many digits of a number are kept, and how many texts."""
    digits, most = request.param
    monkeypatch.setattr(cut_texts, "KEPT_DIGITS", digits)
    monkeypatch.setattr(text_patterns, "COUNTED_DIGITS", max(1, digits))
    monkeypatch.setattr(counted_texts, "MOST_TEXTS", most)
    return digits, most


ANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@ANY
@given(
    jobs=JOBS,
    gone=JOBS,
    asked=st.lists(st.tuples(TERMS, st.none() | st.sampled_from(Status)), min_size=1, max_size=9),
)
def test_they_count_what_a_look_at_every_job_counts(
    jobs: list[Any], gone: list[Any], asked: list[Any], bounds: tuple[int, int]
) -> None:
    patterns = patterns_of([*gone, *jobs])
    for title, reference, status in gone:
        patterns.remove(search_text(title, reference), status.value)
    if len({re.sub("[0-9]+", "1", fold(title)) for title, _, _ in [*gone, *jobs]}) <= bounds[1]:
        assert patterns.usable
    for q, status in asked:
        term = fold(q)
        having = patterns.having(term, status)
        if having is None:
            continue
        found = [
            search_text(title, reference)
            for title, reference, of in jobs
            if term in search_text(title, reference) and status in (None, of)
        ]
        assert having.total == len(found), (q, status)
        if having.texts:
            assert all(len(text) >= SHORTEST for text in having.texts)
            assert all(any(text in job for text in having.texts) for job in found), (q, having)


@ANY
@given(jobs=JOBS, term=TERMS)
def test_while_the_texts_are_few_they_are_silent_only_of_terms_with_a_digit(
    jobs: list[Any], term: str
) -> None:
    folded = fold(term)
    if patterns_of(jobs).having(folded, None) is None:
        texts = [search_text(title, reference).split("\n") for title, reference, _ in jobs]
        both = all(any(folded in text[place] for text in texts) for place in (0, 1))
        long = any(re.search("[0-9]{5}", each) for text in texts for each in text)
        assert re.search("[0-9]", folded)
        assert both or long


def test_of_a_short_term_the_texts_are_those_for_which_an_index_can_be_asked() -> None:
    patterns = patterns_of([("Zymurgist 12", "R-1", Status.ACTIVE), ("Lazy cook", "R-2", Status.DRAFT)])
    assert patterns.having("zy", None) == (2, ("zy ", "zym"))
    assert patterns.having("y", Status.ACTIVE) == (1, ("y c", "ymu"))
    assert patterns.having("lazy", None) == (1, ())
    assert patterns.having("zz", None) == (0, ())
    patterns.add(search_text("Crazy 7", "R-3"), "active")
    assert patterns.having("zy", None) == (3, ("zy ", "zym"))
    patterns.add(search_text("Fuzzy", "R-4"), "active")
    assert patterns.having("zy", None) == (4, ("zy ", "zym", "zzy"))
    patterns.add(search_text("12zy7", "R-5"), "active")
    assert patterns.having("zy", None) == (5, ("zy ", "zy7", "zym", "zzy"))
    assert patterns.having("-5", None) == (1, ("r-5",))
    assert patterns.having("1", None) == (2, ())


def test_of_many_texts_none_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_patterns, "TEXTS", 2)
    titles = [f"zy{letter}" for letter in "abc"]
    assert patterns_of([(title, None, Status.ACTIVE) for title in titles[:2]]).having("zy", None) == (
        2,
        ("zya", "zyb"),
    )
    assert patterns_of([(title, None, Status.ACTIVE) for title in titles]).having("zy", None) == (3, ())
    monkeypatch.setattr(text_patterns, "RARE", 1)
    assert patterns_of([("zya", None, Status.ACTIVE)] * 2).having("zy", None) == (2, ())


@pytest.mark.parametrize(
    ("term", "total"),
    [
        ("cook 1", 3),
        ("cook 1234", 2),
        ("ok 12345", None),
        ("ok 12355", 0),
        ("ok 2", 0),
        ("ok 2345678", 0),
        ("5 cook", 0),
        ("2 baker", 1),
        ("12 baker", 1),
        ("5678", 1),
        ("56789", None),
        ("r-2026", 4),
        ("2026", 4),
        ("r-2026-000", 4),
        ("r-2026-0001", 1),
        ("6-0", 4),
        ("4567", 1),
        ("4567 x", 0),
        ("45678", None),
    ],
)
def test_of_a_number_the_first_digits_say_how_many_jobs_have_the_term(term: str, total: int | None) -> None:
    titles = ["Cook 12345", "Cook 12349", "Cook 15", "12 Bakers 12345678"]
    jobs = [(title, f"R-2026-{number:04}", Status.ACTIVE) for number, title in enumerate(titles)]
    assert patterns_of(jobs).having(term, None) == (None if total is None else (total, ()))


def test_fewer_digits_are_kept_where_the_texts_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted_texts, "MOST_TEXTS", 20)
    jobs = [(f"Cook {number}", None, Status.ACTIVE) for number in range(1_000, 2_000)]
    patterns = patterns_of(jobs)
    assert patterns.usable
    assert patterns.having("cook 1", None) == (1_000, ())
    assert patterns.having("cook 12", Status.ACTIVE) == (100, ())
    assert patterns.having("cook 123", None) is None
    assert patterns.having("123", None) == (11, ())
    for title, _, status in jobs[10:]:
        patterns.remove(search_text(title, None), status.value)
    assert patterns.having("cook 10", None) == (10, ())
    assert patterns.having("123", None) == (0, ())


@pytest.mark.parametrize("bound", ["MOST_TEXTS", "MOST_CHARACTERS", "MOST_PARTS"])
def test_they_are_bounded(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_patterns if bound == "MOST_PARTS" else counted_texts, bound, 3)
    if bound == "MOST_PARTS":
        monkeypatch.setattr(counted_texts, "MOST_TEXTS", 4)
        jobs = [(letter, f"{letter} {number}", Status.ACTIVE) for letter in "ab" for number in "cdefgh"]
    else:
        jobs = [(letter, letter, Status.ACTIVE) for letter in "abcd"]
    assert patterns_of([*jobs[:3], *jobs[:3]]).having("z", None) == (0, ())
    patterns = patterns_of(jobs)
    assert not patterns.usable
    assert patterns.having("x", None) is None
    patterns.add("e\n", "active")
    patterns.remove("e\n", "active")
    patterns.remove("e\n", "active")
    assert patterns.having("e", None) is None


def test_what_was_removed_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted_texts, "MOST_CHARACTERS", 9)
    patterns = TextPatterns()
    for title in ("baker", "miller", "welder", "carter"):
        for _ in range(2):
            patterns.add(f"{title}\n", "active")
        for _ in range(2):
            patterns.remove(f"{title}\n", "active")
    assert patterns.having("er", None) == (0, ())


def test_too_many_reference_ids_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted_texts, "MOST_TEXTS", 3)
    jobs = [(title, f"{end}-{end}1", Status.ACTIVE) for title in ("ab", "cd1") for end in "vwxyz"]
    patterns = patterns_of(jobs)
    assert patterns.usable
    assert (patterns.having("ab", None), patterns.having("d", Status.ACTIVE)) == ((5, ()), (5, ("cd1",)))
    assert patterns.having("cd1", None) == (5, ())
    assert (patterns.having("x", None), patterns.having("x1", None)) == (None, None)
    assert (patterns.having("x-y", None), patterns.having("xy1", None)) == ((0, ()), (0, ()))
    for title, reference, status in jobs[1:]:
        patterns.remove(f"{title}\n{reference}", status.value)
    assert (patterns.having("b", None), patterns.having("cd1", None)) == ((1, ()), (0, ()))


def test_where_pairs_are_too_many_a_term_that_both_may_have_is_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jobs = [(f"{title}a", f"{end}a1", Status.ACTIVE) for title in ("b", "c") for end in "xyz"]
    assert patterns_of(jobs).having("a", None) == (6, ())
    monkeypatch.setattr(counted_texts, "MOST_TEXTS", 5)
    patterns = patterns_of(jobs)
    assert patterns.having("a", None) is None
    assert (patterns.having("ca", None), patterns.having("xa", None)) == ((3, ()), (2, ("xa1",)))


@pytest.mark.parametrize("search", ["miller\n", "baker 13\n", "baker\n"])
def test_a_job_that_is_not_there_cannot_be_removed(search: str) -> None:
    patterns = patterns_of([("Baker 12", None, Status.ACTIVE)])
    patterns.remove(search, "draft")
    assert not patterns.usable
    assert patterns.having("baker", None) is None
