"""How much the tests try: all of it where ``TESTS_WHOLE`` is set, as in the gate, and else as much as a developer waits for."""

from __future__ import annotations

import os

WHOLE = bool(os.environ.get("TESTS_WHOLE"))


def examples(most: int) -> int:
    """Return how many examples Hypothesis tries of a law that the gate tries with ``most``."""
    return most if WHOLE else max(most // 3, 20)
