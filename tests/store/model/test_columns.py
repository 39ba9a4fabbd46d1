"""Which columns make a value, and how rows are read."""

from typing import NamedTuple

import pytest

from syncd.store.model import Columns, EmployerRow, KeyRow


class Key(NamedTuple):
    """A row of several columns, one of them nested."""

    id: int
    times: tuple[int, int | None, int | None]
    label: str
    employer: str
    live: bool


KEY = Columns(
    Key,
    KeyRow,
    times=((KeyRow.created_at, KeyRow.expires_at, KeyRow.revoked_at), lambda *times: times),
    employer=EmployerRow.name,
    live=(KeyRow.revoked_at, lambda revoked: revoked is None),
)


def test_a_parameter_is_the_column_of_its_name_unless_another_is_named() -> None:
    names = [str(column) for column in KEY.columns]
    assert names == [
        *("KeyRow.id", "KeyRow.created_at", "KeyRow.label", "EmployerRow.name", "KeyRow.revoked_at"),
        *("KeyRow.expires_at", "KeyRow.revoked_at"),
    ]


def test_a_value_is_made_of_a_row_of_these_columns() -> None:
    assert KEY.make((7, 1, "main", "Acme", None, 2, None)) == Key(7, (1, 2, None), "main", "Acme", True)


def test_a_parameter_that_is_not_there_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="nmae"):
        Columns(Key, KeyRow, nmae=EmployerRow.name)
    with pytest.raises(AttributeError, match="times"):
        Columns(Key, KeyRow)
