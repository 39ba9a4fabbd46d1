"""The garbage collector of a process that works through many rows.

Rows are freed by counting; only few cycles are ever made. By default the collector looks for them after every
700 new objects and goes through everything that was imported ever again: a tenth of an import.
"""

from __future__ import annotations

import gc

#: New objects between two looks at the young ones; looks at those between two at the older generations.
YOUNG, OLDER, OLDEST = 20_000, 10, 10


def settle_memory() -> None:
    """Call once everything is imported and built: what is there now is no longer searched for cycles."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, OLDER, OLDEST)
