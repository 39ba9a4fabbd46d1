"""``syncd feed check``: every row of a file that a run would reject, with its reason; the summary first."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from syncd.cli.context import opened_store, quiet_settings
from syncd.cli.exit_codes import DONE, FAILED
from syncd.cli.feeds import FileUnusable
from syncd.cli.output import bold, clean, quoted
from syncd.cli.report_text import place_of, print_kinds, print_unknown
from syncd.domain.job import Job, Moment
from syncd.domain.run import UnknownValues
from syncd.errors import FeedError, NotFound
from syncd.feeds.configuration import FeedConfig
from syncd.service import stores, wiring
from syncd.store import Store, employers, jobs
from syncd.sync.report import rejected_json, unknown_json
from syncd.sync.run import Checker, CheckResult

FORMAT = "syncd.check/1"


def check_file(config: Path | None, as_json: bool, name: str, file: Path) -> int:
    """1 if a row would be rejected, or the file is no use as a whole; else 0. Raises NotFound (feed),
    FileUnusable, ConfigError."""
    settings = quiet_settings(config)
    with opened_store(settings, make=True) as store:
        catalog = stores.catalog_of(store, settings)
        found = wiring.choose_feed(wiring.feed_configs(settings, catalog), name)
        checker = Checker(found, catalog, settings.limits, _now(store), _current(store, found))
        return report_check(checker, file, as_json)


def report_check(checker: Checker, file: Path, as_json: bool) -> int:
    """Checks and prints; rejected rows wait in a scratch file until the summary is known."""
    findings = CheckResult()
    with tempfile.TemporaryFile() as scratch:
        try:
            for row in checker.check(file, findings):
                scratch.write(json.dumps(rejected_json(row), default=str).encode() + b"\n")
        except FeedError as error:
            raise FileUnusable(file, error) from error
        config = checker.config
        unknown = findings.unknown.listed(config.mapping, config.own_lookups, checker.catalog)
        scratch.seek(0)
        (_print_json if as_json else _print_text)(checker, file, findings, unknown, scratch)
    return FAILED if findings.rejected else DONE


def _now(store: Store) -> Moment:
    return store.read(lambda tx: tx.now)


def _current(store: Store, config: FeedConfig) -> Callable[[str], Job | None]:
    """The employer's jobs, if there is that employer already."""
    try:
        owner = store.read(lambda tx: employers.find(tx, config.employer))
    except NotFound:
        return lambda reference: None
    return lambda reference: store.read(lambda tx: jobs.by_reference(tx, owner.id, reference))


def _print_text(
    checker: Checker, file: Path, findings: CheckResult, unknown: UnknownValues, scratch: IO[bytes]
) -> None:
    print(bold(f"{checker.config.name}: {clean(file.name)} ({findings.format})"))
    print(_counts(findings))
    if findings.withheld:
        print(f"nothing would be archived: {clean(findings.withheld)}")
    print_kinds("rejected, by kind", [(k.rows, k.field, k.code, k.detail) for k in findings.by_frequency()])
    print_kinds(
        "warnings", [(n, code, "", findings.examples[code]) for code, n in findings.warnings.most_common()]
    )
    if findings.rejected:
        print(bold(f"rejected rows: {findings.rejected}"))
    for row in _rows(scratch):
        print("  " + row_line(row))
    print_unknown(unknown.toml)


def _counts(findings: CheckResult) -> str:
    parts = [f"{findings.good} would go in"]
    parts += [f"{findings.rejected} rejected"] if findings.rejected else []
    parts += [f"{findings.expired} expired (skipped unless the job exists)"] if findings.expired else []
    parts += [f"{findings.repeated} repeat a referenceId (the last counts)"] if findings.repeated else []
    return f"{findings.read} records: {', '.join(parts)}"


def row_line(row: dict[str, Any]) -> str:
    """``record 4711, line 9423 (R-17): /title required: a job needs a title``, with the value that is wrong."""
    return clean(f"{place_of(row)}: " + "; ".join(map(_reason, row["errors"])))


def _reason(error: dict[str, Any]) -> str:
    value = "" if error["value"] is None else f" [{quoted(error['value'])}]"
    return f"{error['pointer'] or '/'} {error['code']}: {error['detail']}{value}"


def _rows(scratch: IO[bytes]) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in scratch)


def _print_json(
    checker: Checker, file: Path, findings: CheckResult, unknown: UnknownValues, scratch: IO[bytes]
) -> None:
    """One object, written as it comes: a million rejected rows need no memory."""
    head = {
        "format": FORMAT,
        "feed": checker.config.name,
        "file": str(file),
        "fileFormat": findings.format,
        "counts": {
            "read": findings.read,
            "good": findings.good,
            "rejected": findings.rejected,
            "expired": findings.expired,
            "repeated": findings.repeated,
            "warnings": findings.warnings.total(),
        },
        "withheld": findings.withheld,
        "kinds": [
            {"pointer": k.field, "code": k.code, "rows": k.rows, "detail": k.detail, "firstRecord": k.record}
            for k in findings.by_frequency()
        ],
        "warnings": [
            {"code": code, "count": n, "example": findings.examples[code]}
            for code, n in findings.warnings.most_common()
        ],
        **unknown_json(unknown),
    }
    print(msgspec.json.encode(head).decode()[:-1] + ',"rejectedRows":[', end="")
    for number, line in enumerate(scratch):
        print(("," if number else "") + line.decode().rstrip("\n"), end="")
    print("]}")
