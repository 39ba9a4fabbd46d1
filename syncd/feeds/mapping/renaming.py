"""Right-hand sides of ``[fields]`` for a file in which some names are others now: lines to paste into the feed's file."""

import re
from collections.abc import Callable, Iterable, Mapping

from syncd.feeds.mapping.place_fields import PLACES
from syncd.feeds.mapping.salary_fields import SALARY
from syncd.feeds.mapping.selectors import plain_name
from syncd.feeds.readers import Format

#: Keys whose values look at the record.
_LOOKING = {"from", "all", "each", *PLACES.options, *SALARY.options} - {
    "too_many",
    "infer_period",
    "locale",
    "default",
}
_PART = re.compile(r"\{([^{}]*)\}")


class Renaming:
    """``successors``: name → its new name. ``made`` counts the selectors that were renamed."""

    def __init__(self, successors: Mapping[str, str], form: Format) -> None:
        self._successors, self._form = successors, form
        self.made = 0

    def line(self, expression: object, names_in: Callable[[str], set[str]]) -> object:
        """Return the right-hand side with the new names; None if nothing is left of it. ``names_in`` returns the names in the
        file at which a selector looks: one that looks at none is left out."""
        if isinstance(expression, str):
            text = self._renamed(expression)
            return text if names_in(text) else None
        if isinstance(expression, list):
            parts = [self.line(part, names_in) for part in expression]
            return [part for part in parts if part is not None] or None
        if not isinstance(expression, dict):
            return expression
        table = {
            key: self.line(value, names_in) if key in _LOOKING else value for key, value in expression.items()
        }
        if "template" in table:
            table["template"] = _PART.sub(
                lambda part: f"{{{self._renamed(part[1])}}}", str(table["template"])
            )
        left = {key: value for key, value in table.items() if value is not None}
        return left if left.keys() & _LOOKING or not table.keys() & _LOOKING else None

    def _renamed(self, text: str) -> str:
        for old, new in self._successors.items():
            if plain_name(text) == plain_name(old):
                self.made += 1
                return new if self._form == "csv" or not re.search(r"[.\[\]]", new) else f'["{new}"]'
            step = re.compile(rf"(?<![\w-]){re.escape(old)}(?![\w-])")
            if self._form != "csv" and step.search(text):
                self.made += 1
                text = step.sub(new.replace("\\", r"\\"), text)
        return text


def uses(expression: object, names: Iterable[str], form: Format, names_in: Callable[[str], set[str]]) -> bool:
    """Return whether a right-hand side looks at one of some names. ``names_in``: as in ``Renaming.line``."""
    renaming = Renaming({name: name for name in names}, form)
    renaming.line(expression, names_in)
    return renaming.made > 0
