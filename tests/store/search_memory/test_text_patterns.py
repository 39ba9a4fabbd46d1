"""Text patterns: what they say of a term is what a look at every job finds, and they say nothing else."""

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncd.domain import Status, fold, search_text
from syncd.store.database import SHORTEST
from syncd.store.search_memory import TextPatterns, text_patterns

CHARACTERS = "aab bÉ1２٣-'\\%œ²"
TEXTS = st.text(CHARACTERS, min_size=1, max_size=7)
JOBS = st.lists(
    st.tuples(TEXTS, st.none() | st.text("ab1122-c", min_size=1, max_size=5), st.sampled_from(Status)),
    max_size=9,
)
TERMS = st.one_of(
    TEXTS, st.sampled_from(["a", "b", "ab", "aa", "aab", "b-", "c", "cb", "1", "2", "12", "21", "٣"])
)


def patterns_of(jobs: list[Any]) -> TextPatterns:
    patterns = TextPatterns()
    for title, reference, status in jobs:
        patterns.add(search_text(title, reference), status.value)
    return patterns


@pytest.fixture(params=[0, 2, 100])
def most_references(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many patterns of referenceIds are kept."""
    most: int = request.param
    monkeypatch.setattr(text_patterns, "MOST_REFERENCES", most)
    return most


ANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.usefixtures("most_references")
@ANY
@given(
    jobs=JOBS,
    gone=JOBS,
    asked=st.lists(st.tuples(TERMS, st.none() | st.sampled_from(Status)), min_size=1, max_size=9),
)
def test_they_count_what_a_look_at_every_job_counts(
    jobs: list[Any], gone: list[Any], asked: list[Any]
) -> None:
    patterns = patterns_of([*gone, *jobs])
    for title, reference, status in gone:
        patterns.remove(search_text(title, reference), status.value)
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
def test_they_are_silent_only_of_longer_terms_with_a_digit_and_of_what_many_reference_ids_may_have(
    jobs: list[Any], term: str, most_references: int
) -> None:
    folded = fold(term)
    if patterns_of(jobs).having(folded, None) is None:
        references = [fold(reference or "") for _, reference, _ in jobs]
        parts = {folded[start : start + 3] for start in range(max(1, len(folded) - 2))}
        in_references = all(any(part in reference for reference in references) for part in parts)
        many = len({re.sub(r"\d+", "0", reference) for reference in references}) > most_references
        digit = any(char.isdecimal() for char in folded) and not re.fullmatch("[0-9]{1,2}", folded)
        assert digit or (many and (in_references or folded.isdecimal()))


def test_of_a_short_term_the_texts_are_those_for_which_an_index_can_be_asked() -> None:
    patterns = patterns_of([("Zymurgist 12", "R-1", Status.ACTIVE), ("Lazy cook", "R-2", Status.DRAFT)])
    assert patterns.having("zy", None) == (2, ("zy ", "zym"))
    assert patterns.having("y", Status.ACTIVE) == (1, ("ymu",))
    assert patterns.having("lazy", None) == (1, ())
    assert patterns.having("zz", None) == (0, ())
    patterns.add(search_text("Crazy 7", "R-3"), "active")
    assert patterns.having("zy", None) == (3, ("zy ", "zym"))
    patterns.add(search_text("Fuzzy", "R-4"), "active")
    assert patterns.having("zy", None) == (4, ("zy ", "zym", "zzy"))
    patterns.add(search_text("12zy7", "R-5"), "active")
    assert patterns.having("zy", None) == (5, ())
    assert patterns.having("r-", Status.DRAFT) == (1, ())


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


@pytest.mark.parametrize("bound", ["MOST_PATTERNS", "MOST_CHARACTERS", "MOST_PARTS"])
def test_they_are_bounded(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_patterns, bound, 3)
    monkeypatch.setattr(text_patterns, "MOST_REFERENCES", 0)
    jobs = [(letter, letter, Status.ACTIVE) for letter in "abc"]
    assert patterns_of([*jobs, *jobs]).having("d", None) == (0, ())
    patterns = patterns_of([*jobs, ("d", "d", Status.ACTIVE)])
    assert not patterns.usable
    assert patterns.having("x", None) is None
    patterns.add("e\n", "active")
    patterns.remove("e\n", "active")
    patterns.remove("e\n", "active")
    assert patterns.having("e", None) is None


def test_what_was_removed_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_patterns, "MOST_CHARACTERS", 9)
    patterns = TextPatterns()
    for title in ("baker", "miller", "welder", "carter"):
        for _ in range(2):
            patterns.add(f"{title}\n", "active")
        for _ in range(2):
            patterns.remove(f"{title}\n", "active")
    assert patterns.having("er", None) == (0, ())


def test_reference_ids_are_left_out_before_the_patterns_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text_patterns, "MOST_PATTERNS", 3)
    jobs = [(title, reference, Status.ACTIVE) for title in ("ab", "cd") for reference in ("x-1", "y-2")]
    patterns = patterns_of(jobs)
    assert patterns.usable
    assert (patterns.having("ab", None), patterns.having("a", Status.ACTIVE)) == ((2, ()), (2, ()))
    assert (patterns.having("x", None), patterns.having("x-y", None)) == (None, (0, ()))


@pytest.mark.parametrize("search", ["miller\n", "baker 13\n", "baker\n"])
def test_a_job_that_is_not_there_cannot_be_removed(search: str) -> None:
    patterns = patterns_of([("Baker 12", None, Status.ACTIVE)])
    patterns.remove(search, "draft")
    assert not patterns.usable
    assert patterns.having("baker", None) is None
