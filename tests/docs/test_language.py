"""Plain English: words and names that code and documents do not use (docs/glossary.md has the words that they use)."""

from __future__ import annotations

import re
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

#: Words in any case, names as they are; also between the underscores of a longer name.
FOUND = re.compile(rf"(?<![A-Za-z])(?:(?i:{'|'.join(WORDS)})|{'|'.join(NAMES)})(?![A-Za-z])")


def uses(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return [f"line {text.count(chr(10), 0, found.start()) + 1}: {found[0]}" for found in FOUND.finditer(text)]


def checked() -> list[Path]:
    """Return the texts of the project: code, tests, documents, examples, and what runs and releases them."""
    return sorted({*FILES, ROOT / "CHANGELOG.md", *(ROOT / ".ci").iterdir()} - {HERE})


def test_no_text_uses_a_word_or_a_name_that_is_not_plain() -> None:
    found = {str(path.relative_to(ROOT)): words for path in checked() if (words := uses(path))}
    assert found == {}, f"{sum(map(len, found.values()))} uses in {len(found)} files"
