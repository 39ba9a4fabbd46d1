"""Make the stores of ``scale.py``: the rows that the API would have written, written in bulk.

The schema and the rows, with their search column, are the store's own; the totals and the counter of ids are set to
what the store would have kept. History is left out: nothing that is measured reads it.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from uuid import UUID
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from bench.servers import DESCRIPTION
from syncd.domain import CloseOrigin, Job, Location, Status
from syncd.store import Store, Tx, employers, keys
from syncd.store.jobs import writing
from syncd.store.model import job_columns

EMPLOYER = "Bench"
#: A word in one title of 20, and a word in seven jobs of an employer, whatever the number of its jobs.
COMMON, RARE, RARE_JOBS = "cook", "zymurgist", 7
#: One title of 20 contains COMMON.
ROLES = (
    "Line Cook",
    *(
        f"{first} {second}"
        for first in ("Senior", "Night", "Junior")
        for second in ("Dishwasher", "Pâtissier", "Shift Manager", "Warehouse Clerk", "Infirmière", "Driver")
    ),
    "Forklift Operator",
)
#: Parts of the titles of varied jobs: "Senior Line Cook - Kalomiter, Halifax (nights) #1234".
LEVELS = ("", "Senior ", "Junior ", "Lead ", "Assistant ", "Part-Time ", "Intern, ", "Casual ")
WORK = (
    *(
        "Dishwasher",
        "Shift Manager",
        "Store Manager",
        "Warehouse Clerk",
        "Infirmière",
        "Driver",
        "Registered Nurse",
    ),
    *(
        "Software Developer",
        "Sales Associate",
        "Customer Service Representative",
        "Electrician",
        "Production Worker",
    ),
    *("Operations Coordinator", "Receptionist", "Security Guard", "Mechanic", "Pâtissier", "Room Attendant"),
)
SYLLABLES = (
    "ka",
    "lo",
    "mi",
    "ter",
    "son",
    "bra",
    "dun",
    "vel",
    "os",
    "qui",
    "ne",
    "ha",
    "rin",
    "gar",
    "pol",
    "stein",
)
TOWNS = ("Halifax", "Calgary", "Montréal", "Toronto", "Moncton", "Regina", "Whitehorse", "Québec", "Sudbury")
SHIFTS = ("", " (nights)", " (weekends)", " - remote", " / temporary")
PLACES = tuple(
    (Location(6077243 + n, name, f"{name}, {province}"),)
    for n, (name, province) in enumerate((("Calgary", "AB"), ("Montréal", "QC"), ("Halifax", "NS")))
)
#: The archived jobs and the drafts of each hundred jobs; the others are active.
ARCHIVED, DRAFTS = 15, 5
_START = datetime(2026, 3, 1, tzinfo=UTC)
#: Later than any measurement: the daemon would archive jobs that have closed.
_NEVER = date(2999, 1, 1)
_BATCH = 10_000


def make(
    folder: Path, jobs: int, employer_count: int = 1, url: str | None = None, *, varied: bool = False
) -> str:
    """Make an installation in ``folder`` whose employers share ``jobs`` jobs, with its store at ``url`` (None: in the folder).
    Return a key of the first employer. ``varied``: nearly each job has a title of its own, out of some ten thousand words, and
    a random referenceId."""
    (folder / "config" / "feeds.d").mkdir(parents=True)
    (folder / "config" / "syncd.toml").write_text(
        '[api]\nlisten = "127.0.0.1:0"\n[operator]\nlisten = ""\n[log]\nformat = "json"\nlevel = "info"\n'
    )
    (folder / "var").mkdir()
    url = url or f"sqlite:///{folder}/var/syncd.db"
    with Store.open(url, timezone=ZoneInfo("America/Toronto")) as store:
        names = [f"{EMPLOYER} {number}" for number in range(employer_count)]
        ids = [store.write(partial(employers.add, name=name)).id for name in names]
        made = map(_varied, _jobs(jobs, ids)) if varied else _jobs(jobs, ids)
        while some := list(islice(made, _BATCH)):
            store.write(partial(_insert, some=some))
        store.write(lambda tx: tx.next_ids("job", jobs))
        while store.index_some():
            pass
        return store.write(lambda tx: keys.create(tx, ids[0], "bench", None))[1]


def _insert(tx: Tx, some: list[Job]) -> None:
    tx.many(job_columns.INSERT, map(job_columns.row_of, some))
    counted = Counter((job.employer_id, job.status.value) for job in some)
    tx.many(writing.TOTAL, [(*key, n) for key, n in counted.items()])


def _jobs(count: int, employer_ids: list[int]) -> Iterator[Job]:
    """Yield the jobs by id. The employers take turns, as with real feeds: one after another would be faster to index."""
    each = count // len(employer_ids)
    rare = {each * n // RARE_JOBS for n in range(RARE_JOBS)}
    for number in range(count):
        own = number // len(employer_ids)
        yield _job(number + 1, employer_ids[number % len(employer_ids)], own, rare=own in rare)


def _job(job_id: int, employer_id: int, own: int, *, rare: bool) -> Job:
    mixed = own * 2_654_435_761 % 2**32  # spreads values that would follow the order of the ids
    role = ROLES[mixed % len(ROLES)]
    part = mixed // 64 % 100
    status = (
        Status.ARCHIVED if part < ARCHIVED else Status.DRAFT if part < ARCHIVED + DRAFTS else Status.ACTIVE
    )
    published = _START + timedelta(seconds=mixed // 8192 % 10_000_000)
    return Job(
        id=job_id,
        employer_id=employer_id,
        reference_id=f"R-{own:07d}",
        title=f"{RARE.title()} {own}" if rare else f"{role} {own}",
        published_at=published,
        publish_date=published.date(),
        close_date=_NEVER,
        close_origin=CloseOrigin.CHOSEN,
        confidential=False,
        auto_refresh=False,
        status=status,
        locations=PLACES[own % 3],
        categories=(1 + own % 20,),
        position_type=1 + own % 5,
        salary=None,
        description=DESCRIPTION,
        routing=1,
        application_email="jobs@example.com",
        application_url=None,
        version=1,
    )


def _varied(job: Job) -> Job:
    """Return the job with a title and a referenceId as those of many clients of an agency are."""
    if job.title.startswith(RARE.title()):
        return job
    chosen = Random(job.id)
    work = "Line Cook" if chosen.random() < 1 / 20 else chosen.choice(WORK)
    client = f"{int(30_000 * chosen.random() ** 3):x}"  # some have many jobs, many have few
    name = "".join(SYLLABLES[int(digit, 16)] for digit in client).title()
    number = f" #{chosen.randrange(100_000)}" if chosen.random() < 1 / 3 else ""
    title = f"{chosen.choice(LEVELS)}{work} - {name}, {chosen.choice(TOWNS)}{chosen.choice(SHIFTS)}{number}"
    return replace(job, title=title, reference_id=str(UUID(int=chosen.getrandbits(128), version=4)))
