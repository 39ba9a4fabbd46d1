"""From the table's parsed values to the frozen Settings, and the checks that need more than one value."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from syncd.config.settings import Api, Drop, Log, Operator, Refresh, Settings, StoreSettings
from syncd.domain import Catalogue, FeedLimits, Policy, Threshold
from syncd.errors import ConfigError


def build(
    values: Mapping[str, Any],
    *,
    base: Path,
    feeds: Path,
    file: Path | None,
    sources: Mapping[str, str],
    faults: list[str],
) -> Settings | None:
    """``values`` by key, each already of its own type. Adds to ``faults`` what does not fit together;
    None if there is any fault."""
    token = _token(values, base, faults)
    settings = Settings(
        timezone=values["timezone"],
        api=Api(**_section(values, "api")),
        catalogue=_catalogue(_section(values, "catalogues"), faults),
        operator=Operator(values["operator.listen"], token),
        store=_store(values, base),
        drop=Drop(**{**_section(values, "drop"), "folder": base / values["drop.folder"]}),
        sync=_policy(values),
        helpers=values["sync.helpers"],
        refresh=Refresh(**_section(values, "refresh")),
        log=Log(**_section(values, "log")),
        limits=FeedLimits(**_section(values, "limits")),
        base=base,
        feeds=feeds,
        file=file,
        sources=dict(sources),
    )
    _check_operator(settings, faults)
    _check_api(settings, faults)
    return None if faults else settings


def _section(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    head = name + "."
    return {key.removeprefix(head): value for key, value in values.items() if key.startswith(head)}


def _catalogue(changes: Mapping[str, Any], faults: list[str]) -> Catalogue:
    try:
        return Catalogue.default().extended(**changes)
    except ConfigError as error:
        faults.extend(f"catalogues.{fault}" for fault in error.faults)
        return Catalogue.default()


def _policy(values: Mapping[str, Any]) -> Policy:
    sync = _section(values, "sync")
    usual = Policy()
    return Policy(
        max_archive=Threshold(sync["max_archive.percent"], sync["max_archive.jobs"]),
        max_rejected=Threshold(sync["max_rejected.percent"], sync["max_rejected.rows"]),
        max_rekeyed=Threshold(sync["max_rekeyed"], usual.max_rekeyed.count),
        max_retitled=Threshold(sync["max_retitled"], usual.max_retitled.count),
        max_shrunk=Threshold(sync["max_shrunk"], usual.max_shrunk.count),
        grace=sync["grace"],
        expired=sync["expired"],
        on_api_edit=sync["on_api_edit"],
    )


def _store(values: Mapping[str, Any], base: Path) -> StoreSettings:
    section = _section(values, "store")
    return StoreSettings(**{**section, "url": _absolute_store(section["url"], base)})


def _absolute_store(url: str, base: Path) -> str:
    head = "sqlite:///"
    return head + str(base / url.removeprefix(head)) if url.startswith(head) else url


def _token(values: Mapping[str, Any], base: Path, faults: list[str]) -> str:
    token, file = values["operator.token"], values["operator.token_file"]
    if not file:
        return str(token)
    if token:
        faults.append("operator.token and operator.token_file: give only one of them")
        return str(token)
    try:
        return Path(base, file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        faults.append(f"operator.token_file: {base / file}: {why}")
        return ""


def _check_operator(settings: Settings, faults: list[str]) -> None:
    where = settings.operator.listen or settings.api.listen
    if not where.loopback and not settings.operator.token:
        faults.append(
            f"operator.listen: {where} can be reached from outside: set operator.token or operator.token_file"
        )
    if settings.operator.listen == settings.api.listen and where.port != 0:
        faults.append(
            f'operator.listen: {where} is the API\'s address too; to share it write operator.listen = ""'
        )


def _check_api(settings: Settings, faults: list[str]) -> None:
    api = settings.api
    if api.max_head < api.max_line:
        faults.append("api.max_head: must be at least api.max_line, which is a part of it")
    if api.rate_limit and api.rate_window.total_seconds() < 1:
        faults.append("api.rate_window: must be at least 1s; clients are told in whole seconds")
