"""The interface of a database to the store. ``syncd.store.sqlite`` and ``syncd.store.postgres`` are the two databases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import sqlalchemy as sa

from syncd.domain import Status
from syncd.store.model import sql

T = TypeVar("T")


@contextmanager
def translating(
    kinds: tuple[type[BaseException], ...], translated: Callable[[BaseException], BaseException]
) -> Iterator[None]:
    """Raise errors of these kinds as those that ``translated`` returns."""
    try:
        yield
    except kinds as error:
        raise translated(error) from error


class Executes(Protocol):
    """A connection, or a transaction on one. ``execute`` is the driver's."""

    @property
    def execute(self) -> Callable[..., Any]: ...


#: Runs a function in a transaction.
Run = Callable[[Callable[[Executes], T]], T]


class Session(Executes, Protocol):
    """One connection and its current transaction. Not for two threads at once."""

    @property
    def executemany(self) -> Callable[..., Any]: ...

    @property
    def later(self) -> Callable[..., Any]:
        """Runs a statement for each of some rows as ``executemany`` does, at the latest when the transaction ends or another
        statement names its table: nobody learns how many rows it wrote. For statements that do not depend on each other."""

    def flush(self) -> None:
        """Run the statements that ``later`` has left. Raises the errors of ``executemany``."""

    def stream(self, text: str, values: Sequence[Any], /) -> Iterable[Any]:
        """Run a SELECT whose rows are never all in memory. They end with the transaction, also if they were not all read."""

    def begin(self) -> None:
        """Begin a transaction. One that writes waits until no other does; one that reads sees a single moment."""

    def commit(self) -> None:
        """Return when the transaction is on disk."""

    def rollback(self) -> None:
        """Undo everything since ``begin``. Does nothing without a transaction."""

    @property
    def alive(self) -> bool:
        """Return whether a transaction is open."""

    def mark(self) -> int:
        """Return a number that rises with every row written."""

    def tidy(self, first: Callable[[], None]) -> None:
        """Do what keeps the next transactions fast; called after each. ``first`` is called before what takes time."""

    def has_table(self, name: str) -> bool: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Window:
    """A page of a list: ``take`` of ``total`` jobs after the first ``skip``. The second half is counted from the end."""

    skip: int
    take: int
    total: int

    @classmethod
    def of(cls, total: int, page: int, size: int) -> Window:
        """Return the window of a page. ``page`` counts from 1; beyond the last page nothing is taken."""
        skip = (page - 1) * size
        return cls(skip, max(0, min(size, total - skip)), total)

    @property
    def backwards(self) -> bool:
        return self.near < self.skip

    @property
    def near(self) -> int:
        """The number of jobs that are skipped, counted from the nearer end."""
        return min(self.skip, self.total - self.skip - self.take)


class Search(NamedTuple):
    """A search for an employer's jobs that have ``term`` (folded) in their title or referenceId, in one status or any, of one
    feed or any. ``among``: how many jobs the employer has in the status."""

    employer_id: int
    term: str
    status: Status | None
    among: int
    feed_id: int | None


#: Characters of the shortest term that a search index finds.
MIN_INDEXED = 3


class SearchIndex(Protocol):
    """The search index beside the jobs (``search`` of the table ``job``): searches are right without it, but slow."""

    def prepare(self, session: Session) -> None:
        """Make the index, empty, if it is missing or unusable."""

    def find(self, tx: Executes, search: Search, page: int, size: int) -> tuple[int, Sequence[int]]:
        """Return how many jobs are found, and the ids of those on ``page``, in the order of lists."""

    def step(self, read: Run[bool], write: Run[Any]) -> bool:
        """Bring some new and changed jobs into the index; return whether there may be more. Raises StoreError."""


class Database(Protocol):
    """One database that holds a store. A method that has a body here is for a database that needs nothing there."""

    #: Errors of the driver.
    errors: tuple[type[BaseException], ...]
    statements: sql.Statements
    index: SearchIndex

    def translated(self, error: BaseException) -> BaseException:
        """Return the StoreError that an error of the driver means; any other error as it is."""

    def is_conflict(self, error: BaseException) -> bool:
        """Return whether a row was refused because another row has its key."""

    def lock(self) -> None:
        """Own the store until ``unlock`` or the end of the process. Raises StoreInUse, StoreError."""

    def unlock(self) -> None: ...

    def named_lock(self, name: str) -> AbstractContextManager[bool]:
        """Yield whether this process now has the lock ``name``: False while another has it. Raises StoreError, OSError."""

    def exists(self) -> bool:
        """Return whether there is a store, of any version. Creates nothing. Raises StoreError."""

    def under_locks(self, fn: Callable[[Any], T]) -> Callable[[Any], T]:
        """Return ``fn``, which first raises StoreBusy if a named lock that the calling thread holds now is lost by then."""
        return fn

    def writer(self) -> Session: ...

    def reader(self) -> Session: ...

    def single_reader(self) -> Session:
        """Return a session whose transactions have one SELECT each: the database itself begins and ends them."""

    def migration(self) -> AbstractContextManager[sa.Connection]:
        """Return a transaction that no other writes beside."""

    def check(self) -> None:
        """Raise StoreBusy if writes of now would be lost."""

    def last_ids(self, tx: Executes) -> dict[str, int]:
        """Return by table the last id that the database has given out."""

    def set_last_ids(self, tx: Executes, ids: Mapping[str, int]) -> None:
        """Give out higher ids than these from now on, and than those of the rows that are there."""

    def version(self) -> str | None:
        """Return the version of the store's schema; None if there is no store. Writes nothing. Raises StoreError."""
