"""Every citation leads to a file and a heading that exist.

Code, tests and documents cite a rule by document and section: ``docs/specification.md 2.6`` or ``docs/api.md "Statuses"``.
Several sections are joined by commas, "and" or "to". Documents also link to each other, with or without an anchor."""

import re
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUFFIXES = {".py", ".md", ".toml", ".j2", ".service", ".socket", ".yaml", ".yml"}
#: Third-party texts, and the release notes, which describe past versions.
NOT_OURS = ("syncd/api/viewer/", "feeds/samples/", "tests/feeds/mapping/presets/golden/", "CHANGELOG.md")
_ITEM = r'(?:\d+(?:\.\d+)*|"[^"]+")'
_CITATION = re.compile(rf"docs/([\w-]+\.md)`{{0,2}}((?:(?:,|, and| and| to)? {_ITEM})*)")
_LINE_BREAK = re.compile(r"\s*\n\s*(?:#:?\s)?\s*")
_HEADING = re.compile(r"^#+ (.+)$", re.M)
_FENCE = re.compile(r"^```.*?^```$", re.S | re.M)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE_PATH = re.compile(r"\b(?:syncd|tests|bench)/[\w/]+\.py\b")
#: Citations of texts that are not in the repository, or of a section without its document.
_LOST = re.compile(
    r"\b(?:sync|feed|API) contract\b|\bthe contract\b|\([Ss]pecification\b|\b[Ss]pecification,? (?:sections? )?\d"
    r"|\b[Ss]ections? \d|\(operations, \"| \([2-9]\.\d(?:\.\d)?\)"
)
#: Standards have sections too.
_STANDARD = re.compile(r"(?:RFC \d+|XML 1\.0|XPath 1\.0)[^()]{0,25}$")


def files() -> list[Path]:
    """The texts of the repository, as Git lists them; all files where there is no Git."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.splitlines() or [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")]
    kept = (name for name in names if not name.startswith((*NOT_OURS, ".venv")))
    return [path for name in kept if (path := ROOT / name).suffix in SUFFIXES and path.is_file()]


FILES = files()
DOCUMENTS = [path for path in FILES if path.suffix == ".md"]
HERE = Path(__file__)


@cache
def headings(document: Path) -> tuple[str, ...]:
    text = _FENCE.sub("", document.read_text(encoding="utf-8"))
    return tuple(found.replace("`", "") for found in _HEADING.findall(text))


@cache
def anchors(document: Path) -> frozenset[str]:
    """The anchors that a viewer of Markdown makes of the headings."""
    found: list[str] = []
    for heading in headings(document):
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        repeated = sum(re.sub(r"-\d+$", "", other) == anchor for other in found)
        found.append(f"{anchor}-{repeated}" if repeated else anchor)
    return frozenset(found)


def numbers(document: Path) -> set[str]:
    return {
        found[1] for heading in headings(document) if (found := re.match(r"(\d+(?:\.\d+)*)\.? ", heading))
    }


def faults(text: str) -> list[str]:
    """What is wrong with the citations in ``text``."""
    found = []
    for name, items in _CITATION.findall(_LINE_BREAK.sub(" ", text)):
        document = ROOT / "docs" / name
        if not document.is_file():
            found.append(f"there is no docs/{name}")
            continue
        for item in re.findall(_ITEM, items):
            known = headings(document) if item.startswith('"') else numbers(document)
            if item.strip('"') not in known:
                found.append(f"docs/{name} has no section {item}")
    return found


def lost(text: str) -> list[str]:
    """Citations that lead nowhere a reader could look."""
    flat = _LINE_BREAK.sub(" ", text)
    found = (place for place in _LOST.finditer(flat) if not _STANDARD.search(flat[: place.start()][-40:]))
    return [flat[max(0, place.start() - 30) : place.end() + 10] for place in found]


def link_faults(document: Path) -> list[str]:
    found = []
    for target in _LINK.findall(_FENCE.sub("", document.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        other = (document.parent / name).resolve() if name else document
        if not other.exists():
            found.append(f"{target}: there is no such file")
        elif anchor and anchor not in anchors(other):
            found.append(f"{target}: there is no such heading")
    return found


@pytest.mark.parametrize(("text", "fault"), [
    ("(docs/specification.md 2.6)", None),
    ("(docs/specification.md 2.7, 2.8 and\n    4.7)", None),
    ("#: Seconds (docs/specification.md\n#: 2.1 to 2.8; docs/api.md \"Statuses\" and \"Dates\").", None),
    ("(docs/specification.md 12)", "docs/specification.md has no section 12"),
    ('(docs/api.md "The moon")', 'docs/api.md has no section "The moon"'),
    ('(docs/api.md "Statuses",\n"The moon")', 'docs/api.md has no section "The moon"'),
    ("(docs/moon.md 1)", "there is no docs/moon.md"),
])  # fmt: skip
def test_a_citation_is_found_and_checked(text, fault):
    assert faults(text) == ([] if fault is None else [fault])


@pytest.mark.parametrize(("text", "is_lost"), [
    ("a batch (sync contract)", True),
    ("as the contract has it", True),
    ("a header (specification, section 2.7)", True),
    ("what section\n    2.6 allows", True),
    ("a whole Job (2.1)", True),
    ("(RFC 9110, sections 8.8.3 and 13)", False),
    ("in the order of docs/specification.md 2.1", False),
])  # fmt: skip
def test_a_citation_without_its_document_is_found(text, is_lost):
    assert bool(lost(text)) is is_lost


def by_file(check: Callable[[Path], list[str]], paths: list[Path]) -> dict[str, list[str]]:
    """File → what ``check`` finds wrong with it; files without a fault are left out."""
    return {str(path.relative_to(ROOT)): found for path in paths if (found := check(path))}


def test_every_citation_leads_to_a_section():
    cited = [path for path in FILES if path != HERE]
    assert by_file(lambda path: faults(path.read_text(encoding="utf-8")), cited) == {}


def test_no_citation_is_without_its_document():
    code = [path for path in FILES if path.suffix in (".py", ".j2") and path != HERE]
    assert by_file(lambda path: lost(path.read_text(encoding="utf-8")), code) == {}


def test_every_link_leads_to_a_file_and_a_heading():
    assert by_file(link_faults, DOCUMENTS) == {}


def test_every_module_that_a_document_names_exists():
    def missing(document: Path) -> list[str]:
        named = set(_CODE_PATH.findall(document.read_text(encoding="utf-8")))
        return [name for name in sorted(named) if not (ROOT / name).is_file()]

    assert by_file(missing, DOCUMENTS) == {}
