"""The code uses no private member of aiohttp, and the attributes of its connections do not get in the way of aiohttp's own."""

import ast
from pathlib import Path

from aiohttp import web

from syncd.web.server import Connection

ROOT = Path(__file__).parents[2]
#: The classes of aiohttp that the server is derived from, by their names in the code, and all that it uses.
BASES = {"RequestHandler", "Server", "AppRunner", "BaseRunner"}
CLASSES = (
    web.RequestHandler,
    web.Server,
    web.AppRunner,
    web.BaseSite,
    web.Request,
    web.Application,
)

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def used(path: Path) -> set[str]:
    """Return the private members of aiohttp that a module uses."""
    tree = ast.parse(path.read_bytes())
    if not any(name.startswith("aiohttp") for name in imported(tree)):
        return set()
    known = {
        "_message",
        "_kwargs",
        "_server",
        "_app",
    }  # set where they are made, so that a class does not list them
    known |= {name for base in CLASSES for name in dir(base)}
    found = {name.rpartition(".")[2] for name in imported(tree) if name.startswith("aiohttp")}
    own = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            if BASES & {ast.unparse(base).rpartition(".")[2] for base in node.bases}:
                found |= known & {part.name for part in node.body if isinstance(part, FUNCTION)}
            else:
                own |= {id(part) for part in ast.walk(node) if is_of_self(part)}
        elif isinstance(node, ast.Attribute) and node.attr in known and id(node) not in own:
            found.add(node.attr)
    return {name for name in found if name.startswith("_") and not name.startswith("__")}


def imported(tree: ast.Module) -> set[str]:
    """Return what a module imports, with the module it comes from: ``aiohttp.web_protocol._ErrInfo``."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def is_of_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"


def test_the_code_uses_no_private_member_of_aiohttp() -> None:
    modules = (ROOT / "syncd").rglob("*.py")
    assert {path.name: sorted(names) for path in modules if (names := used(path))} == {}


def test_no_attribute_of_a_connection_is_one_of_aiohttps() -> None:
    assert (
        set(Connection.__slots__) & {name for base in Connection.__mro__[1:] for name in dir(base)} == set()
    )
