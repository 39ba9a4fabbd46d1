"""A history: the deliveries of one feed, one after the other, each run by the importer and compared with the model."""

import gzip
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

from syncd.domain import Job, Run
from syncd.service.housekeeping import Refresher
from syncd.store import Store, employers
from syncd.sync.run import RejectsWriter
from tests.clock import START, Clock
from tests.sync.board import Board
from tests.sync.histories.forms import FORMS, VOCABULARIES, Record, Style, dump, feed_toml
from tests.sync.histories.model import Model, bad_rows
from tests.sync.histories.postings import Desk, Posting

#: A title that no feed may have.
TOO_LONG = f" ({'very ' * 60}long)"
View = tuple[Any, ...]


def view_of(job: Job) -> View:
    """Return what the public sees of a job: title, places, type, pay, address, text."""
    pay = job.salary and (job.salary.amount, job.salary.max_amount, job.salary.period)
    address = job.application_url if job.routing == 2 else job.application_email
    text = _bare(re.sub(r"<[^>]*>", "", job.description or ""))
    places = tuple(place.description for place in job.locations)
    return job.title, places, job.position_type, job.categories, pay, address, text


def _bare(text: str) -> tuple[int, str]:
    letters = "".join(text.split())
    return len(letters), letters[-20:]


class Feed:
    """A feed of one form, its board, and what it delivers. ``name``: of its employer."""

    def __init__(self, store: Store, clock: Clock, folder: Path, form: str, name: str) -> None:
        self.board = Board(store, clock, folder, store.write(lambda tx: employers.add(tx, name)))
        vocabulary, self.form = FORMS[form]
        self.vocabulary, self.name = VOCABULARIES[vocabulary], name.lower()
        self.board.folder = folder
        self._toml = ""

    def records(self, postings: Sequence[Posting]) -> list[Record]:
        return [self.vocabulary.record(posting) for posting in postings]

    def deliver(self, content: bytes, *, settings: str = "") -> tuple[Run, Path | None]:
        """Run a file; return the run and the file of the rejected records. The first file decides on the draft."""
        if not self._toml:
            self._toml = feed_toml(self.board, self.vocabulary, self.form, content)
        self.feed = self.board.feed(f"{settings}\n{self._toml}", self.name)
        rejects = RejectsWriter(self.feed.folder / ".rejected", self.feed.config.read)
        run = self.board.deliver(self.feed, content, rejects=rejects)
        return run, rejects.path

    def change_settings(self, change: Callable[[str], str]) -> None:
        self._toml = change(self._toml)

    def view(self, posting: Posting) -> View:
        """Return what the public should see of a posting."""
        catalogue = self.board.catalogue
        pay = None
        if posting.pay is not None:
            amount, most, period = posting.pay
            pay = (amount, most and Decimal(most), catalogue.find("periods", period))
        return (
            posting.title,
            tuple(", ".join(place) for place in posting.places),
            catalogue.find("position_types", posting.type),
            (catalogue.find("categories", posting.category),),
            pay,
            posting.address,
            _bare(posting.text),
        )

    def live(self) -> dict[str, View]:
        return {job.reference_id or "": view_of(job) for job in self.board.jobs() if job.status == "active"}


class History:
    """An honest history of one feed."""

    def __init__(self, store: Store, clock: Clock, folder: Path, form: str, seed: int) -> None:
        self.random = random = Random(f"{form}-{seed}")
        self.feed = Feed(store, clock, folder, form, f"{form}-{seed}")
        vocabulary = self.feed.vocabulary
        self.clock, self.store = clock, store
        clock.now = START + timedelta(days=random.randrange(365))  # so that the hour changes, too
        self.desk = Desk(random, vocabulary.has_status, vocabulary.mails)
        self.grace = random.choice((1, 1, 1, 2, 3))
        self.model = Model(self.grace)
        #: Large feeds change slowly; a small one loses half of its postings now and then.
        size = random.choice((5, 8, 12, 20, 30, 45, 80))
        self.leave = random.choice((0.0, 0.01, 0.03, 0.06)) if size > 20 else random.choice((0.02, 0.05, 0.1))
        self.postings = [self._fit(self.desk.new(clock.today)) for _ in range(size)]
        self.style = Style(sparse=random.random() < 0.5, pretty=random.random() < 0.5)
        #: The applied files, the newest last, and what they had.
        self.applied: list[tuple[bytes, list[Posting], set[str]]] = []
        #: The newest applied bytes: of a file, or of corrected rows.
        self.last = b""
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []

    def _fit(self, posting: Posting) -> Posting:
        return replace(posting, places=posting.places[: self.feed.vocabulary.places])

    def step(self) -> None:
        """Let some time pass, and deliver a file as a partner does."""
        random = self.random
        if self.applied:
            self.clock.forward(hours=random.choice((1, 5, 12, 24, 24, 24, 25, 47, 72)))
        chance = random.random()
        if self.applied and chance < 0.04:
            self._deliver(*self.applied[-1], "the same file again")
        elif len(self.applied) > 1 and chance < 0.08:
            self._deliver(*random.choice(self.applied[-4:-1]), "an older file again")
        else:
            if self.applied:
                days = self.desk.day(
                    self.postings, self.clock.today, self.leave * random.choice((0.5, 1, 1.5))
                )
                self.postings = [self._fit(posting) for posting in days]
                if random.random() < 0.1:
                    random.shuffle(self.postings)
                if random.random() < 0.05:
                    self.style = self._new_style()
                if random.random() < 0.05:
                    self._come_back()
            self._deliver_new()

    def _new_style(self) -> Style:
        random = self.random
        return Style(
            random.random() < 0.5,
            random.random() < 0.5,
            random.random() < 0.3,
            random.randint(0, 5),
            random.choice((None, "recruiter")) if self.feed.vocabulary.toml != "" else None,
        )

    def _come_back(self) -> None:
        listed = {posting.reference for posting in self.postings}
        gone = [job.posting for ref, job in self.model.jobs.items() if ref not in listed]
        if gone:
            back = self.random.choice(gone)
            close = back.close and self.clock.today + timedelta(days=self.random.randint(5, 40))
            self.postings.append(replace(back, close=close, status="open"))

    def _deliver_new(self) -> None:
        random, postings, form = self.random, list(self.postings), self.feed.form
        records = self.feed.records(postings)
        rejected, ragged = set[str](), set[int]()
        if random.random() < 0.1 and self.applied and len(postings) > 4:
            for at in random.sample(range(len(postings)), random.randint(1, bad_rows(postings))):
                rejected.add(postings[at].reference)
                if form == "csv" and random.random() < 0.5:
                    ragged.add(at)
                else:
                    title = self.feed.vocabulary.names["title"]
                    records[at] |= {title: records[at][title] + TOO_LONG}
        if random.random() < 0.03:  # a record twice
            at = random.randrange(len(records))
            records, postings = [*records, records[at]], [*postings, postings[at]]
        content = dump(form, records, self.style, ragged=ragged)
        if random.random() < 0.05:
            content = gzip.compress(content, mtime=0)
        file = self._deliver(content, postings, rejected, "a new file")
        if file is not None and not ragged and random.random() < 0.5:
            self.clock.forward(hours=1)
            mended = [posting for posting in self.postings if posting.reference in rejected]
            self._deliver(file.replace(TOO_LONG.encode(), b""), mended, set(), "corrected rows")

    def _deliver(
        self, content: bytes, postings: list[Posting], rejected: Collection[str], what: str
    ) -> bytes | None:
        """Deliver a file, and compare. Return the file of its rejected records."""
        model, now, today = self.model, self.clock.now, self.clock.today
        corrected = what == "corrected rows"
        Refresher(self.store).tick()
        model.close(today)
        effects = model.foresee(postings, today, rejected=rejected, whole=not corrected)
        older = content != self.last and any(content == each for each, *_ in self.applied)
        must_hold, can_hold = (
            older and model.holds_older(effects, len(postings), renewed=all) for all in (False, True)
        )
        may_wait = model.holds_archive(effects, now)
        before = self.feed.live()
        run, file = self.feed.deliver(content, settings=f"grace = {self.grace}")
        rejects = file.read_bytes() if file is not None else None
        held = run.holds.value if run.holds else None
        self.counts["deliveries"] += 1
        self.counts[what] += 1
        if must_hold or (can_hold and held == "all"):
            self.counts["an older file held"] += 1
            if held == "all":
                self.feed.board.importer.reject(run.id)
            self._check(run, what, held == "all", before == self.feed.live(), "held all, as an older file")
            return None
        if may_wait:
            self.counts["more than the guard lets go"] += 1
            if held == "archive":
                run = self.feed.board.importer.approve(run.id, self.feed.feed)
                held = None
        expected = "partial" if rejected else "succeeded"
        fine = held is None and run.withheld is None and run.state.value in (expected, "unchanged")
        if not fine:
            self.counts["false"] += 1
        model.apply(effects, now, approved=may_wait)
        live = {reference: self.feed.view(posting) for reference, posting in model.live().items()}
        self._check(run, what, fine, live == (seen := self.feed.live()), expected, live, seen)
        self.last = content
        if not corrected and (not self.applied or content != self.applied[-1][0]):
            self.applied.append((content, postings, set(rejected)))
        return rejects

    def _check(
        self, run: Run, what: str, fine: bool, right: bool, expected: str, *boards: dict[str, View]
    ) -> None:
        if fine and right:
            return
        words = f"{self.feed.name}, delivery {self.counts['deliveries']} ({what}): {run.state.value} {run.holds or ''}"
        words += f" {run.reason or ''} {run.withheld or ''} {run.counts}, expected {expected}"
        if boards:
            model, seen = boards
            wrong = [r for r in {*model, *seen} if model.get(r) != seen.get(r)]
            words += "".join(
                f"\n    {ref}: model {model.get(ref)}\n    store {seen.get(ref)}" for ref in wrong[:2]
            )
        self.faults.append(words)
