"""Imports point one way: errors ← domain ← {config, feeds, store, web} ← sync ← {api, console} ← service ← cli."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "syncd"
RANK = {
    "errors": 0,
    "logs": 1,
    "domain": 1,
    "config": 2,
    "feeds": 2,
    "store": 2,
    "web": 2,
    "sync": 3,
    "api": 4,
    "console": 4,
    "service": 5,
    "cli": 6,
    "__main__": 7,
}
#: Library → the only places that may import it.
HOMES = {
    "sqlmodel": ("store",),
    "sqlalchemy": ("store",),
    "alembic": ("store",),
    "aiohttp": ("web", "api", "console", "service", "sync/remote"),
    "watchfiles": ("service",),
    "prometheus_client": ("web", "service"),
    "typer": ("cli",),
    "lxml": ("feeds",),
    "ijson": ("feeds",),
}
#: What would make the domain impure.
IMPURE = {
    "os",
    "time",
    "socket",
    "sqlite3",
    "asyncio",
    "threading",
    "logging",
    "structlog",
    "random",
    "subprocess",
}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def package(dotted: str) -> str | None:
    """syncd.store.jobs → store; syncd.__version__ → None."""
    parts = dotted.split(".")
    return parts[1] if parts[0] == "syncd" and len(parts) > 1 and parts[1] in RANK else None


MODULES = sorted(p for p in ROOT.rglob("*.py") if p.parent != ROOT or p.name != "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_imports_only_what_lies_below_it(path: Path) -> None:
    inside = str(path.relative_to(ROOT))
    home = inside.split("/", maxsplit=1)[0].removesuffix(".py")
    assert home in RANK, f"{inside}: a package that the architecture does not know"
    for name in imports(path):
        other = package(name)
        if other is not None and other != home:
            assert RANK[other] < RANK[home], f"{inside} imports {name}"
        top = name.split(".")[0]
        if top in HOMES:
            assert inside.startswith(HOMES[top]), f"{inside} imports {name}"
        if home == "domain":
            assert top not in IMPURE, f"{inside} imports {name}: the domain is pure"
