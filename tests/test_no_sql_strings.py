"""SQL is written with the store's tables. As text it stands only where a language of tables has no words for it: in
``syncd/store/sqlite``, ``syncd/store/postgres``, in the migrations, and for the scratch files of a run."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent / "syncd"
#: Where SQL may stand as text.
HOMES = ("store/sqlite/", "store/postgres/", "store/migrations/", "sync/run/stage/")
STATEMENT = re.compile(
    r"\bselect\b.*\bfrom\b|\binsert\s+(or\s+\w+\s+)?into\b|\bupdate\s+\w+\s+set\b|\bdelete\s+from\b"
    r"|\b(create|drop|alter)\s+(virtual\s+|unique\s+|temp\s+)*(table|index|trigger|view)\b"
    r"|^\s*(?-i:PRAGMA|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|ATTACH|VACUUM|ANALYZE|REINDEX)\b",
    re.IGNORECASE | re.DOTALL,
)
FILES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}


def docstrings(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first.value


def text_of(node: ast.AST) -> str:
    """Return the text of a string, with a name in the place of each value of an f-string."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(value) for value in node.values)
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "name"


def statements(source: str | bytes) -> Iterator[tuple[int, str]]:
    """Yield line and text of each string that is an SQL statement, or has one in it."""
    tree = ast.parse(source)
    skipped = {id(node) for node in docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(value) for value in node.values}
        if isinstance(node, (ast.JoinedStr, ast.Constant)) and id(node) not in skipped:
            text = text_of(node)
            if STATEMENT.search(text):
                yield node.lineno, text


def test_sql_is_written_with_tables() -> None:
    places = [
        f"{name}:{line}: {text}"
        for name, path in FILES.items()
        if not name.startswith(HOMES)
        for line, text in statements(path.read_bytes())
    ]
    assert places == []
