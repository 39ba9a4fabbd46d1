"""The settings of ``[api]`` as they are shipped, with changes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from syncd.config import Api, load_settings

SHIPPED = load_settings(Path(__file__).parent.parent / "config" / "syncd.toml", {}).api


def api_settings(**changes: Any) -> Api:
    """Return the shipped settings with ``changes``."""
    return replace(SHIPPED, **changes)
