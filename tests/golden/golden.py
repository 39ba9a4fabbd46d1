"""Golden files: expected output under ``data/``, and the masks for what may differ.

``TESTS_GOLDEN=write pytest tests/golden``, in one process, writes the files instead of comparing with them."""

import csv
import difflib
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lxml import etree, html

HERE = Path(__file__).parent
DATA, INPUTS = HERE / "data", HERE / "inputs"
WRITE = os.environ.get("TESTS_GOLDEN") == "write"
MASK = "…"
#: Lines of a difference that a failure shows.
_SHOWN = 60
_WIDTH = 120
#: Members of JSON that hold prose.
PROSE = frozenset({"detail", "reason", "withheld"})
#: A text without the code that it may begin with.
_CODE = re.compile(r"(?<=^)(?![a-z]+_[a-z_]+: ).+|(?<=: ).+", re.DOTALL)
_NAMES = re.compile(r"\S+|[A-Za-z]+(?:, [A-Za-z]+)+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SECONDS = re.compile(r"\b\d+\.\d\d\b")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@contextmanager
def of_version_010() -> Iterator[None]:
    """Within it, what is compared is what the current version makes of an installation of version 0.1.0. Where that is not the
    same as today, a golden file has the differing lines."""
    global _of_010  # noqa: PLW0603
    _of_010 = True
    try:
        yield
    finally:
        _of_010 = False


_of_010 = False


def same(name: str, text: str) -> None:
    """Fail unless ``text`` equals the golden file ``name``, byte for byte."""
    path = DATA / name
    if _of_010:
        today = path.read_bytes().decode()
        path = path.with_name(f"{path.stem}-0.1.0{path.suffix}.diff")
        lines = difflib.unified_diff(today.split("\n"), text.split("\n"), n=0, lineterm="")
        text = "".join(f"{line}\n" for line in lines if not line.startswith(("---", "+++", "@@")))
        if not text and (WRITE or not path.exists()):
            path.unlink(missing_ok=True)
            return
    if WRITE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return
    if not path.exists():
        pytest.fail(f"there is no golden file {path.name}; TESTS_GOLDEN=write writes it")
    wanted = path.read_bytes().decode()
    if wanted != text:
        lines = difflib.unified_diff(wanted.split("\n"), text.split("\n"), f"data/{name}", "now", lineterm="")
        pytest.fail("\n".join([f"{path.name} is not what it was", *list(lines)[:_SHOWN]]), pytrace=False)


def same_json(name: str, value: object) -> None:
    """Fail unless ``value``, written as JSON, equals the golden file ``name``. The order of members counts."""
    same(name, _pretty(value, 0) + "\n")


def _pretty(value: Any, depth: int) -> str:
    """Return JSON in which each object or array that fits on one line, or has no other inside it, is on one line."""
    text = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(text) + depth <= _WIDTH:
        return text
    members = value.values() if isinstance(value, dict) else value
    if not any(isinstance(member, dict | list) for member in members):
        return text
    if isinstance(value, list):
        parts, ends = [_pretty(item, depth + 1) for item in value], "[]"
    else:
        parts = [f"{json.dumps(name)}: {_pretty(item, depth + 1)}" for name, item in value.items()]
        ends = "{}"
    inner = ",\n".join(" " * (depth + 1) + part for part in parts)
    return f"{ends[0]}\n{inner}\n{' ' * depth}{ends[1]}"


def masked(value: Any, names: Iterable[str] = PROSE) -> Any:
    """Return ``value`` with the texts of these members masked. A code at the beginning of a text stays."""
    if isinstance(value, list):
        return [masked(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _masked_member(name, item, names) for name, item in value.items()}


def _masked_member(name: str, value: Any, names: Iterable[str]) -> Any:
    if not isinstance(value, str):
        return masked(value, names)
    if name == "lookupToml":
        return comments_masked(value)
    return _CODE.sub(MASK, value) if name in names else value


def comments_masked(toml: str) -> str:
    """Return TOML with its comments masked."""
    return re.sub("#.*", f"# {MASK}", toml)


def typed(value: object) -> object:
    """Return the types in place of the values. A list becomes the list of the types that it contains."""
    if isinstance(value, dict):
        return {name: typed(item) for name, item in value.items()}
    if isinstance(value, list):
        kinds = [typed(item) for item in value]
        return [kind for number, kind in enumerate(kinds) if kind not in kinds[:number]]
    return type(value).__name__


# -- files of rejected records ---------------------------------------------------------------------------


def rejects_masked(path: Path) -> str:
    """Return the text of a file of rejected records, with the reasons masked, which are prose."""
    text = path.read_bytes().decode("utf-8")
    for why, shown in _MARKS[path.suffix](text):
        assert text.count(shown(why)), (path, why)
        text = text.replace(shown(why), shown(MASK))
    return text


def _cell(value: str) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([value, ""])
    return out.getvalue()


def _of_csv(text: str) -> list[tuple[str, Callable[[str], str]]]:
    rows = list(csv.reader(io.StringIO(text.lstrip("\ufeff"), newline="")))
    assert rows[0][0] == "syncd_errors"
    return [(row[0], _cell) for row in rows[1:]]


def _of_xml(text: str) -> list[tuple[str, Callable[[str], str]]]:
    found = (element.get("syncd_errors") for element in etree.fromstring(text.encode()).iter("*"))
    return [(why, html_escaped) for why in found if why is not None]


def html_escaped(value: str) -> str:
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _of_json(text: str, *, lines: bool = False) -> list[tuple[str, Callable[[str], str]]]:
    found: list[str] = []

    def look(value: dict[str, Any]) -> dict[str, Any]:
        if "syncd_errors" in value:
            found.append(value["syncd_errors"])
        return value

    for line in text.splitlines() if lines else [text]:
        json.loads(line, object_hook=look)
    return [(why, lambda value: json.dumps(value, ensure_ascii=False)) for why in found]


def _of_lines(text: str) -> list[tuple[str, Callable[[str], str]]]:
    return _of_json(text, lines=True)


_MARKS = {".csv": _of_csv, ".xml": _of_xml, ".json": _of_json, ".jsonl": _of_lines}


# -- pages -----------------------------------------------------------------------------------------------


#: The hash of the stylesheet in a policy: a test of reports compares it with the stylesheet.
_HASH = re.compile(r"'sha256-[A-Za-z0-9+/=]+'")


#: Elements that are on a line of their own, with all that is in them.
_ROWS = frozenset({"tr", "li", "summary", "p", "dt", "dd"})


def page_masked(text: str) -> tuple[str, str]:
    """Return the structure of a page, its head, which all pages share but for the title, and the rest: a line for each tag, or
    for a row of a table or a list, with its attributes. Codes, names and values stay; of prose only the numbers stay."""
    root: Any = html.document_fromstring(text)
    head, title = root.find("head"), root.find("head/title")
    own = _lines(title, 0)
    head.remove(title)
    return "".join([f"{dict(root.attrib)}\n", *_lines(head, 0)]), "".join(
        [*own, *_lines(root.find("body"), 0)]
    )


def _lines(element: Any, depth: int) -> list[str]:
    attributes = "".join(f' {name}="{_attribute(name, value)}"' for name, value in element.attrib.items())
    found = [f"{' ' * depth}<{element.tag}{attributes}>{_shown(element, element.text)}\n"]
    for child in element:
        found += _lines(child, depth + 1)
        if child.tail and child.tail.strip():
            found.append(f"{' ' * (depth + 1)}{_shown(element, child.tail)}\n")
    if element.tag not in _ROWS:
        return found
    return [f"{' ' * depth}{' '.join(line.strip() for line in found)}\n"]


def _attribute(name: str, value: str) -> str:
    return MASK if name in ("data-label", "aria-label", "title") else _HASH.sub(f"'sha256-{MASK}'", value)


def _shown(element: Any, text: str | None) -> str:
    text = (text or "").strip()
    if not text or not _WORD.search(text):
        return text
    if _NAMES.fullmatch(text) and element.tag in ("td", "dd"):
        return text
    if element.tag in ("style", "script") or (element.tag in ("td", "span") and " " in text):
        return MASK
    if element.tag == "pre":
        return comments_masked(text)
    if element.tag in ("td", "code", "b") or element.get("class") == "badge":
        return text
    numbers = [] if element.tag == "dd" and _SECONDS.search(text) else _NUMBER.findall(text)
    return " ".join([MASK, *numbers])
