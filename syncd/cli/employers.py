"""Employers, their keys and their jobs: ``syncd employer …``, ``syncd key …``, ``syncd jobs`` and ``syncd export``."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from syncd.cli import output
from syncd.cli.store_access import opened_store
from syncd.config import Settings
from syncd.domain import Employer, Job, Status
from syncd.errors import SyncdError
from syncd.store import Store, employers, feeds, jobs, keys
from syncd.sync.report import employer_json, header_json, key_json
from syncd.values import plural

if TYPE_CHECKING:
    from syncd.feeds.export import ExportFormat

#: How long a key stays valid beside its successor by default.
GRACE = timedelta(hours=24)
#: The counts of an export, as its JSON names them. ``pastCloseDate``: jobs that are active although their close date has passed;
#: an import would archive them.
COUNTED = ("exported", "withoutReferenceId", "notActive", "pastCloseDate")
#: Names of employers that a message has.
SHOWN = 10
#: Jobs that are read at once: jobs of a megabyte each still fit into memory.
PAGE = 100


def add_employer(settings: Settings, as_json: bool, name: str, plan: str) -> None:
    with opened_store(settings, make=True) as store:
        employer = store.write(lambda tx: employers.add(tx, name, plan == "unlimited"))
    text = f"employer {employer.id}: {employer.name} ({plan})"
    output.print_result(as_json, employer_json(employer), text)


def rename_employer(settings: Settings, as_json: bool, employer: str, name: str) -> None:
    """Rename the employer, and name the feeds whose files still have the old name. Raises NotFound, Conflict, Invalid."""
    from syncd.service import configured_feeds, stores

    with opened_store(settings) as store:
        old = store.read(lambda tx: employers.find(tx, employer))
        renamed = store.write(lambda tx: employers.rename(tx, old.id, name))
        catalogue = stores.catalogue_of(store, settings)
        files = configured_feeds.feed_files(settings, catalogue).values()
    text = f"employer {renamed.id}: {renamed.name}, before: {old.name}"
    output.print_result(as_json, employer_json(renamed), output.clean(text))
    stale = [file.name for file in files if file.config is not None and file.config.employer == old.name]
    if stale and renamed.name != old.name:
        names = ", ".join(f"{feed}.toml" for feed in stale)
        output.remark(
            f'syncd: write employer = "{output.clean(renamed.name)}" in {names}, then: syncd reload'
        )


def list_employers(settings: Settings, as_json: bool) -> None:
    with opened_store(settings) as store:
        listed = [employer_json(employer) for employer in store.read(employers.all)]
    rows = [tuple(employer.values()) for employer in listed]
    empty = 'no employers yet; add one: syncd employer add "NAME"'
    output.print_list(as_json, listed, ("id", "name", "plan"), rows, empty)


def create_key(
    settings: Settings, as_json: bool, employer: str, label: str, expires: timedelta | None
) -> None:
    with opened_store(settings) as store:
        owner = store.read(lambda tx: employers.find(tx, employer))
        ends = store.now().instant + expires if expires else None
        info, plain = store.write(lambda tx: keys.create(tx, owner.id, label, ends))
    _show_new(as_json, info, plain)


def rotate_key(
    settings: Settings, as_json: bool, key_id: int, grace: timedelta | None, expires: timedelta | None
) -> None:
    spared = GRACE if grace is None else grace
    with opened_store(settings) as store:
        ends = store.now().instant + expires if expires else None
        info, plain = store.write(lambda tx: keys.rotate(tx, key_id, spared, ends))
        old = store.read(lambda tx: keys.get(tx, key_id))
    _show_new(as_json, info, plain)
    if not as_json:
        until = output.cell(output.time_cell(old.expires_at, settings.timezone))
        output.remark(f"key {old.id} is valid until {until}; give every client the new one before")


def _show_new(as_json: bool, info: keys.KeyInfo, plain: str) -> None:
    """Print the key alone, so that it can be piped. Raises SyncdError if it cannot be printed: nobody has it then."""
    try:
        output.print_json({**key_json(info), "key": plain}) if as_json else print(plain)
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the rest of the buffer is not printed later
        reason = f"key {info.id} was made, but could not be printed ({error}); revoke it: syncd key revoke {info.id}"
        raise SyncdError(reason) from None
    if sys.stdout.isatty() and not as_json:
        output.remark(f"key {info.id} of {info.employer}; keep it now, it is not shown again")


def list_keys(settings: Settings, as_json: bool) -> None:
    with opened_store(settings) as store:
        infos, now = store.read(keys.all), store.now().instant
    rows = [
        (
            *(k.id, k.employer, k.label, k.state(now)),
            *(output.time_cell(at, settings.timezone) for at in (k.created_at, k.last_used_at, k.expires_at)),
        )
        for k in infos
    ]
    headings = ("id", "employer", "label", "state", "created", "last used", "expires")
    empty = "no keys yet; make one: syncd key create EMPLOYER"
    output.print_list(as_json, [key_json(info) for info in infos], headings, rows, empty)


def revoke_key(settings: Settings, as_json: bool, key_id: int) -> None:
    with opened_store(settings) as store:
        info = store.write(lambda tx: keys.revoke(tx, key_id))
    output.print_result(as_json, key_json(info), f"key {info.id} of {output.clean(info.employer)} is revoked")


# -- jobs ------------------------------------------------------------------------------------------------------


def _owner(store: Store, employer: str | None) -> Employer:
    """Return the employer with this name or id; None: the only one. Raises NotFound, SyncdError (there are none or several)."""
    if employer is not None:
        return store.read(lambda tx: employers.find(tx, employer))
    known = store.read(employers.all)
    if len(known) != 1:
        raise SyncdError(
            f"{how_many([owner.name for owner in known])}: say with --employer whose jobs are meant"
        )
    return known[0]


def _owner_of(store: Store, settings: Settings, feed: str) -> Employer:
    """Return the employer of a feed: the one for which it ran last, else the one that its file names. Raises NotFound."""
    from syncd.service import configured_feeds, stores

    if known := store.read(lambda tx: feeds.named(tx, feed)):
        return store.read(lambda tx: employers.get(tx, known[-1][1]))
    config = configured_feeds.feed_file(settings, stores.catalogue_of(store, settings), feed).config
    return _owner(store, config.employer if config is not None else None)


def how_many(names: Sequence[str]) -> str:
    """Return ``there are 3 employers (Acme, Beta, Cedar)``, the first names of many."""
    some = ", ".join([*names[:SHOWN], *(["…"] if len(names) > SHOWN else [])])
    return f"there are {len(names)} employers ({some})" if names else "there are no employers yet"


def list_jobs(
    settings: Settings,
    as_json: bool,
    *,
    employer: str | None,
    feed: str | None,
    q: str | None,
    status: str | None,
) -> None:
    """``feed``: only the jobs that it owns; its employer is the default. Raises NotFound (employer, feed)."""
    wanted = Status(status) if status else None
    with opened_store(settings) as store:
        owner = (
            _owner(store, employer)
            if feed is None or employer is not None
            else _owner_of(store, settings, feed)
        )
        # no feed has the id 0
        feed_id = None if feed is None else store.read(lambda tx: feeds.find(tx, feed, owner.id)) or 0
        views = [*_views(store, owner, q, wanted, feed_id)]
    rows = [
        (job.id, job.reference_id, job.status, job.publish_date, job.title,
         "; ".join(place.description for place in job.locations))
        for job in views
    ]  # fmt: skip
    headings = ("id", "referenceId", "status", "published", "title", "locations")
    output.print_list(as_json, [header_json(job, owner) for job in views], headings, rows, "no such jobs")


def show_job(settings: Settings, as_json: bool, number: int, page: int) -> None:
    """Print the job, also one that was deleted, with a page of its history. Raises NotFound."""
    from syncd.service import stores
    from syncd.views import job_view, shown

    with opened_store(settings) as store:
        catalogue = stores.catalogue_of(store, settings)
        view = store.read(lambda tx: job_view(tx, number, page, PAGE, catalogue))
    if as_json:
        output.print_json(view)
        return
    job = view["job"] or {}
    print(
        output.bold(
            output.clean(f"job {number} of {view['employer']['name']}" + ("" if job else ", deleted"))
        )
    )
    for name, value in job.items():
        if name not in ("id", "employer"):
            print(output.clean(f"  {name}: {shown(value)}"))
    total = view["historyPaging"]["total"]
    print(output.bold(f"history: {plural(total, 'change')}"))
    for step in view["history"]:
        who, run = step["changedBy"], f" in run {step['run']}" if step["run"] is not None else ""
        at = output.time_cell(datetime.fromisoformat(step["at"]), settings.timezone)
        label = f" {who['label']}" if who["label"] else ""
        print(output.clean(f"  {at}  {step['action']} by {who['kind']}{label}{run}"))
        for change in step["changes"] if step["action"] != "created" else ():
            print(
                output.clean(f"    {change['field']}: {shown(change['before'])} → {shown(change['after'])}")
            )
    if page * PAGE < total:
        output.remark(f"page {page} of {view['historyPaging']['pages']}; the next: --page {page + 1}")


def _views(
    store: Store, owner: Employer, q: str | None, status: Status | None, feed_id: int | None = None
) -> Iterator[jobs.JobView]:
    """Yield the jobs of the employer, or of this feed of his."""
    of: dict[str, Any] = {"employer_id": owner.id, "q": q, "status": status, "feed_id": feed_id}
    for page in count(1):
        total, views = store.read(partial(jobs.page, **of, page=page, page_size=PAGE))
        yield from views
        if page * PAGE >= total:
            return


def export(
    settings: Settings,
    as_json: bool,
    *,
    employer: str | None,
    form: str,
    spreadsheet: bool,
    status: str | None,
    target: Path | None,
) -> None:
    """Write the export and print how many jobs it has. Raises NotFound (employer), OSError, typer.BadParameter."""
    from syncd.feeds.export import EXPORTS, SPREADSHEET
    from syncd.service import stores

    if target == Path("-"):  # the conventional name of standard output
        target = None
    if as_json and target is None:
        raise typer.BadParameter("--json describes a file: name the file with -o")
    if spreadsheet and form != "csv":
        raise typer.BadParameter(f"--spreadsheet is for --format csv, not {form}")
    export_format = SPREADSHEET if spreadsheet else EXPORTS[form]
    wanted = Status(status) if status else None
    counts = Counter[str]()
    with opened_store(settings) as store:
        owner = _owner(store, employer)
        exported = _jobs(store, owner, wanted, export_format, counts)
        pieces = export_format.write(exported, owner, stores.catalogue_of(store, settings))
        with nullcontext(sys.stdout.buffer) if target is None else output.whole_file(target) as file:
            for piece in pieces:
                file.write(piece.encode())
    if as_json:
        about = {"employer": owner.name, "format": form, "file": str(target)}
        output.print_json({**about, **{name: counts[name] for name in COUNTED}})
        return
    exported_jobs, unnamed, inactive, late = (counts[name] for name in COUNTED)
    left = [f"{unnamed} without a referenceId"] if unnamed else []
    left += [f"{inactive} not active"] if inactive else []
    why = f"; left out: {', '.join(left)}" if left else ""
    output.remark(f"syncd: {plural(exported_jobs, 'job')} of {owner.name}{why}")
    if late:
        output.remark(f"syncd: {late} active past their closeDate: importing this file would archive them")


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
