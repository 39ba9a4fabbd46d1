"""``syncd store copy``."""

from __future__ import annotations

from syncd.cli.output import print_list, remark
from syncd.cli.store_access import become_owner_of
from syncd.config import StoreSettings, store_address
from syncd.errors import ConfigError
from syncd.store import copying
from syncd.values import ValueFault


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
