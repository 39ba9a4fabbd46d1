"""How much the tests try: all of it where ``TESTS_WHOLE`` is set, as in the gate (``.ci/run``), and else as much as a developer
waits for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NoReturn

import pytest

WHOLE = bool(os.environ.get("TESTS_WHOLE"))

#: For a test that takes so long that only the gate runs it.
in_the_gate = pytest.mark.skipif(not WHOLE, reason="takes long; TESTS_WHOLE=1 runs it")


def some(cases: Iterable[object], count: int) -> list[object]:
    """Return the cases, for ``pytest.mark.parametrize``. The gate tries each of them, other runs the first ``count``: order them
    so that these differ most. For tests whose cases take long and have much in common."""
    each = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*values, marks=in_the_gate if at >= count else ()) for at, values in enumerate(each)]


def examples(most: int) -> int:
    """Return how many examples Hypothesis tries of a law that the gate tries with ``most``."""
    return most if WHOLE else max(most // 8, 20)


def lacking(what: str) -> NoReturn:
    """Skip the test, because of what this machine lacks. In the gate, fail it."""
    if WHOLE:
        pytest.fail(f"TESTS_WHOLE is set, but {what}")
    pytest.skip(what)
