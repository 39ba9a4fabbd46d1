"""The first step of a run: the records of a file are validated and staged. No job is written."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from contextlib import closing

import structlog

from syncd.domain import Decision, Run, RunState
from syncd.errors import FeedError
from syncd.feeds.readers import Record
from syncd.logs import Event
from syncd.store import Store, Tx, feed_jobs, places, runs
from syncd.sync.run.context import Feed, FileRun, Summary
from syncd.sync.run.deciding import RowJobs, decide, problems_of
from syncd.sync.run.faults import file_fault
from syncd.sync.run.repeats import merge_places
from syncd.sync.run.shape import FileNames
from syncd.sync.run.stage import MAX_LOOKED_UP, Stage
from syncd.sync.validation import (
    NotOneRecord,
    NoWorker,
    RowKind,
    RowValidator,
    ValidatedRow,
    ValidationPool,
    ValidationTask,
    pack_problems,
    remaining_problems,
    unpack,
    unpack_problems,
)

log = structlog.get_logger(__name__)

#: Records between two checkpoints.
EDGE = 2000
#: The record after which worker processes may be started if no record was known up to there.
FIRST_LOOK = 100
#: Worker processes are started while at least this many bytes are to be validated: a start costs as much of a core as half of
#: them.
MIN_FOR_WORKERS = 8 << 20
#: Rows of the store that are fetched ahead at once, and the number of such pages that are kept.
_PAGE, _PAGES = 1000, 3


def read_file(this: FileRun, run: Run, stage: Stage) -> Summary:
    """Read the file to its last byte into the stage.

    Raises FeedError for a file that cannot be used, which may show only at its end, and Stopped."""
    this.enter(run, RunState.READING)
    with this.measured("read"):
        if not this.source.size:
            raise FeedError("empty_file", "the file has 0 bytes")
        try:
            return _Reading(this, stage, this.ctx.processes).read()
        except NoWorker as error:
            log.warning(Event.SYNC_HELPER_LOST, error=str(error))
        except NotOneRecord:  # its records can be separated only by one reader of the whole file
            pass
        stage.records.clear()
        this.warnings.clear()
        return _Reading(this, stage, 0).read()


def write_late_rejects(this: FileRun, stage: Stage) -> None:
    """Read the file again for the records of rows that were rejected only when they met the store, and add them to
    the file of rejected records."""
    if this.rejects is None or not stage.rows.has_late():
        return
    # a reader gives the content of records that are not known
    for record in this.reader(lambda digests: set(digests) - stage.rows.late(digests)):
        if record.item is None:
            continue
        if (problems := stage.rows.take_late(record.number)) is not None:
            this.rejects.add(record, problems)


class _Reading:
    """One reading of the whole file, with the help of ``workers`` worker processes at most."""

    def __init__(self, this: FileRun, stage: Stage, workers: int) -> None:
        config = this.feed.config
        self._this, self._stage, self._workers = this, stage, workers
        self._known_records = KnownRecords(this.store, this.feed)
        slicing = workers > 0 and not config.read.outside
        # the result of a record depends on the others of its referenceId where their places are merged
        known = self._known_records.find if config.policy.repeats == "last" else lambda digests: ()
        self._reader = this.reader(known, slicing=slicing)
        self._validator = RowValidator(config.mapping, this.ctx.catalogue)
        self._mark: Future[None] | None = None
        self._last_good: str | None = None
        self._read = self._known = self._rejected = 0
        self._filtered: Counter[str] = Counter()
        self._names = FileNames(self._reader)

    def read(self) -> Summary:
        this, reader = self._this, self._reader
        if this.rejects is not None:
            this.rejects.start(reader)
        task = ValidationTask(
            self._validator, reader.source.head, this.feed.config.read, this.ctx.limits, reader.format
        )
        pool = ValidationPool(task, lambda: this.store.recent_requests)
        try:
            with closing(pool):
                try:
                    self._read_all(pool)
                except FeedError:
                    self._finish(pool)  # for the last good reference
                    raise
                self._finish(pool)
        except FeedError as error:
            error.last_good = self._last_good
            raise
        except (NotOneRecord, NoWorker):
            raise
        except Exception as error:
            if (fault := file_fault(error, f"near record {reader.number}")) is None:
                raise
            fault.last_good = self._last_good
            raise fault from error
        finally:
            for why in pool.lost:
                log.warning(Event.SYNC_HELPER_LOST, error=why)
        this.source.check_unchanged()
        for code, detail in reader.warnings():
            this.warnings.add(code, detail)
        replaced = self._stage.records.seal()
        if self._this.feed.config.policy.repeats == "places":
            merge_places(self._stage)
        archives, withheld = self._absences()
        return Summary(
            self._read,
            self._stage.known.records,
            replaced,
            self._rejected,
            self._filtered,
            archives,
            reader.mended,
            withheld,
            self._names,
            reader.line_end,
            reader.format,
            reader.member_of,
        )

    def _read_all(self, pool: ValidationPool) -> None:
        before = 0
        for record in self._reader:
            if not before:
                self._check_columns()
            number = record.number
            self._names.add(record)
            if record.item is None and record.problem is None:
                number += self._take_known(record) - 1
            else:
                for records, rows in pool.add(record):
                    self._take(records, rows)
            at_edge = number // EDGE > before // EDGE
            if at_edge:
                self._after_batch(number)
            if at_edge or (number == FIRST_LOOK and not self._known):
                # the bytes that remain to be validated, if the file goes on as it began
                left = self._this.source.size - self._reader.bytes_read
                if left * (1 - self._known / number) >= MIN_FOR_WORKERS:
                    pool.start(self._workers)
            before = number
        if not before:
            self._check_columns()
        self._end_mark()

    def _check_columns(self) -> None:
        if self._reader.header is not None:
            self._this.feed.config.mapping.check_columns(self._reader.header)

    def _finish(self, pool: ValidationPool) -> None:
        for records, rows in pool.finish():
            self._take(records, rows)

    def _after_batch(self, number: int) -> None:
        """Begin to store the place that was reached, since attempts that die at the same place are counted: reading goes on while
        it is brought to disk."""
        this, place = self._this, f"read {number // EDGE * EDGE}"
        self._end_mark()
        if this.stored:
            self._mark = this.store.begin_write(lambda tx: runs.set_checkpoint(tx, this.run.id, place))
        this.after_batch("reading", self._reader.bytes_read, this.source.size, number)

    def _end_mark(self) -> None:
        """Wait until the last checkpoint is on disk. Raises StoreError."""
        if self._mark is not None:
            self._mark.result()

    # -- known records -------------------------------------------------------------------------------------

    def _take_known(self, record: Record) -> int:
        """Stage a known record, or all those in a row that it stands for. Return how many."""
        rows = self._known_records.rows(record.run or [record.digest])
        self._stage.known.add(record.number, rows)
        *_, self._last_good = rows[-1]
        self._read += len(rows)
        self._known += len(rows)
        return len(rows)

    # -- other records -------------------------------------------------------------------------------------

    def _take(self, records: Sequence[Record], rows: Sequence[ValidatedRow]) -> None:
        self._read += len(records)
        staged = []
        for record, row in zip(records, self._judged_whole(rows), strict=True):
            if row.left_out is not None:
                self._filtered[row.left_out] += 1
                continue
            staged.append((record, row))
            if row.unknown or row.warnings:
                self._warn(record, row)
            if row.kind is RowKind.VALID:
                self._last_good = row.reference
                continue
            self._rejected += 1
            if self._this.rejects is not None:
                self._this.rejects.add(record, unpack_problems(row.body))
        self._stage.records.add(staged)

    def _warn(self, record: Record, row: ValidatedRow) -> None:
        warnings = self._this.warnings
        warnings.unknown.add(row.unknown)
        for code, detail in row.warnings:
            warnings.add(code, detail, record.number, row.reference, self._reader.member_of(record.number))

    def _judged_whole(self, rows: Sequence[ValidatedRow]) -> Sequence[ValidatedRow]:
        """Add to the problems of rejected rows those of their other fields: the fields that a new job would lack, or
        conflicts with the job of the row."""
        feed = self._this.feed
        rests = {place: unpack(row.rest) for place, row in enumerate(rows) if row.rest is not None}
        if not rests:
            return rows

        def decided(tx: Tx) -> dict[int, Decision | None]:
            row_jobs = RowJobs.of(tx, feed, filter(None, (rows[place].reference for place in rests)))
            decisions = {}
            for place, sent in rests.items():
                job = row_jobs.jobs.get(rows[place].reference or "")
                located = places.locate(tx, feed.employer.id, sent)
                decisions[place] = decide(feed, located, job, row_jobs.owner(job), tx.now).decision
            return decisions

        whole = list(rows)
        for place, decision in self._this.store.read(decided).items():
            problems = unpack_problems(rows[place].body)
            if more := remaining_problems(problems, problems_of(decision)):
                whole[place] = rows[place]._replace(body=pack_problems((*problems, *more)))
        return whole

    def _absences(self) -> tuple[bool, str | None]:
        """Return whether jobs that the file does not name are missing, and if not, why, for a snapshot."""
        reader = self._reader
        if self._this.feed.config.policy.mode == "delta" or reader.mended:
            return False, None
        if reader.withheld is not None:
            return False, reader.withheld
        total, more = reader.announced.total, reader.announced.more
        if total is not None and total > self._read:
            return False, f"the file says that it has {total} records, but {self._read} were found"
        if reader.announced.fault is not None:
            return False, f"the file says that it may not be whole (`{reader.announced.fault}`)"
        if more is not None:
            return False, f"the file says that other records follow it (`{more}`)"
        return True, None


class KnownRecords:
    """The records that need not be validated: the feed wrote the same bytes before, and nothing has changed since.

    A reader calls ``find`` with the digests of its next records; ``rows`` then returns the jobs of those that are known.

    A feed mostly keeps its order, and the store has its rows in the order in which they came. So pages of rows are
    fetched ahead of the reader, which is five times as fast as one by one. A digest that is in no page is looked up. After
    the clock was set back, no record is known: the date of a row may have passed when the feed wrote it, and not now."""

    def __init__(self, store: Store, feed: Feed) -> None:
        self._store, self._feed = store, feed
        self._pages: deque[_Page] = deque(maxlen=_PAGES)
        self._after = 0
        self._more = not store.read(lambda tx: runs.clock_went_back(tx, feed.id))
        self._known: _Page = {}
        self._previous: _Page = {}

    def find(self, digests: list[bytes]) -> Collection[bytes]:
        """Return those of the digests that are known."""
        known: _Page = {}
        on_page: _Page = {}
        for page in self._pages:
            known |= (on_page := _on_page(page, digests))
        while self._more and (on_page or not self._pages):  # the file has come to the newest page
            known |= (on_page := _on_page(self._fetch(), digests))
        if len(known) < len(digests) and self._after:  # the feed has jobs
            rest = list(dict.fromkeys(digest for digest in digests if digest not in known))
            for start in range(0, len(rest), MAX_LOOKED_UP):
                known |= self._look_up(rest[start : start + MAX_LOOKED_UP])
        if (
            len(digests) > 1
        ):  # a reader may ask for the next records, or for one again, before it has given out all of these
            self._previous, self._known = self._known, {}
        self._known |= known
        return known.keys()

    def rows(self, digests: list[bytes]) -> list[feed_jobs.KnownRow]:
        """Return the jobs of known records that were asked for together."""
        known = self._known if digests[0] in self._known else self._previous
        return [known[digest] for digest in digests]

    def _fetch(self) -> _Page:
        """Return the next page."""
        feed, after = self._feed, self._after
        rows = self._store.read(
            lambda tx: feed_jobs.next_known(
                tx, feed.id, feed.fingerprint, tx.now.today, after_job_id=after, limit=_PAGE
            )
        )
        self._more = len(rows) == _PAGE
        page = {digest: (job, digest, reference) for job, digest, reference, known in rows if known}
        self._pages.append(page)
        if rows:
            self._after, *_ = rows[-1]
        return page

    def _look_up(self, digests: list[bytes]) -> _Page:
        feed = self._feed
        rows = self._store.read(
            lambda tx: feed_jobs.known_digests(tx, feed.id, feed.fingerprint, digests, tx.now.today)
        )
        return {digest: (job, digest, reference) for job, digest, reference in rows}


#: Known records by their digests.
_Page = dict[bytes, feed_jobs.KnownRow]


def _on_page(page: _Page, digests: list[bytes]) -> _Page:
    return {digest: page[digest] for digest in digests if digest in page}
