"""``syncd feed list``, ``pause``, ``resume``, ``fetch``, ``show``, ``sheet`` and ``check``."""

import asyncio
import json
import sys
import tempfile
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import IO, Any

from syncd.cli import output
from syncd.cli import report_text as text
from syncd.cli.daemon import faults_of_service
from syncd.cli.imports import file_and_feed, naming
from syncd.cli.store_access import opened_store, store_if_any
from syncd.config import Settings
from syncd.domain import Moment, UnknownValues
from syncd.errors import ConfigError, Conflict
from syncd.feeds.configuration import FeedFile
from syncd.feeds.mapping.presets import mapping_toml
from syncd.service import configured_feeds, stores
from syncd.sources import Fetcher
from syncd.store import Store
from syncd.store import feeds as stored_feeds
from syncd.sync.arrival import folder_fault
from syncd.sync.report import Kind, rejected_json, shape_json, unknown_json, write_json
from syncd.sync.run import Checker, CheckResult
from syncd.values import plural
from syncd.views import feeds_view, mapping_lines, mapping_view, partner_sheet, source_words

#: Rejected rows that the text of a check has, and texts or values of a kind that its JSON has.
SHOWN, CAUSES = 20, 100


def list_feeds(settings: Settings, as_json: bool) -> None:
    with store_if_any(settings) as store:
        files = configured_feeds.feed_files(settings, stores.catalogue_of(store, settings))
        files |= configured_feeds.gone(store, settings, files)
        views = _views(store, files.values(), settings)
    headings = ("feed", "state", "employer", "mapping", "mode", "folder", "last run", "last success")
    empty = f"no feeds yet; a feed is a file NAME.toml in {settings.feeds}"
    output.print_list(
        as_json,
        views,
        headings,
        [_row(feed, file, settings.timezone) for feed, file in zip(views, files.values(), strict=True)],
        empty,
    )
    for fault in faults_of_service(settings):
        output.remark(f"syncd: no file is run: {output.clean(fault)}")
    for feed in views:
        if feed["reason"] is not None and not as_json:
            output.remark(f"syncd: {feed['name']}: {output.clean(feed['reason'])}")
        if feed["source"] is not None and not as_json:
            output.remark(
                f"syncd: {feed['name']}: {output.clean(source_words(feed['source'], settings.timezone))}"
            )


def _views(store: Store | None, files: Collection[FeedFile], settings: Settings) -> list[dict[str, Any]]:
    folder, everyone = settings.drop.folder, configured_feeds.employers_of(store)
    whole = [
        replace(file, faults=(*configured_feeds.faults_of(everyone, file), *_faults_in(folder, file)))
        for file in files
    ]
    if store is None:
        return feeds_view(None, whole, folder)
    return store.read(lambda tx: feeds_view(tx, whole, folder, settings.timezone))


def _faults_in(drop: Path, file: FeedFile) -> list[str]:
    """Return why the folder of the feed, or a file in it, cannot be used."""
    config = file.config
    fault = folder_fault(drop / file.name, config.settle, config.marker) if config is not None else None
    return [] if fault is None else [fault]


def _row(feed: dict[str, Any], file: FeedFile, zone: tzinfo) -> tuple[object, ...]:
    own = None if file.config is None else f"{file.name}.toml" if file.config.mapping.maps else "none"
    last, mapping = feed["lastRun"], feed["preset"] or own
    run = f"{last['id']}: {text.state_of(last)}" if last is not None else None
    success = datetime.fromisoformat(feed["lastSuccess"]) if feed["lastSuccess"] is not None else None
    first = (feed["name"], feed["state"], feed["employer"], mapping, feed["mode"], feed["folder"])
    return *first, run, output.time_cell(success, zone)


def pause_feed(settings: Settings, as_json: bool, name: str, why: str | None) -> None:
    """Pause the feed for the reason ``why``; None: resume it. Raises NotFound, Conflict if it is not paused."""
    with opened_store(settings) as store:
        file = configured_feeds.feed_file(settings, stores.catalogue_of(store, settings), name)
        if why is None:
            store.write(lambda tx: stored_feeds.resume(tx, name))
        else:
            if not configured_feeds.faults_of(configured_feeds.employers_of(store), file):
                # a feed without a run is in the store from now on
                configured_feeds.resolve(store, file, settings)
            store.write(lambda tx: stored_feeds.pause(tx, name, why))
        (view,) = _views(store, [file], settings)
    done = f"feed {name} is resumed" if why is None else f"feed {name} is paused: its files are left lying"
    output.print_result(as_json, view, done)


def fetch_feed(settings: Settings, as_json: bool, name: str, dry: bool) -> int:
    """Fetch, and return 1 if that failed. Raises NotFound, ConfigError, Conflict if the feed has no source or is paused."""
    with opened_store(settings) as store:
        file = configured_feeds.feed_file(settings, stores.catalogue_of(store, settings), name)
        feed = configured_feeds.resolve(store, file, settings, dry=dry)
        if feed.config.source_faults:
            raise ConfigError(feed.config.source_faults)
        if feed.config.source is None:
            raise Conflict(f"feed {name} has no [source]: its files are dropped into {feed.folder}")
        if name in store.read(stored_feeds.paused):
            raise Conflict(f"feed {name} is paused; `syncd feed resume {name}` ends that")
        retried = lambda reason: output.remark(f"syncd: {output.clean(reason)}; another try follows")  # noqa: E731
        outcome = asyncio.run(
            Fetcher(store, settings, retried=retried).turn(feed, feed.config.source, dry=dry)
        )
        done = {
            "feed": name,
            "result": outcome.result,
            "files": list(outcome.files),
            "size": outcome.size,
            "reason": outcome.reason,
            "dryRun": dry,
        }
    if outcome.result == "failed":
        output.remark(f"syncd: feed {name}: {output.clean(outcome.reason or '')}")
        if as_json:
            output.print_json(done)
        return output.FAILED
    if outcome.warning is not None:
        output.remark(f"syncd: feed {name}: {output.clean(outcome.warning)}")
    verb = "would be fetched" if dry else "is fetched"
    came = "\n".join(f"{feed.folder / file} {verb} ({outcome.size} bytes)" for file in outcome.files)
    output.print_result(as_json, done, came or f"nothing new: {outcome.reason}")
    return output.DONE


def show_feed(settings: Settings, as_json: bool, name: str) -> None:
    with store_if_any(settings) as store:
        configured_feeds.feed_file(settings, stores.catalogue_of(store, settings), name).usable()
    lines = mapping_lines(name, settings.feeds)
    if as_json:
        output.print_json(mapping_view(name, lines))
        return
    print("\n".join(mapping_toml(lines)))
    if all(line.table != "fields" for line in lines):
        print("\n# no [fields]: the feed has the service's own shape")


def write_sheet(settings: Settings, as_json: bool, name: str, target: Path | None) -> None:
    """Write the sheet for the feed's partner. Raises NotFound, ConfigError, OSError."""
    if target == Path("-"):  # the conventional name of standard output
        target = None
    with store_if_any(settings) as store:
        catalogue = stores.catalogue_of(store, settings)
        config = configured_feeds.feed_file(settings, catalogue, name).usable()
        sheet = (
            store.read(lambda tx: partner_sheet(tx, config, catalogue))
            if store is not None
            else partner_sheet(None, config, catalogue)
        )
    if target is not None:
        with output.whole_file(target) as file:
            file.write(sheet.html.encode())
    if as_json:
        output.print_json(
            {"feed": name, "file": str(target) if target is not None else None, **sheet.entry()}
        )
    elif target is None:
        sys.stdout.write(sheet.html)
    else:
        output.remark(
            f"syncd: the sheet for the partner of {name}: {output.clean(str(target))}; a browser opens and prints it"
        )


# -- check -----------------------------------------------------------------------------------------------------


def check_file(settings: Settings, as_json: bool, first: str, second: str | None, feed: str | None) -> int:
    """Print the check, and return 1 if a row would be rejected, else 0. Raises NotFound (feed), FeedError, ConfigError."""
    file, name = file_and_feed(settings, first, second, feed)
    with store_if_any(settings) as store, tempfile.TemporaryFile() as scratch:
        catalogue = stores.catalogue_of(store, settings)
        config = configured_feeds.feed_file(settings, catalogue, name).usable()
        instant = datetime.now(UTC)
        now = store.now() if store else Moment(instant, instant.astimezone(settings.timezone).date())
        result = CheckResult()
        checker = Checker(config, catalogue, settings.limits, now, store)
        rejected = list[str]()
        with naming(file):
            for row in checker.check(file, result):
                if as_json:
                    scratch.write(json.dumps(rejected_json(row), default=str).encode() + b"\n")
                elif len(rejected) < SHOWN:
                    rejected.append(text.rejected_text(row))
        unknown = result.unknown.listed(config.mapping.lookup_of, config.own_lookups, catalogue)
        if as_json:
            scratch.seek(0)
            _print_json(name, file, result, unknown, scratch)
        else:
            _print_text(name, file, result, unknown, rejected)
    return output.FAILED if result.rejected else output.DONE


def _print_text(name: str, file: Path, result: CheckResult, unknown: UnknownValues, first: list[str]) -> None:
    parts = [f"{result.good} would go in"]
    parts += [f"{result.rejected} rejected"] if result.rejected else []
    parts += [f"{result.expired} closed or expired (skipped unless the job exists)"] if result.expired else []
    parts += [f"{result.filtered.total()} left out"] if result.filtered else []
    parts += [f"{result.repeated} repeat a referenceId (the last counts)"] if result.repeated else []
    print(output.bold(f"{name}: {output.clean(file.name)} ({result.format})"))
    if result.shape is not None:
        print(output.bold(output.clean(result.shape.in_words(lines=True))))
    print(f"{plural(result.read, 'record')}: {', '.join(parts)}")
    text.print_filtered(result.filtered)
    if result.withheld:
        print(f"nothing would be archived: {output.clean(result.withheld)}")
    text.print_kinds("rejected, by kind", result.kinds)
    text.print_kinds("warnings, by kind", result.warnings)
    text.print_unknown(unknown)
    text.print_section("rejected rows", result.rejected, first)


def _causes(kind: Kind) -> list[dict[str, Any]]:
    """Return the distinct texts and values of a kind, the most frequent first."""
    return [
        {"detail": detail, "value": value, "rows": rows}
        for (detail, value), rows in kind.causes.most_common(CAUSES)
    ]


def _print_json(
    name: str, file: Path, result: CheckResult, unknown: UnknownValues, scratch: IO[bytes]
) -> None:
    report = {
        "format": "syncd.check/1",
        "feed": name,
        "file": str(file),
        "fileFormat": result.format,
        "counts": {
            "read": result.read,
            "good": result.good,
            "rejected": result.rejected,
            "expired": result.expired,
            "filtered": result.filtered.total(),
            "repeated": result.repeated,
            "warnings": result.warnings.total,
        },
        "withheld": result.withheld,
        "shape": shape_json(result.shape),
        "kinds": [
            {
                "pointer": kind.pointer,
                "code": kind.code,
                "rows": kind.rows,
                "detail": kind.detail,
                "firstRecord": kind.record,
                "causes": _causes(kind),
            }
            for kind in result.kinds.by_frequency()
        ],
        "warnings": [
            {"code": kind.code, "count": kind.rows, "example": kind.detail, "causes": _causes(kind)}
            for kind in result.warnings.by_frequency()
        ],
        **unknown_json(unknown),
        "rejectedRows": map(json.loads, scratch),
    }
    write_json(report, lambda part: sys.stdout.write(part.decode()))
