"""Feeds: what they own, what is known of it, and who disturbs it."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest

from syncd.domain import Actor, ActorKind, ArchivedBy, Create, Employer, Job, Ownership, Status
from syncd.store import Store, Tx, employers, feed_jobs, feeds, jobs, runs
from tests.clock import Clock
from tests.store.board import Board

PRINT = b"f" * 16
TODAY = date(2026, 3, 2)
RUN = Actor(ActorKind.RUN, 1)
REFRESH = Actor(ActorKind.REFRESH)


def digest(reference: str) -> bytes:
    return reference.encode().ljust(16, b".")


class Feed:
    """A feed that writes jobs and owns them."""

    def __init__(self, board: Board, name: str = "acme") -> None:
        self.board, self.store = board, board.store
        self.id = self.store.write(lambda tx: feeds.feed_id(tx, name, board.employer.id))

    def row(self, job: Job, **fields: Any) -> feed_jobs.Written:
        values: dict[str, Any] = {"fingerprint": PRINT, "sent": None, "due": None, **fields}
        return feed_jobs.Written(
            job.id, str(job.reference_id), digest(str(job.reference_id)), job_version=job.version, **values
        )

    def write(self, reference: str, *, row: dict[str, Any] | None = None, **fields: Any) -> Job:
        def fn(tx: Tx) -> Job:
            job = jobs.apply(tx, [Create(self.board.job(reference_id=reference, **fields))], RUN, run_id=1)[0]
            feed_jobs.own(tx, self.id, [self.row(job, **(row or {}))])
            return job

        return self.store.write(fn)

    def own(self, job: Job, **fields: Any) -> None:
        self.store.write(lambda tx: feed_jobs.own(tx, self.id, [self.row(job, **fields)]))

    def known(self, *references: str, fingerprint: bytes = PRINT, today: date = TODAY) -> set[str]:
        asked = [digest(reference) for reference in references]
        found = self.store.read(lambda tx: feed_jobs.known_digests(tx, self.id, fingerprint, asked, today))
        assert all(digest(reference) == key for _, key, reference in found)
        return {reference for *_, reference in found}

    def active(self, after: int = 0, limit: int = 100, employer_wide: bool = False) -> list[tuple[int, int]]:
        ids, misses = self.store.read(
            lambda tx: feed_jobs.owned_active(tx, self.id, after, limit, employer_wide)
        )
        assert misses.keys() <= set(ids)
        return [(job_id, misses.get(job_id, 0)) for job_id in ids]

    def owner_of(self, job: Job) -> int | None:
        found = self.store.read(lambda tx: feed_jobs.ownership(tx, self.id, [job.id]))
        return found[job.id].owner if job.id in found else None

    def settle(self) -> None:
        self.store.write(lambda tx: feeds.remember(tx, self.id, feeds.Memory(disturbed=False)))

    def undisturbed(self) -> bool:
        return self.store.read(lambda tx: feeds.undisturbed(tx, self.id, PRINT, TODAY))


@pytest.fixture
def feed(board: Board) -> Feed:
    return Feed(board)


def test_a_feed_keeps_its_id_and_its_settings(store: Store, employer: Employer) -> None:
    first = store.write(lambda tx: feeds.feed_id(tx, "acme", employer.id))
    assert store.write(lambda tx: feeds.feed_id(tx, "acme", employer.id)) == first
    assert store.read(lambda tx: feeds.find(tx, "acme", employer.id)) == first
    assert store.read(lambda tx: feeds.find(tx, "other", employer.id)) is None
    assert store.read(lambda tx: feeds.memory(tx, first)) == feeds.Memory(names=[])
    kept = feeds.Memory("abc", {"title": "d"}, ["id", "title"], True, disturbed=False)
    store.write(lambda tx: feeds.remember(tx, first, kept))
    assert store.read(lambda tx: feeds.memory(tx, first)) == kept


def test_a_feed_that_moves_to_another_employer_starts_afresh(feed: Feed, store: Store) -> None:
    job = feed.write("A")
    other = store.write(lambda tx: employers.add(tx, "Other"))
    assert store.write(lambda tx: feeds.feed_id(tx, "acme", other.id)) != feed.id
    assert feed.owner_of(job) is None


# -- known digests ---------------------------------------------------------------------------------------


def test_what_a_feed_last_wrote_is_known(feed: Feed, store: Store) -> None:
    job = feed.write("A")
    feed.write("B")
    feed.write("C", status=Status.DRAFT)
    assert feed.known("A", "B", "C", "D") == {"A", "B"}
    assert feed.known() == set()
    assert feed.known("A", fingerprint=b"g" * 16) == set()
    assert Feed(feed.board, "other").known("A") == set()
    asked = [digest("A")]
    found = store.read(lambda tx: feed_jobs.known_digests(tx, feed.id, PRINT, asked, TODAY))
    assert found == [(job.id, digest("A"), "A")]


TOUCHES: dict[str, tuple[Callable[[Feed, Job], object], set[str]]] = {
    "a person's edit": (lambda feed, job: feed.board.update(job, title="Cook"), set()),
    "another run's edit": (lambda feed, job: feed.board.update(job, RUN, title="Cook"), set()),
    "auto-refresh": (lambda feed, job: feed.board.update(job, REFRESH, published_at=job.published_at), {"A"}),
    "two refreshes": (
        lambda feed, job: feed.board.update(
            feed.board.update(job, REFRESH, auto_refresh=False), REFRESH, auto_refresh=True
        ),
        {"A"},
    ),
    "an edit, then a refresh": (
        lambda feed, job: feed.board.update(feed.board.update(job, title="Cook"), REFRESH, auto_refresh=True),
        set(),
    ),
    "archiving": (lambda feed, job: feed.board.archive(job, ArchivedBy.PERSON), set()),
    "closing": (lambda feed, job: feed.board.archive(job, ArchivedBy.CLOSED, Actor(ActorKind.CLOSE)), set()),
    "deleting": (lambda feed, job: feed.board.delete(job), set()),
    "missing a snapshot": (
        lambda feed, job: feed.store.write(lambda tx: feed_jobs.missed(tx, feed.id, [job.id])),
        set(),
    ),
    "being released": (lambda feed, job: feed.store.write(lambda tx: feed_jobs.release(tx, [job.id])), set()),
    "nothing": (lambda feed, job: None, {"A"}),
}


@pytest.mark.parametrize("what", TOUCHES)
def test_what_takes_the_knowledge_away(feed: Feed, what: str) -> None:
    touch, left = TOUCHES[what]
    touch(feed, feed.write("A"))
    feed.write("B")
    assert feed.known("A", "B") == left | {"B"}


def test_a_job_is_known_again_once_its_present_version_is_written(feed: Feed) -> None:
    job = feed.write("A")
    newer = feed.board.update(job, title="Cook")
    feed.own(job)
    assert feed.known("A") == set()
    feed.own(newer)
    assert feed.known("A") == {"A"}
    feed.board.delete(newer)
    feed.own(newer)
    assert feed.owner_of(newer) is None


def test_a_row_is_known_until_the_day_on_which_it_is_due(feed: Feed) -> None:
    feed.write("A", row={"due": TODAY})
    assert feed.known("A", today=TODAY - timedelta(days=1)) == {"A"}
    assert feed.known("A") == set()
    assert feed.known("A", today=TODAY + timedelta(days=1)) == set()


def test_many_digests_are_asked_for_at_once(feed: Feed, board: Board) -> None:
    def fn(tx: Tx) -> None:
        made = jobs.apply(tx, [Create(board.job(reference_id=f"R{n}")) for n in range(1000)], RUN)
        feed_jobs.own(tx, feed.id, [feed.row(job) for job in made])

    board.store.write(fn)
    assert len(feed.known(*(f"R{n}" for n in range(500, 1500)))) == 500


# -- ownership -------------------------------------------------------------------------------------------


def test_ownership_names_the_owner_and_shows_the_owner_what_it_sent(
    feed: Feed, board: Board, store: Store
) -> None:
    mine = feed.write("A", row={"sent": {"title": "=x"}})
    other = Feed(board, "other")
    theirs = other.write("B", row={"sent": {"title": "=z"}})
    free = board.create(reference_id="C")
    asked = [mine.id, theirs.id, free.id]
    found = store.read(lambda tx: feed_jobs.ownership(tx, feed.id, asked, edits=True))
    assert found == {mine.id: Ownership(feed.id, sent={"title": "=x"}), theirs.id: Ownership(other.id)}
    found = store.read(lambda tx: feed_jobs.ownership(tx, feed.id, asked))
    assert found == {mine.id: Ownership(feed.id), theirs.id: Ownership(other.id)}
    feed.own(mine)
    found = store.read(lambda tx: feed_jobs.ownership(tx, feed.id, [mine.id], edits=True))
    assert found == {mine.id: Ownership(feed.id)}
    assert store.read(lambda tx: feed_jobs.ownership(tx, feed.id, [])) == {}


def test_a_job_has_one_owner_and_the_former_one_is_disturbed(feed: Feed, board: Board) -> None:
    job = feed.write("A")
    feed.settle()
    other = Feed(board, "other")
    other.own(job)
    assert feed.owner_of(job) == other.id
    assert (feed.active(), other.active()) == ([], [(job.id, 0)])
    assert not feed.undisturbed()


def test_owned_active_jobs_come_in_pages_with_their_misses(feed: Feed, board: Board, store: Store) -> None:
    made = [feed.write(name) for name in "ABCDE"]
    board.archive(made[1], ArchivedBy.PERSON)
    free = board.create(reference_id="F")
    ids = [job.id for job in made]
    for _ in range(2):
        store.write(lambda tx: feed_jobs.missed(tx, feed.id, [ids[2]]))
    assert feed.active(limit=2) == [(ids[0], 0), (ids[2], 2)]
    assert feed.active(after=ids[2]) == [(ids[3], 0), (ids[4], 0)]
    assert feed.active(employer_wide=True) == [
        (ids[0], 0),
        (ids[2], 2),
        (ids[3], 0),
        (ids[4], 0),
        (free.id, 0),
    ]
    board.update(board.archive(made[3], ArchivedBy.PERSON), status=Status.ACTIVE)
    assert (ids[3], 0) in feed.active()
    feed.own(made[2])
    assert (ids[2], 0) in feed.active()


def test_feeds_that_are_no_longer_configured_give_up_their_jobs(
    feed: Feed, board: Board, store: Store
) -> None:
    other = Feed(board, "other")
    mine, theirs = feed.write("A"), other.write("B")
    assert store.write(lambda tx: feeds.release_unconfigured(tx, {"other"})) == 1
    assert (feed.owner_of(mine), feed.owner_of(theirs)) == (None, other.id)
    assert store.write(lambda tx: feeds.release_unconfigured(tx, {"other"})) == 0


# -- undisturbed -----------------------------------------------------------------------------------------

DISTURBANCES: dict[str, Callable[[Feed, Job], object]] = {
    **{what: touch for what, (touch, left) in TOUCHES.items() if not left and what != "being released"},
    "being due": lambda feed, job: feed.own(job, due=TODAY),
    "another fingerprint": lambda feed, job: feed.own(job, fingerprint=b"g" * 16),
}


@pytest.mark.parametrize("what", DISTURBANCES)
def test_what_disturbs_a_feed(feed: Feed, what: str) -> None:
    job = feed.write("A")
    assert not feed.undisturbed()  # no run has settled it
    feed.settle()
    assert feed.undisturbed()
    DISTURBANCES[what](feed, job)
    assert not feed.undisturbed()


def test_a_refresh_and_other_jobs_do_not_disturb(feed: Feed, board: Board) -> None:
    job = feed.write("A", row={"due": TODAY + timedelta(days=1)})
    feed.settle()
    board.update(job, REFRESH, auto_refresh=True)
    board.delete(board.create())
    assert feed.undisturbed()


# -- recent archives -------------------------------------------------------------------------------------


def test_recent_archives_are_the_feeds_own_unapproved_and_not_back(
    feed: Feed, board: Board, store: Store, clock: Clock
) -> None:
    other = Feed(board, "other")

    def run_of(who: Feed) -> int:
        return store.write(lambda tx: runs.begin(tx, who.id, board.employer.id, "f.xml", 1, "c")).id

    def went(who: Feed, kind: ActorKind = ActorKind.RUN) -> Job:
        number = run_of(who)
        return board.archive(who.write(f"R{number}"), ArchivedBy.MISSING, Actor(kind, number), run_id=number)

    def recent(hours: int = 24) -> int:
        return store.read(lambda tx: feeds.recent_archives(tx, feed.id, clock() - timedelta(hours=hours)))

    went(feed)
    clock.forward(hours=25)
    back, gone, _ = went(feed), went(feed), went(feed)
    went(feed, ActorKind.OPERATOR)
    went(other)
    assert (recent(), recent(48)) == (3, 4)
    board.update(back, status=Status.ACTIVE, archived_by=None)
    assert recent() == 2
    board.delete(gone)
    assert recent() == 2
