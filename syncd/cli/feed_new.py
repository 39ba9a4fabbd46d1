"""``syncd feed new``: drafts the file of a feed from real data of the feed, and opens its folder to its partner."""

import grp
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import typer

from syncd.cli.employers import how_many
from syncd.cli.imports import fetched, is_address, naming
from syncd.cli.options import named_path
from syncd.cli.output import clean, print_json, print_list, remark, whole_file, writable_by_owner_alone
from syncd.cli.report_text import print_kinds
from syncd.cli.store_access import acting_as, owner_ids, store_if_any
from syncd.config import Settings
from syncd.domain import Moment, near_names
from syncd.errors import ConfigError, Conflict, FeedError, NotFound, SyncdError
from syncd.feeds.configuration import check_name
from syncd.feeds.drafting import RECORDS, Draft, Drafter, employer_named_in
from syncd.feeds.mapping.presets import board_of
from syncd.feeds.source import Source, source_at
from syncd.service import configured_feeds, exposure
from syncd.sources import Fetched, SourceError
from syncd.store import employers
from syncd.sync.arrival import open_to_group
from syncd.sync.run import Checker, CheckResult

#: Employers that a message lists, and columns.
SHOWN_COLUMNS = 20


def new_feed(
    settings: Settings,
    as_json: bool,
    *,
    name: str,
    file: str | None,
    insecure_host: str | None,
    employer: str | None,
    group: str | None,
    force: bool,
) -> None:
    """Write the file of a new feed from ``file``, a path or an address, and open its folder to ``group``; without a file the feed
    must exist. Raises typer.BadParameter (neither is named), ConfigError (not a name for a feed, an address that is wrong; see
    ``_partner_group``), Conflict (the feed exists), NotFound (employer, group, feed), SourceError, SyncdError (no employer is
    chosen), FeedError, UnusableFolder, OSError."""
    if file is None and group is None:
        raise typer.BadParameter("give --from FILE, or --group G to open the folder of a feed that exists")
    source = preset = None
    if file is not None and is_address(file):
        source = source_at(file, insecure_host)
        if (preset_and_board := board_of(file)) is not None:
            preset, board = preset_and_board
            source = source_at(board, insecure_host, preset)
    if insecure_host is not None and source is None:
        raise typer.BadParameter("--insecure-host goes with the address of a file: --from https://HOST/PATH")
    check_name(name)
    partner = _partner_group(settings, name, group) if group is not None else None
    result: dict[str, Any] = {}
    if file is not None:
        result = _draft(settings, name, file, source, employer, preset=preset, force=force, as_json=as_json)
    else:
        configured_feeds.feed_file(settings, settings.catalogue, name)
    if partner is not None:
        rows = _open_folder(settings, name, partner)
        folders = [{"path": str(path), "mode": mode, "group": owner} for path, mode, owner in rows]
        result = {"feed": name, **result, "group": partner.gr_name, "folders": folders}
        if not as_json:
            print_list(as_json, folders, ("folder", "mode", "group"), rows, "")
    if as_json:
        print_json(result)


def _draft(
    settings: Settings,
    name: str,
    origin: str,
    source: Source | None,
    employer: str | None,
    *,
    preset: str | None,
    force: bool,
    as_json: bool,
) -> dict[str, Any]:
    """Write the file of a new feed; return its JSON, or print it as text. ``origin``: a path, or the address of ``source``;
    ``preset``: that of its board."""
    target = settings.feeds / f"{name}.toml"
    alike = [p.name for p in target.parent.glob("*.toml") if p.name.casefold() == target.name.casefold()]
    if target.name in alike and not force:
        raise Conflict(f"{target} exists and is left unchanged; --force replaces it")
    if alike and target.name not in alike:
        raise Conflict(f"there is {alike[0]} already; two feeds must differ in more than case")
    catalogue, limits = settings.catalogue, settings.limits
    with ExitStack() as stack:
        got = None if source is None else stack.enter_context(_fetched(source, settings))
        file = named_path(origin) if got is None else got.path
        shown = file if source is None else source.shown
        with naming(shown):
            owner, now = _owner(settings, employer, file)
            drafter = Drafter(
                file,
                name,
                employer=owner,
                catalogue=catalogue,
                limits=limits,
                today=now.today.isoformat(),
                source=source,
                linked=got is not None and got.linked,
                preset=preset,
            )
            draft = drafter.draft()
        result = _checked(draft, file, settings, now)
    with writable_by_owner_alone():
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(target) as out:
            if source is not None and source.plain_secrets:
                os.fchmod(out.fileno(), 0o600)
            out.write(draft.text.encode())
    if not as_json:
        _print(draft, target, result, chosen=employer is None)
        step = f"syncd feed check {name} {shown}" if source is None else f"syncd feed fetch {name} --dry-run"
        print(f"next: read the file, then {step}")
    return _json(draft, target, result)


@contextmanager
def _fetched(source: Source, settings: Settings) -> Iterator[Fetched]:
    try:
        with fetched(source, settings) as got:
            yield got
    except SourceError as error:
        hint = "; here that is --insecure-host HOST" if "insecure_hosts" in str(error) else ""
        raise SourceError(f"{error}{hint}") from None


def _owner(settings: Settings, employer: str | None, file: Path) -> tuple[str, Moment]:
    """Return the name of the employer (None: the only one) and the time. Raises NotFound, SyncdError, FeedError."""
    with store_if_any(settings, lent=True) as store:
        known = store.read(employers.all) if store is not None else []
        if store is None or (employer is None and len(known) != 1):
            named = employer_named_in(file, settings.limits)
            raise SyncdError(_unclear([owner.name for owner in known], named))
        now = store.read(lambda tx: tx.now)
        try:
            return store.read(lambda tx: employers.find(tx, employer or known[0].name)).name, now
        except NotFound as error:
            hint = error.hint or f'add it first: syncd employer add "{employer}"'
            raise NotFound("employer", employer, hint) from None


def _unclear(known: Sequence[str], named: str | None) -> str:
    """Return the message where there is no employer yet, or none of several was chosen. ``named``: that of the file."""
    if known:
        hint = f' (the file names "{named}")' if named else ""
        return f"{how_many(known)}: say with --employer whose jobs these are{hint}"
    name, hint = (f'"{named}"', " (the file names it)") if named else ("NAME", "")
    return f"there is no employer yet: syncd employer add {name}{hint}, then the same command again"


def _checked(draft: Draft, file: Path, settings: Settings, now: Moment) -> CheckResult | str:
    """Return the check of the file's first records by the draft, or why the file cannot be read further."""
    result = CheckResult()
    checker = Checker(draft.config, settings.catalogue, settings.limits, now, most=RECORDS)
    try:
        for _ in checker.check(file, result):
            pass
    except FeedError as error:
        return error.detail + (f" ({error.where()})" if error.where() else "")
    return result


def _json(draft: Draft, target: Path, result: CheckResult | str) -> dict[str, Any]:
    survey, failure = draft.survey, result if isinstance(result, str) else None
    pages = None if draft.paging is None or draft.paging.pages is None else draft.paging.pages.table
    counts = None
    if isinstance(result, CheckResult):
        counts = {name: getattr(result, name) for name in ("read", "good", "rejected", "expired")}
    return {
        "feed": draft.config.name,
        "file": str(target),
        "employer": draft.config.employer,
        "employerExists": True,
        "fileFormat": survey.format,
        "encoding": "ascii" if survey.encoding == "guess" else survey.encoding,
        "delimiter": survey.delimiter,
        "records": survey.path or None,
        "preset": draft.preset,
        "pages": pages,
        "paging": None if draft.paging is None else draft.paging.said,
        "recordsRead": survey.records,
        "counts": counts,
        "unusedColumns": _unused(draft),
        "failure": failure,
    }


def _unused(draft: Draft) -> list[str]:
    """Return the columns with values that the draft does not use. They are known for a CSV."""
    survey = draft.survey
    return draft.config.mapping.unused(list(survey.columns)) if survey.format == "csv" else []


def _print(draft: Draft, target: Path, result: CheckResult | str, *, chosen: bool) -> None:
    survey = draft.survey
    where = f" at {clean(survey.path)}" if survey.path else ""
    only = " (the only one; another: --employer NAME)" if chosen else ""
    mapping = f"preset {draft.preset}" if draft.preset else "guessed from names and values"
    print(f"wrote {target}")
    print(f"employer: {clean(draft.config.employer)}{only}")
    print(f"found {survey.format}, {survey.records:,}{'+' if survey.more else ''} records{where}")
    print(f"mapping: {mapping}")
    if draft.paging is not None and draft.paging.pages is not None:
        print(f"pages: {clean(draft.paging.said)}; `syncd feed fetch` follows it")
    elif draft.paging is not None:
        remark(f"syncd: {clean(draft.paging.said)}: see pages in the draft")
    if isinstance(result, str):
        remark(f"syncd: the file cannot be used as it is: {clean(result)}")
    else:
        rejected = f"{result.rejected:,} would be rejected"
        rejected += f", {result.expired} are closed or have expired" if result.expired else ""
        print(f"of {result.read:,} records {result.good:,} would go in, {rejected}")
        print_kinds("rejected, by kind", result.kinds)
        for rule, records in result.filtered.most_common():
            print(f"left out by [rows], {clean(rule)}: {records:,}")
    for doubt in draft.remarks:
        remark(f"syncd: {clean(doubt)}")
    if unused := _unused(draft):
        more = f" and {len(unused) - SHOWN_COLUMNS} more" if len(unused) > SHOWN_COLUMNS else ""
        print(f"columns not used: {clean(', '.join(unused[:SHOWN_COLUMNS]))}{more}")


# -- the folder --------------------------------------------------------------------------------------------------


def _partner_group(settings: Settings, feed: str, name: str) -> grp.struct_group:
    """Return the group with this name or number. Raises NotFound, ConfigError (not root, a group that others are in)."""
    try:
        group = grp.getgrgid(int(name)) if name.isdecimal() else grp.getgrnam(name)
    except (KeyError, OverflowError):
        near = near_names(name, (entry.gr_name for entry in grp.getgrall()))
        hint = f"did you mean {near[0]}? " if near else ""
        raise NotFound("group", name, f"{hint}groupadd makes one") from None
    if os.geteuid() != 0:
        raise ConfigError(["only root can give a folder to a group: run this command as root"])
    if group.gr_gid in (0, owner_ids(settings)[1]):
        why = f"the group {group.gr_name} is that of syncd's user, so it has the folders of all feeds"
        raise ConfigError([f"{why}; make one for the partner: groupadd feed-{feed}"])
    return group


def _open_folder(
    settings: Settings, feed: str, group: grp.struct_group
) -> list[tuple[Path, str, str | None]]:
    """Open the folder of a feed to a group; return each folder, its mode and its group. Raises UnusableFolder, OSError."""
    owner = owner_ids(settings)
    opened = open_to_group(settings.drop.folder / feed, group.gr_gid, owner, lambda: acting_as(owner))
    user = exposure.user_name(owner[0])
    if owner[0] != 0 and group.gr_gid not in os.getgrouplist(user, owner[1]):
        why = f"syncd's user {user} is not in the group {group.gr_name}, so partners could not read their reports"
        remark(f"{why}: usermod -aG {group.gr_name} {user}, then restart syncd")
    return [
        (rights.path, f"{rights.mode:04o}", None if rights.gid is None else exposure.group_name(rights.gid))
        for rights in opened
    ]
