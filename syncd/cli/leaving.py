"""``syncd feed remove`` and ``syncd employer close``: a feed or an employer leaves, and its jobs are archived or kept
(docs/reconciliation.md "Removing a feed", "Closing an employer")."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import typer

from syncd.cli import report_text as text
from syncd.cli.daemon import ask_to_reload
from syncd.cli.imports import Terminal, arrival_of
from syncd.cli.output import DONE, FAILED, HELD, agreed, clean, print_json, print_result, remark
from syncd.cli.store_access import require_store, store_if_any
from syncd.config import Settings
from syncd.domain import Employer, Run, RunState
from syncd.errors import SyncdError
from syncd.feeds.configuration import REMOVED, FeedFile, check_name
from syncd.service import configured_feeds, stores
from syncd.store import Tx, employers, feed_jobs, jobs, keys
from syncd.store import feeds as stored_feeds
from syncd.sync.arrival import ArrivalContext, close_feed
from syncd.sync.arrival import close_employer as archive_jobs
from syncd.sync.report import employer_json, run_json
from syncd.values import plural

T = TypeVar("T")
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
            _print_going("", owned)
        if not agreed(f"Remove feed {name} and archive {plural(owned.active, 'job')}?", "; to agree: --yes"):
            return HELD
    with _left_lying(settings, [name]):
        removed, run, lines = _remove(settings, name, archive=archive)
        no_reload = _reload(settings)
    return _end(as_json, removed, lines, [run], no_reload)


def close_employer(settings: Settings, as_json: bool, employer: str, yes: bool) -> int:
    """Close each feed of an employer, archive its other jobs and revoke its keys. A part that is closed already is passed over:
    one that broke off is ended by the next. Raises NotFound (no such employer), StoreError, OSError, Stopped."""
    require_store(settings)
    with store_if_any(settings, lent=True) as store:
        assert store is not None
        owner = store.read(lambda tx: employers.find(tx, employer))
        files = configured_feeds.feed_files(settings, stores.catalogue_of(store, settings))
        feeds, others, live = store.read(lambda tx: _leaving(tx, owner, files))
    who = clean(f"employer {owner.name}")
    closed: dict[str, Any] = {"employer": employer_json(owner), "feeds": [], "run": None, "revokedKeys": live}
    if not (feeds or others.active or live):
        remark(f"syncd: {who} has no feed, no active job and no live key: nothing to close")
        if as_json:
            print_json(closed | {"reloaded": False})
        return DONE
    if not yes:
        if not as_json:
            for name, its in feeds.items():
                _print_going(f"feed {name}: ", its)
            _print_going("other jobs: ", others)
        active = plural(others.active + sum(its.active for its in feeds.values()), "active job")
        about = f"{plural(len(feeds), 'feed')}, {active} and {plural(len(live), 'key')}"
        if not agreed(f"Close {who} with {about}?", "; to agree: --yes", f"{who} has {about}"):
            return HELD
    with _left_lying(settings, [*feeds]):
        # first: no new job comes
        _write(settings, lambda tx: [keys.revoke(tx, number) for number in live])
        removed = [_remove(settings, name, archive=True) for name in feeds]
        run = _arrive(settings, lambda arrival: archive_jobs(arrival, owner.id))
        no_reload = _reload(settings) if removed else None
    revoked = f"{plural(len(live), 'key')} revoked"
    if live:
        revoked += f", which no revert brings back: `syncd key create {owner.id}` makes new ones"
    end = f"; to undo it: syncd runs revert {run.id}" if run is not None else ""
    lines = [line for _, _, of_feed in removed for line in of_feed]
    lines += [*_summary(run), f"{who} is closed: {revoked}{end}"]
    closed |= {"feeds": [feed for feed, _, _ in removed], "run": run_json(run) if run is not None else None}
    return _end(as_json, closed, lines, [run, *(its for _, its, _ in removed)], no_reload)


def _print_going(whose: str, its: _Jobs) -> None:
    text.print_section(f"{whose}would be archived", its.active, its.lines, "syncd jobs lists them")


def _end(
    as_json: bool,
    result: dict[str, Any],
    lines: Sequence[str],
    runs: Sequence[Run | None],
    no_reload: str | None,
) -> int:
    """Print the end; return the exit code. ``no_reload``: why no daemon has reloaded, which is remarked."""
    print_result(as_json, result | {"reloaded": no_reload is None}, "\n".join(lines))
    if no_reload is not None:
        remark(f"syncd: a daemon that runs needs `syncd reload`: {clean(no_reload)}")
    return FAILED if any(run is not None and run.state is not RunState.SUCCEEDED for run in runs) else DONE


def _summary(run: Run | None) -> list[str]:
    return [] if run is None else [text.summary(run)]


def _leaving(
    tx: Tx, owner: Employer, files: Mapping[str, FeedFile]
) -> tuple[dict[str, _Jobs], _Jobs, list[int]]:
    """Return the parts of an employer that leave with it: the jobs of each feed, its other jobs, and the ids of its live keys."""
    names, known = set[str](), {owner.name, str(owner.id)}
    for name, file in files.items():
        if file.config is not None and file.config.employer in known:
            names.add(name)
    for name in stored_feeds.of_employer(tx, owner.id):
        unread = name not in files or files[name].config is None
        if unread and (name in files or feed_jobs.owned_by(tx, name, owner.id)):
            names.add(name)
    its = {feed_id for name in names for feed_id, _ in stored_feeds.named(tx, name)}
    others = [job for job, feed_id in feed_jobs.active_of_employer(tx, owner.id) if feed_id not in its]
    live = [key.id for key in keys.all(tx) if key.employer_id == owner.id and key.live(tx.now.instant)]
    feeds = {name: _jobs_of(tx, name) for name in sorted(names)}
    return feeds, _Jobs(0, len(others), _lines(tx, others[:SHOWN])), live


def _jobs_of(tx: Tx, name: str) -> _Jobs:
    owned, active, ids = 0, 0, list[int]()
    for feed_id, employer_id in stored_feeds.named(tx, name):
        owned += len(feed_jobs.owned_by(tx, name, employer_id))
        active += feed_jobs.count_active(tx, feed_id)
        ids += feed_jobs.owned_active(tx, feed_id, 0, SHOWN)[0]
    return _Jobs(owned, active, _lines(tx, ids[:SHOWN]))


def _lines(tx: Tx, ids: Sequence[int]) -> list[str]:
    return [
        text.change_text("archived", ref, job, {}, title=title, why="close")
        for job, (ref, title) in jobs.names(tx, ids).items()
    ]


@contextmanager
def _left_lying(settings: Settings, names: Sequence[str]) -> Iterator[None]:
    """Have the files of the feeds left lying meanwhile: the daemon knows the feeds until it reloads."""

    def pause(tx: Tx) -> None:
        for name in names:
            if stored_feeds.named(tx, name) and name not in stored_feeds.paused(tx):
                stored_feeds.pause(tx, name, REMOVING)

    def resume(tx: Tx) -> None:
        for name in names:
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


def _remove(settings: Settings, name: str, *, archive: bool) -> tuple[dict[str, Any], Run | None, list[str]]:
    """Remove a feed; return this as JSON, the run that archived its jobs, and the same as lines."""
    file, moved, number = settings.feeds / f"{name}.toml", None, 1
    if file.is_file():  # as root, where root calls: the folder may be root's
        folder = file.parent / REMOVED
        folder.mkdir(exist_ok=True)
        while (target := folder / f"{name}{f'-{number}' if number > 1 else ''}.toml").exists():
            number += 1  # it replaces nothing
        moved = file.rename(target)
    run, released = _arrive(settings, lambda arrival: close_feed(arrival, name, archive=archive)) or (None, 0)
    kept = (
        f"{plural(released, 'job')} stay as they are, and no feed owns them" if released else "it had no jobs"
    )
    if run is not None:
        kept = f"to undo it: syncd runs revert {run.id}"
    away = f"its file is {moved} now" if moved is not None else "its file was gone before"
    result = {
        "feed": name,
        "file": str(moved) if moved is not None else None,
        "run": run_json(run) if run is not None else None,
        "released": released,
    }
    return result, run, [*_summary(run), clean(f"feed {name} is removed: {away}; {kept}")]


def _arrive(settings: Settings, work: Callable[[ArrivalContext], T]) -> T | None:
    """Return the result of ``work``, None if there is no store."""
    with store_if_any(settings, lent=True) as store:
        if store is None:
            return None
        return work(arrival_of(store, settings, stores.catalogue_of(store, settings), Terminal(settings)))


def _reload(settings: Settings) -> str | None:
    """Have the daemon forget the feed; return why it did not."""
    try:
        ask_to_reload(settings)
    except SyncdError as error:
        return str(error)
    return None
