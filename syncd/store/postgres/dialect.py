"""How PostgreSQL writes statements and types.

Texts are compared and ordered by code point (``COLLATE "C"``), as SQLite does, whatever the language of the database is.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.dialects.postgresql.base import PGCompiler, PGDialect, PGTypeCompiler
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.operators import in_op, not_in_op

from syncd.store.model import ConstantsInText, Statements, TextContains

_DRIVER = "postgresql.syncd"
#: How a value is compared with those of an array.
_AMONG: dict[Any, str] = {in_op: "= ANY", not_in_op: "<> ALL"}


class _Compiler(ConstantsInText, PGCompiler):
    """Passes a list as one array, so that its length does not change the text of the statement."""

    def visit_binary(self, binary: sa.BinaryExpression[Any], *args: Any, **options: Any) -> str:
        right = binary.right
        among = _AMONG.get(binary.operator)
        if among is not None and isinstance(right, sa.BindParameter) and right.required:
            column, values = self.process(binary.left, **options), self.process(sa.bindparam(right.key))
            return f"{column} {among}({values})"
        text: str = super().visit_binary(binary, *args, **options)  # type: ignore[no-untyped-call]
        return text


class _Dialect(PGDialect):
    supports_statement_cache = True
    statement_compiler = _Compiler


@cache
def statements() -> Statements:
    """Return the statements of all stores on PostgreSQL of this process."""
    return Statements(_Dialect(paramstyle="numeric_dollar"), insert)  # type: ignore[no-untyped-call]


@compiles(TextContains, "postgresql")
def _contains(element: TextContains, compiler: PGCompiler, **options: Any) -> str:
    return f"(strpos({compiler.process(element.clauses, **options)}) > 0)"


class _Types(PGTypeCompiler):
    """The types of the columns that migrations make."""

    def visit_VARCHAR(self, type_: sa.String, **options: Any) -> str:  # noqa: N802 - SQLAlchemy's
        return _ordered(super().visit_VARCHAR(type_, **options))

    def visit_TEXT(self, type_: sa.Text, **options: Any) -> str:  # noqa: N802 - SQLAlchemy's
        return _ordered(super().visit_TEXT(type_, **options))


def _ordered(text: str) -> str:
    return f'{text} COLLATE "C"'


class MigrationDialect(PGDialect_psycopg):
    """The dialect of migrations."""

    supports_statement_cache = True
    type_compiler_cls = _Types


registry.register(_DRIVER, __name__, "MigrationDialect")
#: What ``sa.create_engine`` takes for it; the connection comes from ``creator``.
MIGRATION_URL = "postgresql+syncd://"
