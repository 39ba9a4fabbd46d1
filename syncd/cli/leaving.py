"""``syncd feed remove``: a feed leaves, and somebody says what becomes of its jobs
(docs/reconciliation.md "Removing a feed")."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import typer

from syncd.cli import report_text as text
from syncd.cli.daemon import ask_to_reload
from syncd.cli.imports import Terminal, arrival_of
from syncd.cli.output import DONE, FAILED, HELD, agreed, clean, print_result, remark
from syncd.cli.store_access import store_if_any
from syncd.config import Settings
from syncd.domain import Run, RunState
from syncd.errors import SyncdError
from syncd.feeds.configuration import REMOVED, check_name
from syncd.service import configured_feeds, stores
from syncd.store import Tx, feed_jobs, jobs
from syncd.store import feeds as stored_feeds
from syncd.sync.arrival import close_feed
from syncd.sync.report import run_json
from syncd.values import plural

#: Jobs that are listed before somebody agrees.
SHOWN = 20
#: Why the files of a feed that leaves are left lying, until the daemon has reloaded.
REMOVING = "it is being removed"


class _Jobs(NamedTuple):
    """The jobs of a feed: how many it owns, how many of these are active, and the first active ones as lines."""

    owned: int
    active: int
    lines: list[str]


def remove_feed(settings: Settings, as_json: bool, name: str, archive: bool | None, yes: bool) -> int:
    """Archive the jobs of a feed, or have it give them up, and move its file away. Raises typer.BadParameter (neither is
    chosen), NotFound (no such feed), ConfigError (not a name), StoreError, OSError, Stopped."""
    check_name(name)
    file = settings.feeds / f"{name}.toml"
    with store_if_any(settings, lent=True) as store:
        owned = store.read(lambda tx: _jobs_of(tx, name)) if store is not None else _Jobs(0, 0, [])
    if not (file.is_file() or owned.owned):
        configured_feeds.feed_file(settings, settings.catalogue, name)
    if archive is None:
        raise typer.BadParameter(
            f"feed {name} has {plural(owned.active, 'active job')}: say --archive (they are archived, which `syncd runs revert`"
            " puts back) or --keep (they stay live, and no feed owns them)"
        )
    if archive and owned.active and not yes:
        if not as_json:
            text.print_section("would be archived", owned.active, owned.lines, "syncd jobs lists them")
        if not agreed(f"Remove feed {name} and archive {plural(owned.active, 'job')}?", "; to agree: --yes"):
            return HELD
    with _left_lying(settings, name):
        moved = (
            _put_away(file) if file.is_file() else None
        )  # as root, where root calls: the folder may be root's
        run, released = _leave(settings, name, archive=archive)
        no_reload = _reload(settings)
    result = {
        "feed": name,
        "file": str(moved) if moved is not None else None,
        "run": run_json(run) if run is not None else None,
        "released": released,
        "reloaded": no_reload is None,
    }
    print_result(as_json, result, _summary(name, run, released, moved))
    if no_reload is not None:
        remark(f"syncd: a daemon that runs needs `syncd reload`: {clean(no_reload)}")
    return FAILED if run is not None and run.state is not RunState.SUCCEEDED else DONE


def _summary(name: str, run: Run | None, released: int, moved: Path | None) -> str:
    away = f"its file is {moved} now" if moved is not None else "its file was gone before"
    if run is not None:
        lines = [text.summary(run), f"feed {name} is removed: {away}; to undo it: syncd runs revert {run.id}"]
    else:
        kept = (
            f"{plural(released, 'job')} stay as they are, and no feed owns them"
            if released
            else "it had no jobs"
        )
        lines = [f"feed {name} is removed: {away}; {kept}"]
    return "\n".join(map(clean, lines))


def _jobs_of(tx: Tx, name: str) -> _Jobs:
    owned, active, ids = 0, 0, list[int]()
    for feed_id, employer_id in stored_feeds.named(tx, name):
        owned += len(feed_jobs.owned_by(tx, name, employer_id))
        active += feed_jobs.count_active(tx, feed_id)
        ids += feed_jobs.owned_active(tx, feed_id, 0, SHOWN)[0]
    named = jobs.names(tx, ids[:SHOWN])
    lines = [
        text.change_text("archived", ref, job, {}, title=title, why="close")
        for job, (ref, title) in named.items()
    ]
    return _Jobs(owned, active, lines)


@contextmanager
def _left_lying(settings: Settings, name: str) -> Iterator[None]:
    """Have the files of the feed left lying meanwhile: the daemon knows the feed until it reloads."""

    def pause(tx: Tx) -> None:
        if stored_feeds.named(tx, name) and name not in stored_feeds.paused(tx):
            stored_feeds.pause(tx, name, REMOVING)

    def resume(tx: Tx) -> None:
        if stored_feeds.paused(tx).get(name) == REMOVING:
            stored_feeds.resume(tx, name)

    _write(settings, pause)
    try:
        yield
    finally:
        _write(settings, resume)


def _write(settings: Settings, work: Callable[[Tx], object]) -> None:
    with store_if_any(settings, lent=True) as store:
        if store is not None:
            store.write(work)


def _leave(settings: Settings, name: str, *, archive: bool) -> tuple[Run | None, int]:
    """Return the run that archived the jobs, and how many jobs the feed gave up."""
    with store_if_any(settings, lent=True) as store:
        if store is None:
            return None, 0
        arrival = arrival_of(store, settings, stores.catalogue_of(store, settings), Terminal(settings))
        return close_feed(arrival, name, archive=archive)


def _reload(settings: Settings) -> str | None:
    """Have the daemon forget the feed; return why it did not."""
    try:
        ask_to_reload(settings)
    except SyncdError as error:
        return str(error)
    return None


def _put_away(file: Path) -> Path:
    """Move the file of a feed into ``removed/``, where it replaces nothing; return its new path."""
    folder = file.parent / REMOVED
    folder.mkdir(exist_ok=True)
    number = 1
    while (target := folder / f"{file.stem}{f'-{number}' if number > 1 else ''}.toml").exists():
        number += 1
    return file.rename(target)
