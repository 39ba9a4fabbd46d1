"""The words of texts: what they say of a term is what a look at every job finds, and they say nothing else."""

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncd.domain import Status, fold, search_text
from syncd.store.search_memory import (
    CountedJob,
    JobsWith,
    TextWords,
    cut_words,
    random_references,
    text_words,
)
from tests.amounts import examples

CHARACTERS = "aab bÉ112２٣-'\\%œ²"
TEXTS = st.text(CHARACTERS, min_size=1, max_size=7)
TITLES = st.one_of(
    TEXTS,
    st.text("112", min_size=1, max_size=5).map("a{}".format),
    st.text("ab 1", min_size=1, max_size=9),
    st.text("a\n1 \t", min_size=1, max_size=5),
)
JOBS = st.lists(
    st.tuples(TITLES, st.none() | st.text("ab1122-c ", min_size=1, max_size=6), st.sampled_from(Status)),
    max_size=9,
)
TERMS = st.one_of(
    TEXTS,
    st.sampled_from(
        ["a", "b", "ab", "aa", "aab", "b-", "c", "cb", "1", "2", "12", "21", "121", "٣", " ", "  "]
    ),
    st.text("ab1 -", min_size=1, max_size=4),
    st.text("a b", min_size=1, max_size=6),
    st.text("112", min_size=1, max_size=5),
)


def job(search: str, status: str = "active", published_at: int = 0) -> CountedJob:
    return CountedJob(search, status, published_at)


def jobs_with(*ids: int, undecided: tuple[int, ...] = ()) -> JobsWith:
    """Return what the words say of jobs that were all published at the same time."""
    return JobsWith(len(ids), sorted([*ids, *undecided], reverse=True), frozenset(undecided))


def words_of(jobs: list[Any], *, random_references: bool = False) -> TextWords:
    words = TextWords(random_references=random_references)
    for number, (title, reference, status) in enumerate(jobs, start=1):
        words.add({number: job(search_text(title, reference), status.value)})
    if not words.usable and words.random_references:
        return words_of(jobs, random_references=True)
    return words


@pytest.fixture(params=[(4, 1_000), (1, 1_000), (2, 3), (1, 3), (0, 2)], ids=str)
def bounds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """How many digits of a number are kept, and how many words of titles and of referenceIds."""
    digits, most = request.param
    monkeypatch.setattr(cut_words, "KEPT_DIGITS", digits)
    monkeypatch.setattr(cut_words, "NEW_WORDS", 1)
    monkeypatch.setattr(cut_words, "LONGEST_NUMBER", max(1, digits))
    monkeypatch.setattr(text_words, "MOST_WORDS", most)
    monkeypatch.setattr(text_words, "MOST_REFERENCES", most)
    return digits, most


ANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(500))


@ANY
@given(
    jobs=JOBS,
    gone=JOBS,
    asked=st.lists(st.tuples(TERMS, st.none() | st.sampled_from(Status)), min_size=1, max_size=9),
    together=st.sampled_from([1, 2, 5, 20]),
)
def test_they_count_what_a_look_at_every_job_counts(
    jobs: list[Any], gone: list[Any], asked: list[Any], *, together: int, bounds: tuple[int, int]
) -> None:
    words = TextWords(random_references=words_of([*gone, *jobs]).random_references)
    before = {
        number: job(search_text(title, reference), status.value)
        for number, (title, reference, status) in enumerate([*gone, *jobs], start=1)
    }
    for start in range(1, len(before) + 1, together):
        words.add({number: before[number] for number in range(start, start + together) if number in before})
        for q, _ in asked:
            words.having(fold(q), None)  # what was asked for is kept
    published = {number: number * 5 % 3 for number in before}
    words.change(
        before,
        {
            number: before[number]._replace(published_at=published[number])
            for number in list(before)[len(gone) :]
        },
    )
    assert words.usable or bounds[1] < 1_000
    for q, status in asked:
        having = words.having(fold(q), status)
        if having is None:
            continue
        found = [
            number
            for number, (title, reference, of) in enumerate(jobs, start=len(gone) + 1)
            if fold(q) in search_text(title, reference) and status in (None, of)
        ]
        decided = having.decided(having.undecided & set(found))
        assert decided == JobsWith(
            len(found), sorted(found, key=lambda job_id: (published[job_id], job_id), reverse=True)
        )


@ANY
@given(jobs=JOBS, term=TERMS)
def test_while_the_words_are_few_only_long_numbers_are_undecided(jobs: list[Any], term: str) -> None:
    folded = fold(term)
    having = words_of(jobs).having(folded, None)
    assert having is not None
    if having.undecided:
        texts = [search_text(title, reference) for title, reference, _ in jobs]
        assert re.search("[0-9]", folded)
        assert any(re.search("[0-9]{5}|\t", text) for text in texts)  # tabs stand for digits


def test_what_was_asked_for_lately_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut_words, "MOST_ASKED", 2)
    words = words_of([("Baker", None, Status.ACTIVE)])
    for term in ("a", "b", "er", "bak", "b"):
        assert words.having(term, None) == jobs_with(1)
    words.add({2: job("abba\n")})
    assert words.having("b", None) == jobs_with(1, 2)
    words.remove(1, job("baker\n"))
    assert words.having("b", None) == words.having("a", None) == jobs_with(2)
    assert words.having("er", None) == jobs_with()


def test_the_jobs_of_words_with_a_first_character_are_known() -> None:
    titles = ["Line cook 12", "Line cook 123456", "Cook 1", "A line c1", "Cook x"]
    words = words_of([(title, None, Status.ACTIVE) for title in titles])
    assert words.having("cook 1", None) == jobs_with(1, 2, 3)
    assert words.having("e c", None) == jobs_with(1, 2, 4)
    assert words.having("cook z", None) == jobs_with()
    words.add({9: job("baker cook 1\n"), 10: job("b e c\n1 e c\n")})
    assert words.having("cook 1", None) == jobs_with(1, 2, 3, 9)
    words.remove(1, job("line cook 12\n"))
    words.remove(5, job("cook x\n"))
    assert words.having("cook 1", None) == jobs_with(2, 3, 9)
    assert words.having("e c", None) == jobs_with(2, 4, 10)
    assert words.having("cook x", None) == jobs_with()


def test_of_a_rare_term_the_jobs_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    words = words_of([("Zymurgist 12", "R-1", Status.ACTIVE), ("Lazy cook", "R-2", Status.DRAFT)])
    assert words.having("zy", None) == jobs_with(1, 2)
    assert words.having("zy", Status.DRAFT) == jobs_with(2)
    assert words.having("lazy", None) == jobs_with(2)
    assert words.having("y c", None) == jobs_with(2)
    assert words.having("zz", None) == jobs_with()
    assert words.having("-2", None) == jobs_with(2)
    assert words.having("1", None) == jobs_with(1)
    monkeypatch.setattr(text_words, "RARE", 1)
    assert words.having("zy", None) == JobsWith(2, None)


@pytest.mark.parametrize(
    ("term", "total"),
    [
        ("line cook", 2),
        ("e cook", 2),
        ("line c", 3),
        ("line clerk 1", 1),
        ("line cook 1", 0),
        ("cook line", 1),
        ("line  cook", 0),
        ("line  clerk", 1),
        ("cook ", 1),
        (" cook", 2),
        (" ", 4),
        ("  ", 1),
        ("k r", 0),
        ("line cook line", 1),
        ("line line", 0),
        ("r 1", 1),
    ],
)
def test_words_of_a_term_follow_each_other_in_the_text(term: str, total: int) -> None:
    titles = ["Line cook", "Online cook line", "Line clerk 12", "Line  clerk"]
    jobs = [(title, "R 1" if title == "Line cook" else "X", Status.ACTIVE) for title in titles]
    having = words_of(jobs).having(term, None)
    assert having is not None
    assert having.total == total


@pytest.mark.parametrize(
    ("term", "total"),
    [
        ("cook 1", 3),
        ("cook 1234", 2),
        ("ok 12345", "undecided: 1, 2"),
        ("ok 12355", 0),
        ("ok 2", 0),
        ("ok 2345678", 0),
        ("5 cook", 0),
        ("2 baker", 1),
        ("12 baker", 1),
        ("5678", 1),
        ("56789", "undecided: 1, 2, 4"),
        ("r-2026", 4),
        ("2026", 4),
        ("r-2026-000", 4),
        ("r-2026-0001", 1),
        ("6-0", 4),
        ("4567", 1),
        ("4567 x", 0),
        ("45678", "undecided: 1, 2, 4"),
        ("bakers 12345678", "undecided: 4"),
        ("bakers 1234", 1),
        ("bakers 5678", 0),
    ],
)
def test_of_a_number_the_first_digits_say_how_many_jobs_have_the_term(term: str, total: int | str) -> None:
    titles = ["Cook 12345", "Cook 12349", "Cook 15", "12 Bakers 12345678"]
    jobs = [(title, f"R-2026-{number:04}", Status.ACTIVE) for number, title in enumerate(titles)]
    having = words_of(jobs).having(term, None)
    assert having is not None
    undecided = having.undecided and f"undecided: {', '.join(map(str, sorted(having.undecided)))}"
    assert (undecided or having.total) == total


def test_fewer_digits_are_kept_where_the_words_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_words, "MOST_WORDS", 20)
    jobs = [(f"Cook {number}", None, Status.ACTIVE) for number in range(1_000, 2_000)]
    words = words_of(jobs)

    def total(term: str, status: Status | None = None) -> int | None:
        having = words.having(term, status)
        return having.total if having is not None and not having.undecided else None

    assert total("cook 1") == 1_000
    assert total("cook 12", Status.ACTIVE) == 100
    undecided = words.having("cook 123", None)
    assert undecided is not None
    assert set(undecided.undecided) >= {number - 999 for number in range(1_230, 1_240)}
    monkeypatch.setattr(text_words, "MOST_UNDECIDED", 9)
    assert words.having("cook 123", None) is None
    assert total("123") == 11
    for number, (title, _, status) in enumerate(jobs[10:], start=11):
        words.remove(number, job(search_text(title, None), status.value))
    assert total("cook 10") == 10
    assert total("123") == 0


def test_too_many_words_of_titles_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_words, "MOST_WORDS", 3)
    words = words_of([(letter, letter, Status.ACTIVE) for letter in "abc"])
    assert words.having("z", None) == jobs_with()
    words.add({4: job("d\n1")})
    assert words.having("z", None) is None
    assert (words.usable, words.random_references) == (False, False)


def test_words_of_too_many_characters_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut_words, "MOST_CHARACTERS", 9)
    words = TextWords()
    for number, title in enumerate(("baker", "miller", "welder", "carter")):
        for job_id in (number, number + 10):
            words.add({job_id: job(f"{title}\n")})
        for job_id in (number, number + 10):
            words.remove(job_id, job(f"{title}\n"))
    assert words.having("er", None) == jobs_with()
    words.add({1: job("baker\n")})
    words.add({2: job("miller\n")})
    assert words.having("er", None) is None


def test_too_many_reference_ids_are_taken_as_random(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_words, "MOST_REFERENCES", 3)
    jobs = [(title, f"{end}-{end}1", Status.ACTIVE) for title in ("ab", "cd1") for end in "vwxyz"]
    words = TextWords()
    for number, (title, reference, _) in enumerate(jobs, start=1):
        words.add({number: job(f"{title}\n{reference}")})
    assert (words.usable, words.random_references) == (False, True)
    assert words.having("ab", None) is None
    words = words_of(jobs)
    assert (words.usable, words.random_references) == (True, True)
    assert words.having("ab", None) == jobs_with(1, 2, 3, 4, 5)
    assert words.having("d", Status.ACTIVE) == words.having("cd1", None) == jobs_with(6, 7, 8, 9, 10)
    assert words.having("x", None) == words.having("x1", Status.ACTIVE) == jobs_with(3, 8)
    assert words.having("x-x", None) == jobs_with(
        undecided=(
            3,
            8,
        )
    )
    assert (
        words.having("x-y", None) == words.having("xy1", None) == words.having("x y q", None) == jobs_with()
    )
    assert words.having("ab v-v", None) == jobs_with()
    for number, (title, reference, status) in enumerate(jobs[1:], start=2):
        words.remove(number, job(f"{title}\n{reference}", status.value))
    assert words.having("b", None) == words.having("v", None) == jobs_with(1)
    assert words.having("cd1", None) == words.having("x", None) == jobs_with()
    words.remove(1, job("ab\nw"))
    assert (words.usable, words.random_references) == (False, False)


def test_too_many_parts_of_random_references_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_words, "MOST_REFERENCES", 1)
    monkeypatch.setattr(random_references, "MOST_PARTS", 3)
    jobs = [("ab", letter * 3, Status.ACTIVE) for letter in "vwx"]
    assert words_of(jobs).having("q", None) == jobs_with()
    words = words_of([*jobs, ("ab", "yyy", Status.ACTIVE)])
    assert words.having("q", None) is None
    assert (words.usable, words.random_references) == (False, False)


def test_numbers_in_random_references_are_known() -> None:
    references = ["12345-6", "x1234", "20262027", "a-20"]
    words = words_of([("ab", reference, Status.ACTIVE) for reference in references], random_references=True)
    for term in ("2", "20", "234", "2345", "2026", "026", "0262", "999"):
        found = tuple(number for number, text in enumerate(references, start=1) if term in text)
        assert words.having(term, None) == jobs_with(*found)
    assert words.having("20262", None) == jobs_with(undecided=(3,))


def test_many_words_with_digits_that_were_cut_off_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut_words, "MOST_UNDECIDED", 2)
    jobs = [(f"a{number}00000 x", None, Status.ACTIVE) for number in range(10, 13)]
    assert words_of(jobs[:2]).having("0 y", None) == jobs_with()
    assert words_of(jobs).having("0 y", None) is None


def test_words_that_were_removed_do_not_hide_those_that_are_not_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cut_words, "MOST_UNDECIDED", 2)
    words = words_of([(f"cook {number}77 night", None, Status.ACTIVE) for number in range(1000, 1004)])
    words.add({9: job("cook 987656 chef\n")})
    assert words.having("56 chef", None) is None
    words.remove(1, job("cook 100077 night\n"))
    words.remove(2, job("cook 100177 night\n"))
    having = words.having("56 chef", None)
    assert having is None or 9 in having.undecided


def test_words_that_surely_have_a_term_do_not_hide_those_that_are_not_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cut_words, "MOST_UNDECIDED", 2)
    titles = ["6ab-123499ab", "6ab-123489ab", "7-123499ab", "zz-12346ab"]
    having = words_of([(title, None, Status.ACTIVE) for title in titles]).having("6ab", None)
    assert having is None or {*(having.ids or ()), *having.undecided} >= {1, 2, 4}


@pytest.mark.parametrize("random_references", [False, True])
def test_the_empty_term_is_not_answered(random_references: bool) -> None:
    assert (
        words_of([("Baker", "R-1", Status.ACTIVE)], random_references=random_references).having("", None)
        is None
    )


def test_of_common_and_of_long_terms_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut_words, "MOST_FOUND", 2)
    monkeypatch.setattr(cut_words, "MOST_PARTS", 3)
    words = words_of([(f"{letter}-job x", None, Status.ACTIVE) for letter in "abc"])
    for term in ("-job", "-job x", "x" + " x" * 3):
        assert words.having(term, None) is None
    for term, ids in (("job", (1, 2, 3)), ("a-job", (1,)), ("b-job x", (2,)), ("x x x", ())):
        assert words.having(term, None) == jobs_with(*ids)


def test_places_of_words_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_words, "MOST_WORDS", 3)
    monkeypatch.setattr(cut_words, "PLACES", 2)
    words = words_of([(f"{'a ' * count}a", None, Status.ACTIVE) for count in range(6)])
    assert words.having("a a", None) == jobs_with(2, 3, 4, 5, 6)
    words.remove(6, job("a a a a a a\n"))
    words.add({7: job("b\n")})
    assert words.having("a a", None) == jobs_with(2, 3, 4, 5)
    words.add({8: job("c\n")})
    assert words.having("a a", None) is None


def test_words_that_come_and_go_take_no_memory() -> None:
    words = cut_words.CutWords(10)
    for number in range(5_000):
        title = f"title {chr(97 + number % 26)}{chr(97 + number // 26 % 26)}{chr(97 + number // 676)}"
        words.add({1: title})
        words.remove(1, title)
    assert len(words._new) <= cut_words.NEW_WORDS + 30
    references = random_references.RandomReferences()
    references.add({1: "ab"})
    references.remove(1, "ab")
    assert not references._jobs


def test_what_is_not_used_any_more_is_freed_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut_words, "FREED", 2)
    words = words_of([(letter, None, Status.ACTIVE) for letter in "abcde"])
    assert not words.free_some()
    words.give_up()
    assert words.having("a", None) is None
    steps = 0
    while words.free_some():
        steps += 1
    assert steps == 4  # five words, and the referenceIds


@pytest.mark.parametrize(
    ("number", "search"),
    [
        (1, "miller\n"),
        (1, "baker 13\n"),
        (1, "baker\n"),
        (2, "baker 12 12345\n"),
        (1, "baker 12 12346\n"),
        (1, "baker 12 123456\n"),
    ],
)
def test_a_job_that_is_not_there_cannot_be_removed(number: int, search: str) -> None:
    words = words_of([("Baker 12 12345", None, Status.ACTIVE)])
    words.remove(number, job(search))
    assert not words.usable
    words = words_of([("Baker 12", None, Status.ACTIVE)])
    words.remove(1, job("baker 12\n", "draft"))
    assert not words.usable
    assert words.having("baker", None) is None
    words.add({3: job("e\n")})
    words.remove(3, job("e\n"))
    assert words.having("e", None) is None


def test_ids_that_are_too_high_are_not_counted() -> None:
    words = TextWords()
    words.add({2**32 - 1: job("baker\n")})
    assert words.having("baker", None) == jobs_with(2**32 - 1)
    words.add({2**32: job("baker\n")})
    assert not words.usable
    assert words.having("baker", None) is None
