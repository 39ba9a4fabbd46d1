"""How much the tests try: all of it where ``TESTS_WHOLE`` is set, as in the nightly run (``.ci/nightly``), and else as much as a
developer waits for."""

import os
from collections.abc import Iterable
from typing import NoReturn

import pytest

WHOLE = bool(os.environ.get("TESTS_WHOLE"))

#: For a test that takes so long that only the nightly run has it.
nightly = pytest.mark.skipif(not WHOLE, reason="takes long; TESTS_WHOLE=1 runs it")


def some(cases: Iterable[object], count: int) -> list[object]:
    """Return the cases, for ``pytest.mark.parametrize``. The nightly run tries each of them, other runs the first ``count``:
    order them so that these differ most. For tests whose cases take long and have much in common."""
    each = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*values, marks=nightly if at >= count else ()) for at, values in enumerate(each)]


def examples(most: int) -> int:
    """Return how many examples Hypothesis tries of a law that the nightly run tries with ``most``."""
    return most if WHOLE else max(most // 8, 20)


def lacking(what: str) -> NoReturn:
    """Skip the test, because of what this machine lacks. In the nightly run, fail it."""
    if WHOLE:
        pytest.fail(f"TESTS_WHOLE is set, but {what}")
    pytest.skip(what)
