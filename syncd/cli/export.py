"""``syncd export``: an employer's jobs as a feed, to a file (complete or not at all) or to standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import typer

from syncd.cli.exit_codes import DONE
from syncd.cli.output import print_json, remark, whole_file
from syncd.cli.store_access import opened_store, quiet_settings
from syncd.domain import Employer, Job, Status
from syncd.feeds.export import EXPORTS, ExportFormat
from syncd.service import stores
from syncd.store import Store, employers, jobs

#: Jobs that are read at once: jobs of a megabyte each still fit into memory.
PAGE = 100


@dataclass(slots=True)
class ExportCounts:
    """``late``: jobs that are active although their close date has passed; an import would archive them."""

    exported: int = 0
    without_reference: int = 0
    not_active: int = 0
    late: int = 0


#: The conventional name of standard output.
_STDOUT = Path("-")


def export(
    config: Path | None, as_json: bool, *, employer: str, form: str, status: str | None, output: Path | None
) -> int:
    """Write the export and print how many jobs it has. Raises NotFound (employer), OSError, typer.BadParameter."""
    if output == _STDOUT:
        output = None
    if as_json and output is None:
        raise typer.BadParameter("--json describes a file: name the file with -o")
    wanted = Status(status) if status else None
    counts = ExportCounts()
    settings = quiet_settings(config)
    with opened_store(settings) as store:
        owner = store.read(lambda tx: employers.find(tx, employer))
        found = _jobs(store, owner, wanted, EXPORTS[form], counts)
        pieces = EXPORTS[form].write(found, owner, stores.catalogue_of(store, settings))
        if output is None:
            _write(sys.stdout.buffer.write, pieces)
        else:
            with whole_file(output) as file:
                _write(_writer(file), pieces)
    _print_counts(counts, as_json, owner, form, output)
    return DONE


def _jobs(
    store: Store, owner: Employer, status: Status | None, form: ExportFormat, counts: ExportCounts
) -> Iterator[Job]:
    """Yield the jobs to write, page by page: no lock is held while they are written, and memory stays flat."""
    today = store.read(lambda tx: tx.now.today)
    last = 0
    while page := store.read(lambda tx, after=last: jobs.after(tx, owner.id, after, PAGE, status=status)):  # type: ignore[misc]
        for job in page:
            if job.reference_id is None:
                counts.without_reference += 1
            elif form.published_only and job.status is not Status.ACTIVE:
                counts.not_active += 1
            else:
                counts.exported += 1
                counts.late += job.status is Status.ACTIVE and job.close_date < today
                yield job
        last = page[-1].id


def _writer(file: IO[bytes]) -> Callable[[bytes], object]:
    return file.write


def _write(write: Callable[[bytes], object], pieces: Iterator[str]) -> None:
    for piece in pieces:
        write(piece.encode())


def _print_counts(
    counts: ExportCounts, as_json: bool, owner: Employer, form: str, output: Path | None
) -> None:
    if as_json:
        print_json(
            {
                "employer": owner.name,
                "format": form,
                "file": str(output),
                "exported": counts.exported,
                "withoutReferenceId": counts.without_reference,
                "notActive": counts.not_active,
                "pastCloseDate": counts.late,
            }
        )
        return
    left = [f"{counts.without_reference} without a referenceId"] if counts.without_reference else []
    left += [f"{counts.not_active} not active"] if counts.not_active else []
    remark(
        f"syncd: {counts.exported} jobs of {owner.name}" + (f"; left out: {', '.join(left)}" if left else "")
    )
    if counts.late:
        remark(f"syncd: {counts.late} active past their closeDate: importing this file would archive them")
