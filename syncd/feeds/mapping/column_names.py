"""The partner's names of the fields, for texts that he reads (docs/feeds.md "Reports and corrected rows")."""

import re
from collections.abc import Callable, Collection
from collections.abc import Mapping as Map

from syncd.domain import FIELD, FieldKind

#: Keys of a right-hand side whose value has selectors of the field itself, and those that are joined.
_ALTERNATIVES, _JOINED = ("from", "text"), ("all", "derive")
_BRACES = re.compile(r"\{([^{}]+)\}")


def columns_of(fields: Map[str, object], named: Callable[[str], Collection[str]] | None) -> dict[str, str]:
    """Return by pointer (``/title``, ``/salary/amount``) the names at which ``[fields]`` looks. ``named`` returns those of a file
    that a selector means: of alternatives the first counts that the file has. Without it (None) fields with alternatives
    are left out."""
    columns = {}
    for name, expression in fields.items():
        if names := _names(expression, named):
            columns[f"/{name}"] = " / ".join(dict.fromkeys(names))
        if FIELD[name].kind is FieldKind.SALARY and isinstance(expression, dict):
            for member in ("amount", "maxAmount", "period"):
                if names := _names(expression.get(member), named):
                    columns[f"/{name}/{member}"] = " / ".join(dict.fromkeys(names))
            if columns.get(f"/{name}/amount"):
                columns.setdefault(f"/{name}", columns[f"/{name}/amount"])
        if FIELD[name].kind is FieldKind.PLACES and isinstance(expression, dict):
            provinces = [each for each in _names(expression.get("province"), named) if each not in names]
            if provinces:
                columns[f"/{name}/province"] = " / ".join(dict.fromkeys(provinces))
    return columns


def proposed_columns(fields: Map[str, object], known: dict[str, str]) -> dict[str, str]:
    """Return ``known``, the names of a file, and of the fields that it lacks the first names at which ``[fields]`` looks."""
    there = {pointer.split("/")[1] for pointer in known}
    return (
        columns_of({name: line for name, line in fields.items() if name not in there}, lambda text: [text])
        | known
    )


def has_constants(expression: object) -> bool:
    """Return whether a right-hand side has a constant, which a row may get instead of a value of its own."""
    if isinstance(expression, dict):
        return "value" in expression or "default" in expression or has_constants([*expression.values()])
    return isinstance(expression, list) and any(map(has_constants, expression))


def _names(expression: object, named: Callable[[str], Collection[str]] | None) -> list[str]:
    if isinstance(expression, str):
        return [expression] if named is None else sorted(named(expression))
    if isinstance(expression, list):
        if named is None and len(expression) > 1:
            return []
        return next((names for part in expression if (names := _names(part, named))), [])
    if not isinstance(expression, dict):
        return []
    for key in _ALTERNATIVES:
        if names := _names(expression.get(key), named):
            return names
    parts = next((parts for key in _JOINED if isinstance(parts := expression.get(key), list)), [])
    if isinstance(template := expression.get("template"), str):
        named_parts = [_names(part, named) for part in _BRACES.findall(template)]
        return [name for names in named_parts for name in names] if all(named_parts) else []
    return [name for part in parts for name in _names(part, named)]
