"""Plain English: words, clauses and names that code and documents do not use (docs/glossary.md has the words that they
use)."""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.docs.test_citations import FILES, ROOT

#: Words of everyday metaphor and of an older English, each with what is written instead.
WORDS = {
    r"whoever": "who, or the person or program that is meant",
    r"amid": "during, in the middle of",
    r"in good manners": "correctly",
    r"mourn\w*": "log, report",
    r"wears?": "has",
    r"so many": "this many, at most N",
    r"told|tells": "known, reported; says, reports, shows",
    r"made (?:good|anew)": "corrected, rebuilt",
    r"(?<!there )(?:is|are|was|were) no(?! longer| more)(?= \w)": "is not a",
}
#: Names that say nothing, each with the term of the field.
NAMES = {
    r"[Ll]anes?": "FeedQueue",
    r"Judges": "ValidationPool",
    r"Doors": "ConnectionLimit",
    r"[Ll]eftovers": "what is cleaned up",
    r"(?<!100 Mile )House": "Housekeeping",  # but a town's name
    r"Heart": "Heartbeat",
    r"dress": "add_standard_headers",
    r"[Pp]atien(?:ce|tly)|PATIENCE": "retry, timeout",
}
HERE = Path(__file__)
PACKAGE = [path for path in FILES if path.suffix == ".py" and path.is_relative_to(ROOT / "syncd")]

#: Clauses without a noun: "what the index lacks" instead of "the jobs that the index lacks".
HEADLESS = re.compile(r"\bwhat(?:ever)?\b|(?:^|[.:;] )which\b|\b(?:says?|tells?|knows?) which\b", re.I)
#: Clauses without a noun that docstrings and comments of ``syncd/`` have at most, in all.
MAX_HEADLESS_CLAUSES = 40
#: Names of variables and parameters that do not say what they hold.
EMPTY_NAMES = {"found", "given", "asked", "these"}
#: Variables and parameters with such a name that ``syncd/`` has at most, in all.
MAX_EMPTY_NAMES = 60

#: Words in any case, names as they are; also between the underscores of a longer name.
FOUND = re.compile(rf"(?<![A-Za-z])(?:(?i:{'|'.join(WORDS)})|{'|'.join(NAMES)})(?![A-Za-z])")


def uses(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return [f"line {text.count(chr(10), 0, found.start()) + 1}: {found[0]}" for found in FOUND.finditer(text)]


def checked() -> list[Path]:
    """Return the texts of the project: code, tests, documents, examples, and what runs and releases them."""
    return sorted({*FILES, ROOT / "CHANGELOG.md", *(ROOT / ".ci").iterdir()} - {HERE})


def test_no_text_uses_a_word_or_a_name_that_is_not_plain():
    found = {str(path.relative_to(ROOT)): words for path in checked() if (words := uses(path))}
    assert found == {}, f"{sum(map(len, found.values()))} uses in {len(found)} files"


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Return each docstring and comment of a module with the line at which it begins."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if docstring := ast.get_docstring(node):
            yield getattr(node, "lineno", 1), docstring
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#: ")


def headless_clauses(text: str) -> Iterator[str]:
    for line, sentences in prose(text):
        for clause in HEADLESS.finditer(sentences):
            around = sentences[max(0, clause.start() - 30) : clause.end() + 50]
            yield f"{line}: {' '.join(around.split())}"


def empty_names(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name in EMPTY_NAMES:
                yield f"{node.lineno}: {name}"


def test_a_docstring_and_a_comment_are_looked_at():
    text = '"""What it has. It says which."""\ndef f(found):  # a row, which is; which\n    given = found'
    assert [clause.partition(":")[0] for clause in headless_clauses(text)] == ["1", "1", "2"]
    assert sorted(empty_names(text)) == ["2: found", "3: given"]


def in_package(faults: Callable[[str], Iterator[str]]) -> list[str]:
    """Return the faults of each module of ``syncd/``, with their places."""
    return [
        f"{path.relative_to(ROOT)}:{fault}"
        for path in PACKAGE
        for fault in faults(path.read_text(encoding="utf-8"))
    ]


def test_a_sentence_begins_with_its_noun():
    clauses = in_package(headless_clauses)
    assert len(clauses) <= MAX_HEADLESS_CLAUSES, "\n".join(clauses)


def test_a_name_says_what_it_holds():
    names = in_package(empty_names)
    assert len(names) <= MAX_EMPTY_NAMES, "\n".join(names)
