"""The stage of one run: opens the scratch files, and holds the tables in them."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path

from syncd.sync.run.stage.bodies import Bodies
from syncd.sync.run.stage.jobs import LeavingJobs, NamedJobs, NewJobs
from syncd.sync.run.stage.records import Records
from syncd.sync.run.stage.rereading import Rereading
from syncd.sync.run.stage.rows import Rows

_SETTINGS = """
PRAGMA page_size = 16384;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA cache_size = -8192;
"""


class Stage:
    """``records``: what is read; ``rows``: what was made of it; ``rereading``: which records a second reading has to find.
    ``named``, ``leaving`` and ``new``: jobs that the file names, that would be archived, and that would be created.

    ``folder`` is where the scratch files are made (default: the system's temporary folder). A context manager."""

    def __init__(self, folder: Path | None = None) -> None:
        with tempfile.NamedTemporaryFile(prefix="syncd-stage-", dir=folder) as file:
            self._db = sqlite3.connect(file.name, isolation_level=None)
            self._db.executescript(_SETTINGS)
        self._bodies = Bodies(folder)
        self.records, self.rows = Records(self._db, self._bodies), Rows(self._db, self._bodies)
        self.rereading = Rereading(self._db)
        self.named, self.leaving, self.new = NamedJobs(self._db), LeavingJobs(self._db), NewJobs(self._db)
        self._db.execute("BEGIN")

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()
        self._bodies.close()
