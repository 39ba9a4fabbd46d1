"""The lock files pin all that pyproject.toml asks for, nothing else, with hashes. ``.ci/lock`` renews them."""

import ast
import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RUNTIME = PYPROJECT["project"]["dependencies"]
BUILD = PYPROJECT["build-system"]["requires"]
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
DEV, SOURCES = EXTRAS["dev"], EXTRAS["sources"]
ASKED = {
    "requirements.lock": RUNTIME,
    "requirements-build.lock": BUILD,
    "requirements-dev.lock": [*RUNTIME, *BUILD, *DEV],
    "requirements-sources.lock": [*RUNTIME, *SOURCES],
    "requirements-nightly.lock": [*RUNTIME, *SOURCES, *EXTRAS["nightly"]],
}
NAMES = list(ASKED)


class Pin(NamedTuple):
    """One package of a lock file."""

    version: str
    extras: set[str]
    hashes: list[str]
    via: list[str]  # the packages and files that ask for it


def pins(lock: str) -> dict[str, Pin]:
    """Return the packages of a lock file by name."""
    text = (ROOT / lock).read_text()
    found = {}
    for block in re.split(r"\n(?=\S)", text.strip()):
        named, _, version = block.split(" ", 1)[0].partition("==")
        name, _, extras = named.rstrip("]").partition("[")
        hashes = re.findall(r"^    --hash=(sha256:[0-9a-f]{64})", block, re.M)
        via = re.findall(r"^    # (?:via|  ) *(\S.*)$", block, re.M)
        found[name] = Pin(
            version,
            set(extras.split(",")) - {""},
            hashes,
            [source for source in via if not source.startswith("-c ")],
        )
    return found


def imports(path: Path) -> set[str]:
    """Return the top-level names that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found


def test_pyproject_asks_for_every_package_that_the_code_imports_and_for_no_other():
    used = set().union(*(imports(path) for path in (ROOT / "syncd").rglob("*.py")))
    used -= sys.stdlib_module_names | {"syncd"}  # those of the extra sources are imported by name
    without_import = {"tzdata"}  # data files, found by zoneinfo
    asked = {canonicalize_name(Requirement(text).name) for text in RUNTIME}
    assert {canonicalize_name(name) for name in used} | without_import == asked


@pytest.mark.parametrize("lock", NAMES)
def test_a_lock_has_what_pyproject_asks_for_in_a_version_that_fits_with_hashes(lock):
    locked, text = pins(lock), (ROOT / lock).read_text()
    for asked in map(Requirement, ASKED[lock]):
        assert asked.specifier.contains(locked[canonicalize_name(asked.name)].version), asked
    assert [name for name, pin in locked.items() if not pin.version or not pin.hashes] == []
    assert "://" not in text
    assert "/tmp" not in text


@pytest.mark.parametrize("lock", NAMES)
def test_a_lock_has_nothing_that_nobody_asks_for(lock):
    locked, asked = pins(lock), {canonicalize_name(Requirement(text).name) for text in ASKED[lock]}
    for name, pin in locked.items():
        sources = {re.sub(r"\[.*", "", source) for source in pin.via}
        direct = {source for source in sources if source.startswith("syncd (") or source == "-r build-system"}
        assert bool(direct) == (name in asked), name
        assert sources - direct <= locked.keys(), name
        assert sources, name


def test_a_pin_names_the_extras_that_other_packages_ask_for():
    # Without them, pip (23.2) takes the newest release for "coverage[toml]" beside the pin of "coverage", and refuses it.
    locked = pins("requirements-dev.lock")
    asked: dict[str, set[str]] = {}
    for name in ["syncd", *locked]:
        try:
            requires = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # for another system, or another version of Python
        for requirement in map(Requirement, requires):
            extras = locked[name].extras if name in locked else {"dev"}
            if not requirement.marker or any(
                requirement.marker.evaluate({"extra": extra}) for extra in ["", *extras]
            ):
                asked.setdefault(canonicalize_name(requirement.name), set()).update(requirement.extras)
    assert asked["coverage"] == {"toml"}
    assert {name: extras for name, extras in asked.items() if extras} == {
        name: pin.extras for name, pin in locked.items() if pin.extras
    }


def test_what_only_the_build_needs_can_be_removed_after_it():
    assert pins("requirements.lock").keys() & pins("requirements-build.lock").keys() == set()


@pytest.mark.parametrize(
    ("lock", "whole"),
    [
        ("requirements.lock", "requirements-dev.lock"),
        ("requirements-build.lock", "requirements-dev.lock"),
        ("requirements.lock", "requirements-sources.lock"),
        ("requirements-sources.lock", "requirements-nightly.lock"),
    ],
)
def test_a_lock_includes_a_smaller_one(lock, whole):
    large = pins(whole)
    assert {name: (pin.version, pin.hashes) for name, pin in pins(lock).items()} == {
        name: (large[name].version, large[name].hashes) for name in pins(lock)
    }


def test_what_every_installation_needs_stays_small():
    assert len(pins("requirements.lock")) <= 42
