"""The daemon counts, beside its other work, the words that searches among many jobs ask."""

import sqlite3
from contextlib import closing
from datetime import date
from functools import partial
from itertools import combinations

from syncd.store import Store
from syncd.store.jobs import writing
from syncd.store.model import job_columns
from syncd.store.searches import words
from tests.e2e.conftest import BASE
from tests.store.board import TORONTO, a_job
from tests.stores import sqlite_only

TITLE = "abcdefghijklmnopqrstuvwxyz"
JOBS = words.MANY + 1
#: The daemon does not archive the jobs meanwhile.
NEVER = date(2999, 1, 1)


def _fill(path):
    def insert(tx, first):
        numbers = range(first, min(first + 5_000, JOBS + 1))
        jobs = [
            a_job(1, id=number, reference_id=f"R-{number}", title=TITLE, close_date=NEVER)
            for number in numbers
        ]
        tx.many(job_columns.INSERT, map(job_columns.row_of, jobs))
        tx.many(writing.TOTAL, [(1, "active", len(jobs))])

    with Store.open(f"sqlite:///{path}", timezone=TORONTO) as store:
        for first in range(1, JOBS + 1, 5_000):
            store.write(partial(insert, first=first))


@sqlite_only
def test_the_daemon_counts_the_words_of_an_employer_with_many_jobs(installation, start, until):
    key = installation.employer_with_key()
    path = installation.base / "var" / "syncd.db"
    _fill(path)
    daemon = start()
    terms = enumerate((TITLE[first:end] for first, end in combinations(range(len(TITLE) + 1), 2)), start=1)

    def counted():
        """Take the text of one job more away without an entry in the history: a term that was never asked misses it, unless
        the words, which were counted before, are asked."""
        number, term = next(terms)
        with closing(sqlite3.connect(path, timeout=30)) as store, store:
            store.execute("UPDATE job SET search = '' WHERE id = ?", (number,))
        _, answer = daemon.request("GET", f"{BASE}/jobs?q={term}", key)
        return answer["paging"]["total"] > JOBS - number

    until(counted, "a count of the words")
    assert daemon.stop() == 0
