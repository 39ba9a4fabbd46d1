"""A store moves: ``syncd migrate`` to the schema of this program, ``syncd store copy`` into another store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from syncd.cli.output import print_list, print_result, remark
from syncd.cli.store_access import become_owner, become_owner_of, require_store
from syncd.config import Settings, StoreSettings, store_address
from syncd.errors import ConfigError
from syncd.service import stores
from syncd.store import Database, backups, copying, schema, utc_now
from syncd.values import ValueFault


def migrate(settings: Settings, as_json: bool, *, plan: bool) -> None:
    """Migrate the store to the schema of this program, after a backup of it, and print from where to where. With ``plan``
    nothing is written. Raises StoreInUse, StoreTooNew, StoreError, OSError."""
    become_owner(settings)
    require_store(settings)
    database = stores.database_of(settings)
    found = database.version()
    schema.refuse_newer(found)
    steps = schema.pending(found)
    migrated = bool(steps) and not plan
    kept = _migrate(settings, database) if migrated else None
    shown = {
        "from": found,
        "to": schema.HEAD,
        "migrations": [{"schema": number, "title": title} for number, title in steps.items()],
        "migrated": migrated,
        "backup": str(kept) if kept is not None else None,
    }
    print_result(as_json, shown, _text(found, steps, plan=plan, kept=kept))


def _migrate(settings: Settings, database: Database) -> Path | None:
    """Migrate the store under its lock: a daemon that runs may be of an older program. Return its backup; None for a store
    that had nothing in it."""
    database.lock()
    try:
        kept = None
        if database.version() is not None:
            at = utc_now()
            kept = _place_for(settings, f"before-migration-{at:%Y%m%dT%H%M%S.%fZ}")
            database.be_alone()
            backups.write(database, kept, at)
        stores.open_store(settings).close()
    finally:
        database.unlock()
    return kept


def _place_for(settings: Settings, ending: str) -> Path:
    """Return the path of a backup: beside the store, or, of one on a server, where a store in a file is by default."""
    store = settings.store.path
    if store is None:
        store = settings.base / "var" / "syncd.dump"
        store.parent.mkdir(mode=0o700, exist_ok=True)
    return store.with_name(f"{store.name}.{ending}")


def _text(found: str | None, steps: Mapping[str, str], *, plan: bool, kept: Path | None) -> str:
    if not steps:
        return f"the store has schema {found}, which is that of this program: nothing to migrate"
    whence = f"schema {found}" if found is not None else "nothing"
    what = "would migrate" if plan else "migrated"
    lines = [f"{what} the store from {whence} to schema {schema.HEAD}:"]
    lines += [f"  {number} {title}" for number, title in steps.items()]
    lines += [f"the store as it was: {kept} (`syncd restore` puts it back)"] if kept is not None else []
    return "\n".join(lines)


# -- into another store --------------------------------------------------------------------------------------


def copy_store(source: str, target: str, as_json: bool) -> None:
    """Copy, and print what each table has. As root the process becomes the owner of the folder of the target's file, else of
    that of the source's. The addresses are not printed: they may have passwords. Raises ConfigError, StoreInUse,
    StoreError."""
    addresses = _address("FROM", source), _address("TO", target)
    files = [path for path in (StoreSettings(url=address).path for address in reversed(addresses)) if path]
    for path in files[:1]:
        become_owner_of(path.absolute().parent)
    copied = copying.copy(*addresses)
    found = [each._asdict() for each in copied]
    print_list(as_json, found, ("table", "rows", "digest"), copied, "")
    if not as_json:
        remark("copied and verified: the target has these rows")


def _address(name: str, value: str) -> str:
    """Return a store address as ``store.url`` takes it. Raises ConfigError."""
    try:
        return store_address(value)
    except ValueFault as fault:
        raise ConfigError([f"{name}: {fault}"]) from None
