"""``syncd jobs`` and ``syncd export``: an employer's jobs as a table or as a feed."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING

import typer

from syncd.cli.output import print_json, print_list, remark, whole_file
from syncd.cli.store_access import opened_store
from syncd.config import Settings
from syncd.domain import Employer, Job, Status
from syncd.service import stores
from syncd.store import Store, employers, jobs
from syncd.sync.report import header_json

if TYPE_CHECKING:
    from syncd.feeds.export import ExportFormat

#: The counts of an export, as its JSON names them. ``pastCloseDate``: jobs that are active although their close date has passed;
#: an import would archive them.
COUNTED = ("exported", "withoutReferenceId", "notActive", "pastCloseDate")
#: Jobs that are read at once: jobs of a megabyte each still fit into memory.
PAGE = 100


def list_jobs(settings: Settings, as_json: bool, employer: str, q: str | None, status: str | None) -> None:
    wanted = Status(status) if status else None
    with opened_store(settings) as store:
        owner = store.read(lambda tx: employers.find(tx, employer))
        views = list(_views(store, owner, q, wanted))
    rows = [
        (job.id, job.reference_id, job.status, job.publish_date, job.title, _places(job)) for job in views
    ]
    headings = ("id", "referenceId", "status", "published", "title", "locations")
    print_list(as_json, [header_json(job, owner) for job in views], headings, rows, "no such jobs")


def _places(job: jobs.JobView) -> str:
    return "; ".join(place.description for place in job.locations)


def _views(store: Store, owner: Employer, q: str | None, status: Status | None) -> Iterator[jobs.JobView]:
    for page in count(1):
        total, views = store.read(
            lambda tx, n=page: jobs.page(tx, owner.id, q=q, status=status, page=n, page_size=PAGE)  # type: ignore[misc]
        )
        yield from views
        if page * PAGE >= total:
            return


def export(
    settings: Settings,
    as_json: bool,
    *,
    employer: str,
    form: str,
    spreadsheet: bool,
    status: str | None,
    output: Path | None,
) -> None:
    """Write the export and print how many jobs it has. Raises NotFound (employer), OSError, typer.BadParameter."""
    from syncd.feeds.export import EXPORTS, SPREADSHEET

    if output == Path("-"):  # the conventional name of standard output
        output = None
    if as_json and output is None:
        raise typer.BadParameter("--json describes a file: name the file with -o")
    if spreadsheet and form != "csv":
        raise typer.BadParameter(f"--spreadsheet is for --format csv, not {form}")
    export_format = SPREADSHEET if spreadsheet else EXPORTS[form]
    wanted = Status(status) if status else None
    counts: Counter[str] = Counter()
    with opened_store(settings) as store:
        owner = store.read(lambda tx: employers.find(tx, employer))
        exported = _jobs(store, owner, wanted, export_format, counts)
        pieces = export_format.write(exported, owner, stores.catalogue_of(store, settings))
        if output is None:
            _write(sys.stdout.buffer, pieces)
        else:
            with whole_file(output) as file:
                _write(file, pieces)
    _print_counts(counts, as_json, owner, form, output)


def _jobs(
    store: Store, owner: Employer, status: Status | None, form: ExportFormat, counts: Counter[str]
) -> Iterator[Job]:
    """Yield the jobs to write, page by page: no lock is held while they are written, and memory stays flat."""
    today = store.read(lambda tx: tx.now.today)
    last = 0
    while page := store.read(lambda tx, after=last: jobs.after(tx, owner.id, after, PAGE, status=status)):  # type: ignore[misc]
        for job in page:
            if job.reference_id is None:
                counts["withoutReferenceId"] += 1
            elif form.published_only and job.status is not Status.ACTIVE:
                counts["notActive"] += 1
            else:
                counts["exported"] += 1
                counts["pastCloseDate"] += job.status is Status.ACTIVE and job.close_date < today
                yield job
        last = page[-1].id


def _write(file: IO[bytes], pieces: Iterator[str]) -> None:
    for piece in pieces:
        file.write(piece.encode())


def _print_counts(
    counts: Counter[str], as_json: bool, owner: Employer, form: str, output: Path | None
) -> None:
    if as_json:
        about = {"employer": owner.name, "format": form, "file": str(output)}
        print_json({**about, **{name: counts[name] for name in COUNTED}})
        return
    exported, unnamed, inactive, late = (counts[name] for name in COUNTED)
    left = [f"{unnamed} without a referenceId"] if unnamed else []
    left += [f"{inactive} not active"] if inactive else []
    remark(f"syncd: {exported} jobs of {owner.name}" + (f"; left out: {', '.join(left)}" if left else ""))
    if late:
        remark(f"syncd: {late} active past their closeDate: importing this file would archive them")
