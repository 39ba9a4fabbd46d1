"""The settings of ``[api]`` as they are shipped, with changes."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from syncd.config import Api, load_settings

SHIPPED = load_settings(Path(__file__).parent.parent / "config" / "syncd.toml", {}).api


def api_settings(**changes: Any) -> Api:
    """Return the shipped settings with ``changes``, times in seconds."""
    times = {name for name in changes if isinstance(getattr(SHIPPED, name), timedelta)}
    given = {name: timedelta(seconds=value) if name in times else value for name, value in changes.items()}
    return replace(SHIPPED, **given)
