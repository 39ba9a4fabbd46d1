"""``syncd employer …`` and ``syncd key …``."""

from __future__ import annotations

import os
import sys
from datetime import timedelta

from syncd.cli.output import cell, clean, output_is_closed, print_json, print_list, print_result, remark
from syncd.cli.store_access import opened_store
from syncd.config import Settings
from syncd.errors import SyncdError
from syncd.store import employers, keys
from syncd.sync.report import employer_json, key_json

#: How long a key stays valid beside its successor by default.
GRACE = timedelta(hours=24)


def add_employer(settings: Settings, as_json: bool, name: str, plan: str) -> None:
    with opened_store(settings, make=True) as store:
        employer = store.write(lambda tx: employers.add(tx, name, plan == "unlimited"))
    text = f"employer {employer.id}: {employer.name} ({plan})"
    print_result(as_json, employer_json(employer), text)


def rename_employer(settings: Settings, as_json: bool, employer: str, name: str) -> None:
    """Rename the employer, and name the feeds whose files still have the old name. Raises NotFound, Conflict, Invalid."""
    from syncd.service import configured_feeds, stores

    with opened_store(settings) as store:
        old = store.read(lambda tx: employers.find(tx, employer))
        renamed = store.write(lambda tx: employers.rename(tx, old.id, name))
        catalogue = stores.catalogue_of(store, settings)
        files = configured_feeds.feed_files(settings, catalogue).values()
    text = f"employer {renamed.id}: {renamed.name}, before: {old.name}"
    print_result(as_json, employer_json(renamed), clean(text))
    stale = [file.name for file in files if file.config is not None and file.config.employer == old.name]
    if stale and renamed.name != old.name:
        names = ", ".join(f"{feed}.toml" for feed in stale)
        remark(f'syncd: write employer = "{clean(renamed.name)}" in {names}, then: syncd reload')


def list_employers(settings: Settings, as_json: bool) -> None:
    with opened_store(settings) as store:
        listed = [employer_json(employer) for employer in store.read(employers.all)]
    rows = [tuple(employer.values()) for employer in listed]
    empty = 'no employers yet; add one: syncd employer add "NAME"'
    print_list(as_json, listed, ("id", "name", "plan"), rows, empty)


def create_key(
    settings: Settings, as_json: bool, employer: str, label: str, expires: timedelta | None
) -> None:
    _require_output()
    with opened_store(settings) as store:
        owner = store.read(lambda tx: employers.find(tx, employer))
        ends = store.now().instant + expires if expires else None
        info, plain = store.write(lambda tx: keys.create(tx, owner.id, label, ends))
    _show_new(as_json, info, plain)


def rotate_key(
    settings: Settings, as_json: bool, key_id: int, grace: timedelta | None, expires: timedelta | None
) -> None:
    _require_output()
    spared = GRACE if grace is None else grace
    with opened_store(settings) as store:
        ends = store.now().instant + expires if expires else None
        info, plain = store.write(lambda tx: keys.rotate(tx, key_id, spared, ends))
        old = store.read(lambda tx: keys.get(tx, key_id))
    _show_new(as_json, info, plain)
    if not as_json:
        remark(f"key {old.id} is valid until {cell(old.expires_at)}; give every client the new one before")


def _require_output() -> None:
    """Raise SyncdError if standard output is closed: nobody would get the new key."""
    if output_is_closed():
        raise SyncdError("standard output is closed, so the new key would be lost; no key was made")


def _show_new(as_json: bool, info: keys.KeyInfo, plain: str) -> None:
    """Print the key alone, so that it can be piped. Raises SyncdError if it cannot be printed: nobody has it then."""
    try:
        print_json({**key_json(info), "key": plain}) if as_json else print(plain)
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the rest of the buffer is not printed later
        reason = f"key {info.id} was made, but could not be printed ({error}); revoke it: syncd key revoke {info.id}"
        raise SyncdError(reason) from None
    if sys.stdout.isatty() and not as_json:
        remark(f"key {info.id} of {info.employer}; keep it now, it is not shown again")


def list_keys(settings: Settings, as_json: bool) -> None:
    with opened_store(settings) as store:
        infos, now = store.read(keys.all), store.now().instant
    rows = [
        (k.id, k.employer, k.label, k.state(now), k.created_at, k.last_used_at, k.expires_at) for k in infos
    ]
    headings = ("id", "employer", "label", "state", "created", "last used", "expires")
    empty = "no keys yet; make one: syncd key create EMPLOYER"
    print_list(as_json, [key_json(info) for info in infos], headings, rows, empty)


def revoke_key(settings: Settings, as_json: bool, key_id: int) -> None:
    with opened_store(settings) as store:
        info = store.write(lambda tx: keys.revoke(tx, key_id))
    print_result(as_json, key_json(info), f"key {info.id} of {clean(info.employer)} is revoked")
