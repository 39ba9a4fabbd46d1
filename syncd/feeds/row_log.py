"""What is noticed about a row while its body is made."""

from __future__ import annotations

from msgspec import Struct

from syncd.errors import Problem


class RowLog(Struct):
    """What was noticed about one row. ``unknown`` is (field, value) of values that no catalogue and no lookup has."""

    warnings: list[tuple[str, str]] = []
    problems: list[Problem] = []
    unknown: list[tuple[str, str]] = []

    def note(self, code: str, detail: str) -> None:
        self.warnings.append((code, detail))
