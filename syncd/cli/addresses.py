"""Files at an address on a command line: ``syncd plan URL`` and ``syncd feed new --from URL``."""

import asyncio
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from syncd.config import Settings
from syncd.feeds.source import Source
from syncd.sources import Fetched, fetch_once


def is_address(text: str) -> bool:
    """Return whether an argument is the address of a file, not its path."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


@contextmanager
def fetched(source: Source, settings: Settings) -> Iterator[Fetched]:
    """Yield the file of a source, which is removed in the end. Raises SourceError."""
    with tempfile.TemporaryDirectory(prefix="syncd-") as folder:
        yield asyncio.run(fetch_once(source, settings, Path(folder)))
