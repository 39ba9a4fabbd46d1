"""How SQLite writes statements."""

from __future__ import annotations

from typing import Any

from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.ext.compiler import compiles

from syncd.store.statements import ConstantsInText, Statements, TextContains


class _Compiler(ConstantsInText, SQLiteCompiler):
    pass


class _Dialect(SQLiteDialect_pysqlite):
    supports_statement_cache = True
    statement_compiler = _Compiler
    supports_native_boolean = True  # "WHERE active", as the partial indexes have it, not "WHERE active = 1"


def statements() -> Statements:
    """Return the statements of a store on SQLite."""
    return Statements(_Dialect(paramstyle="qmark"), insert)


@compiles(TextContains, "sqlite")
def _contains(element: TextContains, compiler: SQLiteCompiler, **options: Any) -> str:
    # not LIKE: its patterns end at a NUL and may not be long
    return f"instr({compiler.process(element.clauses, **options)})"
