"""``syncd init``: a complete installation in a folder."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import syncd
from syncd.cli.output import clean, print_result, writable_by_owner_alone
from syncd.config import load_settings
from syncd.errors import Conflict
from syncd.sync import make_drop_folder

_PACKAGE = Path(syncd.__file__).parent
#: Where the files are that an installation begins with: in an installed package, and in a checkout.
_STARTERS = (_PACKAGE / "cli" / "starter", _PACKAGE.parent / "config")


def init(folder: Path, as_json: bool) -> None:
    """Make settings, examples of feed files and the drop folder in ``folder``, and print what comes next. Goes on where it was
    killed before. Raises Conflict if another file of an installation is there, or all of it; OSError."""
    base = folder.absolute()
    files = {base / "config" / name: content for name, content in _starters()}
    missing = [path for path, content in files.items() if not _is_there(path, content)]
    config = base / "config" / "syncd.toml"
    if not missing and load_settings(config, {}).drop.folder.exists():
        raise Conflict(f"{config} exists; nothing was written")
    with writable_by_owner_alone():
        (base / "config" / "feeds.d").mkdir(parents=True, exist_ok=True)
        for path in missing:
            draft = path.with_name(f".{path.name}.tmp")  # written over if a killed one is there
            draft.write_bytes(files[path])
            draft.rename(path)
        settings = load_settings(config, {})
        make_drop_folder(settings.drop.folder)
    found = {"config": str(config), "feeds": str(settings.feeds), "drop": str(settings.drop.folder)}
    print_result(as_json, found, _next_steps(config, settings.feeds))


def _is_there(path: Path, content: bytes) -> bool:
    """Return whether the file is there, as it would be written. Raises Conflict if it is another one."""
    if not os.path.lexists(path):
        return False
    if path.is_symlink() or not path.is_file() or path.read_bytes() != content:
        raise Conflict(f"{path} exists; nothing was written")
    return True


def _starters() -> Iterator[tuple[str, bytes]]:
    """Yield the name below ``config/`` and the content of each file."""
    source = next(place for place in _STARTERS if (place / "syncd.toml").is_file())
    for path in (source / "syncd.toml", *sorted((source / "feeds.d").glob("*.example"))):
        yield str(path.relative_to(source)), path.read_bytes()


def _next_steps(config: Path, feeds: Path) -> str:
    where = shlex.quote(clean(str(config)))
    return f"""{clean(str(config))} has all settings with their defaults. Next:
  export SYNCD_CONFIG={where}
  syncd employer add "Acme Ltd."
  syncd feed new acme --from FILE    # or copy an example in {clean(str(feeds))}
  syncd serve"""
