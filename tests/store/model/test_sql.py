"""Statements: their texts, the order of their values, and their rows."""

from collections.abc import Sequence
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import bindparam
from sqlmodel import col, select

from syncd.store import Tx
from syncd.store.model import sql
from syncd.store.model.tables import CounterRow, FactRow, JobRow
from syncd.store.sqlite import statements


def text_of(statement: sql.Statement[Any]) -> str:
    return " ".join(statements()[statement].text.split())


def test_constants_are_in_the_text_and_parameters_are_not():
    statement = sql.Statement(
        select(JobRow.id).where(
            col(JobRow.auto_refresh),
            ~col(JobRow.confidential),
            JobRow.status == "active",
            col(JobRow.version).in_([1, 2]),
            *sql.matching(JobRow.employer_id),
        )
    )
    assert text_of(statement) == (
        "SELECT job.id FROM job WHERE job.auto_refresh AND NOT job.confidential AND job.status = 'active'"
        " AND job.version IN (1, 2) AND job.employer_id = ?"
    )


@pytest.fixture
def tx(store):
    """A transaction with twelve settings, t-00 to t-11, each with a value of its number."""
    session = store.database.writer()
    session.begin()
    tx = Tx(session, store.database, store.now, {})
    tx.many(sql.inserting(FactRow), [(f"t-{n:02}", str(n)) for n in range(12)])
    yield tx
    session.close()


VALUES = sql.Statement(
    select(FactRow.value).where(sql.among(FactRow.name, "names")).order_by(col(FactRow.name))
)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 12])
def test_a_list_has_any_length(tx, count):
    names = [f"t-{n:02}" for n in range(count)]
    assert tx.scalars(VALUES, names=names) == [str(n) for n in range(count)]


def test_lists_of_similar_lengths_share_a_text():
    compiled = statements()[VALUES]

    def marks(names: Sequence[str]) -> int:
        text, values = compiled.with_lists({"names": names})
        assert text.count("?") == len(values)
        return len(values)

    assert [marks(["x"] * n) for n in (1, 2, 3, 4, 5, 16, 17, 33, 500)] == [1, 2, 4, 4, 8, 16, 32, 64, 512]


def test_a_value_that_is_missing_is_a_mistake(tx):
    with pytest.raises(KeyError):
        tx.one(sql.Statement(select(FactRow.value).where(*sql.matching(FactRow.name))), nmae="t-01")


def test_an_update_of_many_takes_values_in_its_own_order(tx):
    """The database has another: that of the columns in the table."""
    tx.many(
        sql.updating(FactRow.value, FactRow.name, where=[], was=[FactRow.name]), [("new", "u-01", "t-01")]
    )
    assert tx.one(sql.Statement(select(FactRow.name, FactRow.value).where(FactRow.value == "new"))) == (
        "u-01",
        "new",
    )
    assert tx.many(sql.updating(FactRow.value, where=[FactRow.name]), [("a", "t-02"), ("b", "none")]) == 1
    assert tx.many(sql.deleting(FactRow.value, FactRow.name), [("a", "t-02"), ("a", "t-03")]) == 1


def test_rows_are_replaced_added_up_and_rewritten(tx):
    count = sql.Statement(select(CounterRow.value).where(*sql.matching(CounterRow.name)))
    tx.many(sql.replacing(FactRow), [("t-01", "new"), ("t-99", "more")])
    assert tx.scalars(VALUES, names=["t-00", "t-01", "t-99"]) == ["0", "new", "more"]
    for expected in (2, 4):
        tx.run(sql.adding(CounterRow), name="x", value=2)
        assert tx.scalar(count, name="x") == expected
    assert tx.run(sql.rewriting(CounterRow), name="x", value=7) == 1
    assert tx.run(sql.rewriting(CounterRow), name="y", value=7) == 0
    assert tx.scalar(count, name="x") == 7


def test_a_value_may_be_used_twice(tx):
    smaller = col(FactRow.name).like("t-%"), col(FactRow.value) < bindparam("value")
    statement = sql.Statement(
        sa.update(FactRow).where(*smaller).values(sql.given(FactRow.value)), order=["value"]
    )
    assert tx.many(statement, [("2",)]) == 4  # 0, 1, 10 and 11
