"""The installation of a demonstration: settings, feed files, employers and a key."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path

from syncd.cli.demo.story import EMPLOYERS
from syncd.config import Settings, load_settings
from syncd.errors import Conflict
from syncd.store import Store, employers, keys

SETTINGS = """# The settings of `syncd demo`. The syncd.toml that ships with syncd has and explains all settings.
[api]
listen = "127.0.0.1:{port}"

[operator]
listen = ""

[drop]
settle = "200ms"
"""
FEEDS = {
    "harbour": f'# A CSV in the service\'s own shape: no mapping needed.\nemployer = "{EMPLOYERS["harbour"]}"\n',
    "maple": f'# Indeed XML: a shipped mapping.\nemployer = "{EMPLOYERS["maple"]}"\npreset   = "indeed"\n',
    "prairie": f'# schema.org JSON-LD: another one.\nemployer = "{EMPLOYERS["prairie"]}"\npreset   = "schemaorg"\n',
}
FIRST_PORT = 8080


def install(folder: Path | None, port: int | None) -> Settings:
    """Write settings and feed files to ``folder`` (None: a new temporary one) and return the settings. Raises
    Conflict if the folder holds an installation already."""
    base = Path(tempfile.mkdtemp(prefix="syncd-demo-")) if folder is None else folder.absolute()
    config = base / "config" / "syncd.toml"
    if config.exists():
        raise Conflict(f"{base} holds an installation already; run it: syncd serve --config {config}")
    (config.parent / "feeds.d").mkdir(parents=True, exist_ok=True)
    config.write_text(SETTINGS.format(port=_free_port(port)))
    for name, text in FEEDS.items():
        (config.parent / "feeds.d" / f"{name}.toml").write_text(text)
    return load_settings(config, {})


def _free_port(wanted: int | None) -> int:
    """Return ``wanted`` if it is free; without it, the first free port from 8080 on. Raises Conflict."""
    candidates = [wanted] if wanted is not None else range(FIRST_PORT, FIRST_PORT + 200)
    for port in candidates:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise Conflict(f"port {wanted or FIRST_PORT} is taken; choose another: syncd demo --port N")


def add_employers(store: Store) -> str:
    """Add the employers of all feeds, and return an API key for the first of them."""
    added = [store.write(lambda tx, n=name: employers.add(tx, n)) for name in EMPLOYERS.values()]  # type: ignore[misc]
    return store.write(lambda tx: keys.create(tx, added[0].id, "demo"))[1]
