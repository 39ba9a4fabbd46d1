"""The import rules of docs/architecture.md.

Imports point one way: {errors, values, plain_files, shipped_data, languages} ← domain ←
{config, feeds, store, web} ← sync ← sources ← views ← {api, console, notify} ← service ← cli.
A package is used through its face: the names that its ``__init__`` imports or defines, and the modules that its docstring
names. No two modules and no two packages import each other in a circle."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "syncd"
RANK = {
    "errors": 0,
    "values": 0,
    "plain_files": 0,
    "shipped_data": 0,
    "languages": 0,
    "domain": 1,
    "config": 2,
    "logs": 2,
    "feeds": 2,
    "store": 2,
    "web": 2,
    "sync": 3,
    "sources": 4,
    "views": 5,
    "api": 6,
    "console": 6,
    "notify": 6,
    "service": 7,
    "cli": 8,
    "__main__": 9,
}
#: Library → the only places that may import it.
HOMES = {
    "sqlmodel": ("store",),
    "sqlalchemy": ("store",),
    "alembic": ("store",),
    "psycopg": ("store/postgres",),
    "sqlite3": ("store/sqlite", "sync/run/stage"),
    "sqlalchemy.dialects": ("store/sqlite", "store/postgres"),
    "aiohttp": ("api", "console", "notify", "service", "sources", "web"),
    "aiosmtplib": ("notify",),
    "watchfiles": ("service",),
    "prometheus_client": ("web", "service"),
    "typer": ("cli",),
    "lxml": ("feeds",),
    "ijson": ("feeds",),
}
#: The modules that would make the domain impure.
IMPURE = set("os time socket sqlite3 asyncio threading logging structlog random subprocess".split())


def dotted(path: Path) -> str:
    """Return the name by which ``path`` is imported: syncd/feeds/text.py → syncd.feeds.text."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {dotted(path): path for path in sorted(ROOT.rglob("*.py"))}
PACKAGES = {name for name, path in FILES.items() if path.name == "__init__.py"}


def package_of(name: str) -> str:
    """Return the innermost package of the module ``name``; a package is its own."""
    return name if name in PACKAGES else name.rpartition(".")[0]


@cache
def tree_of(name: str) -> ast.Module:
    """Return the syntax tree of the module ``name``."""
    return ast.parse(FILES[name].read_bytes())


@cache
def imports(name: str) -> list[tuple[str, str]]:
    """Return (module, name) for each import of the module ``name``; the name is empty for ``import module``."""
    pairs = []
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.Import):
            pairs += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import"
            pairs += [(node.module or "", alias.name) for alias in node.names]
    return pairs


def imported_module(module: str, name: str) -> str:
    """Return the module or package that ``from module import name`` loads."""
    full = f"{module}.{name}"
    return full if full in FILES else module


def home_of(name: str) -> str:
    """Return the part of the program that ``name`` belongs to: syncd.store.jobs → store."""
    return name.removeprefix("syncd").lstrip(".").partition(".")[0]


MODULES = [name for name in FILES if name != "syncd"]


def wrong_ways(name: str) -> Iterator[str]:
    """Yield the imports of the module ``name`` that do not point down, and those that have another home."""
    home = home_of(name)
    if home not in RANK:
        yield f"{name}: a package that the architecture does not know"
        return
    inside = str(FILES[name].relative_to(ROOT))
    for module, what in imports(name):
        other = home_of(imported_module(module, what)) if module.partition(".")[0] == "syncd" else ""
        if other in RANK and other != home:
            shared = other == "logs" and RANK[home] >= RANK["logs"]
            if not (RANK[other] < RANK[home] or shared):
                yield f"{inside} imports {module}.{what}"
        for library, homes in HOMES.items():
            if f"{module}.".startswith(f"{library}.") and not inside.startswith(homes):
                yield f"{inside} imports {module}"
        if home == "domain" and module.partition(".")[0] in IMPURE:
            yield f"{inside} imports {module}: the domain is pure"


def test_a_module_imports_only_what_lies_below_it():
    assert [fault for name in MODULES for fault in wrong_ways(name)] == []


@cache
def offered_by(package: str) -> set[str]:
    """Return the names that a package offers: those that it imports or defines, and the modules that its docstring names."""
    tree = tree_of(package)
    modules = re.findall("``([a-z_]+)``", ast.get_docstring(tree) or "")
    names = {name.id for node in tree.body for name in ast.walk(node) if isinstance(name, ast.Name)}
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return {what for _, what in imports(package)} | {*modules} | names | defined


def inner_imports(name: str) -> Iterator[str]:
    """Yield the imports of the module ``name`` that pass by the face of a package."""
    home = package_of(name)
    for module, what in imports(name):
        if not module.startswith("syncd."):
            continue
        package = package_of(module)
        if home == package or home.startswith(f"{package}."):
            continue
        if f"{module}.{what}" in PACKAGES:  # ``from syncd.feeds import readers`` names a package
            continue
        if module != package:
            if module.removeprefix(f"{package}.") not in offered_by(package):
                yield f"{name} imports {module}, which is inside {package}"
        elif what not in offered_by(package):
            yield f"{name} imports {what}, which {package} does not offer"


def test_a_package_is_used_through_its_face():
    assert [fault for name in MODULES for fault in inner_imports(name)] == []


def test_a_folder_has_at_most_20_modules():
    """More than that nobody keeps in view. The face of a package is none of its modules."""
    counted = Counter(
        path.parent.relative_to(ROOT.parent) for path in FILES.values() if path.name != "__init__.py"
    )
    assert {str(folder): modules for folder, modules in counted.items() if modules > 20} == {}


def subscripts(module: str) -> Iterator[str]:
    """Yield each ``row[3]`` of the module: a name for a row, or an entry of a list of rows, with a constant place."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Subscript) and is_place(node.slice):
            name = ast.unparse(node.value)
            of_row = (
                name in ("row", "r", "record") or name.startswith("rows[") or name.endswith(".fetchone()")
            )
            if of_row:
                yield f"{module}:{node.lineno}: {ast.unparse(node)}"


def is_place(index: ast.expr) -> bool:
    """Return whether ``index`` is a whole number that is written out."""
    plain = index.operand if isinstance(index, ast.UnaryOp) else index
    return isinstance(plain, ast.Constant) and type(plain.value) is int


def test_a_row_is_not_read_by_places():
    assert [place for name in FILES for place in subscripts(name)] == []


@pytest.mark.parametrize("name", ["plusCommission", "autoRefresh", "applicationUrl"])
def test_few_modules_name_a_field(name):
    """The others use the table of fields, ``syncd.domain.FIELDS``."""
    snake = re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", name)
    texts = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in FILES.values()}
    migrations = Path("store", "migrations.py")
    named = [path for path, text in texts.items() if name in text]
    in_python = [path for path, text in texts.items() if snake in text and path != migrations]
    assert len(named) <= 6, named
    assert len(in_python) <= 8, in_python


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the members of a circle in ``graph``, or an empty list."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_no_two_modules_import_each_other():
    graph = {
        name: {imported_module(module, what) for module, what in imports(name)} - {name} for name in FILES
    }
    assert circle(graph) == []


def test_no_two_packages_import_each_other():
    """A package and one that lies within it count as one here."""
    graph: dict[str, set[str]] = {package: set() for package in PACKAGES}
    for name in FILES:
        home = package_of(name)
        for module, what in imports(name):
            if module.partition(".")[0] == "syncd":
                other = package_of(imported_module(module, what))
                if not f"{other}.".startswith(f"{home}.") and not f"{home}.".startswith(f"{other}."):
                    graph[home].add(other)
    assert circle(graph) == []


# -- SQL is text only where a language of tables has no words for it --------------------------------------------

#: Where SQL may stand as text: parts of one database, and the scratch files of a run.
SQL_HOMES = ("store/sqlite/", "store/postgres/", "sync/run/stage/")
STATEMENT = re.compile(
    r"\bselect\b.*\bfrom\b|\binsert\s+(or\s+\w+\s+)?into\b|\bupdate\s+\w+\s+set\b|\bdelete\s+from\b"
    r"|\b(create|drop|alter)\s+(virtual\s+|unique\s+|temp\s+)*(table|index|trigger|view)\b"
    r"|^\s*(?-i:PRAGMA|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|ATTACH|VACUUM|ANALYZE|REINDEX)\b",
    re.IGNORECASE | re.DOTALL,
)


def texts_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and text of each string but docstrings, with a name in the place of each value of an f-string."""
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(value) for value in node.values}
            parts = [part.value if isinstance(part, ast.Constant) else "name" for part in node.values]
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


def test_sql_is_written_with_tables():
    places = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for name, path in FILES.items()
        if not str(path.relative_to(ROOT)).startswith(SQL_HOMES)
        for line, text in texts_in(tree_of(name))
        if STATEMENT.search(text)
    ]
    assert places == []
