"""The code uses no private member of aiohttp, and the attributes of its connections do not get in the way of aiohttp's own."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

from syncd.web.server import Connection

ROOT = Path(__file__).parents[2]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def of_others(path: Path) -> Iterator[str]:
    """Yield the private members of other objects that a module uses which imports aiohttp, and of aiohttp's modules."""
    tree = ast.parse(path.read_bytes())
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    from_aiohttp = [node for node in imported if (node.module or "").partition(".")[0] == "aiohttp"]
    if from_aiohttp:
        yield from (alias.name for node in from_aiohttp for alias in node.names if is_private(alias.name))
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute) or ast.unparse(node.value) in ("self", "cls"):
                continue
            if is_private(node.attr):
                yield ast.unparse(node)


def test_the_code_uses_no_private_member_of_aiohttp():
    assert {p.name: names for p in (ROOT / "syncd").rglob("*.py") if (names := [*of_others(p)])} == {}


def test_a_connection_uses_private_members_of_its_own_alone():
    own = {name for name in vars(Connection) if is_private(name)}
    tree = ast.parse(inspect.getsource(Connection))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and is_private(node.attr)}
    assert used <= own
    assert own & {name for base in Connection.__mro__[1:] for name in dir(base)} == set()
