"""docs/architecture.md names files, names and packages that exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
#: Packages without a line of their own in the tree.
SMALL = {
    "syncd/api/openapi", "syncd/feeds/mapping/presets", "syncd/feeds/mapping/transforms",
}  # fmt: skip


def section(heading: str) -> str:
    return TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def questions() -> list[tuple[str, list[str], list[str]]]:
    """(question, files, names) of each line of the table."""
    lines = re.findall(r"^\| (?!where|---)([^|]+) \| ([^|]+) \| ([^|]+) \|$", section("Where is …?"), re.M)
    return [
        (asked, re.findall(r"`([^`]+)`", files), re.findall(r"`([^`]+)`", names))
        for asked, files, names in lines
    ]


@cache
def defined(file: str) -> frozenset[str]:
    """What a module defines, and what its classes do (``Class.member``)."""

    def names(body: list[ast.stmt], prefix: str = "") -> list[str]:
        found: list[str] = []
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.append(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                found += names(node.body, f"{prefix}{node.name}.")
            if isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found += [prefix + target.id for target in targets if isinstance(target, ast.Name)]
        return found

    return frozenset(names(ast.parse((ROOT / file).read_bytes()).body))


def drawn_packages() -> set[str]:
    """The folders in the drawn tree, as paths."""
    found, path = set[str](), list[str]()
    for line in section("The packages").split("```")[1].splitlines():
        if entry := re.match(r"( *)([\w]+)/", line):
            path[len(entry[1]) // 2 :] = [entry[2]]
            found.add("/".join(path))
    return found


def test_there_are_at_least_the_ten_first_questions():
    assert len(questions()) >= 10


@pytest.mark.parametrize(("asked", "files", "names"), questions(), ids=[asked for asked, _, _ in questions()])
def test_a_question_leads_to_at_most_two_files_that_define_the_names(asked, files, names):
    assert 1 <= len(files) <= 2
    assert names
    missing = [file for file in files if not (ROOT / file).is_file()]
    assert not missing, f"{asked}: no such file"
    for file in files:
        assert defined(file) & set(names), f"{asked}: {file} defines none of {names}"
    unknown = [name for name in names if not any(name in defined(file) for file in files)]
    assert not unknown, f"{asked}: not defined in {files}"


def test_the_tree_has_every_package_once():
    real = {str(path.parent.relative_to(ROOT)) for path in (ROOT / "syncd").rglob("__init__.py")}
    inside = {package for package in real if len(package.split("/")) > 3}
    assert drawn_packages() == real - SMALL - inside
