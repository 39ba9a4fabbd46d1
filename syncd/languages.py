"""The languages of texts for partners. The texts in the code are English; ``locale/NAME.po`` has those of another language, which
gettext reads as it is: to add a language, add its file (docs/decisions.md "A catalogue of texts is read as it is written")."""

import gettext
import re
import struct
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any

DEFAULT = "en"
_CATALOGUES = files("syncd") / "locale"
#: Language → the character between thousands.
_THOUSANDS = {"en": ",", "fr": "\u00a0"}
_LINE = re.compile(r'^(msgid|msgid_plural|msgstr(?:\[[0-9]\])?)?\s*"(.*)"$')
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}


def names() -> tuple[str, ...]:
    return DEFAULT, *sorted(
        path.name.removesuffix(".po") for path in _CATALOGUES.iterdir() if path.name.endswith(".po")
    )


class Language:
    """Call it with an English text and the values of its ``{names}``."""

    def __init__(self, name: str, texts: gettext.NullTranslations) -> None:
        self.name, self._texts, self._thousands = name, texts, _THOUSANDS.get(name, "\u00a0")

    def __call__(self, text: str, **values: Any) -> str:
        return self._texts.gettext(text).format_map(values)

    def count(self, one: str, many: str, number: int, **values: Any) -> str:
        """Return the text for a number of things; ``{number}`` is the number as people write it."""
        return self._texts.ngettext(one, many, number).format_map({"number": self.number(number), **values})

    def number(self, number: int) -> str:
        return f"{number:,}".replace(",", self._thousands)


@cache
def language(name: str) -> Language:
    """Return the language; the default one for a name that is not in ``names``."""
    path = _CATALOGUES / f"{name}.po"
    if name == DEFAULT or name not in names():
        return Language(DEFAULT, gettext.NullTranslations())
    return Language(name, gettext.GNUTranslations(BytesIO(compiled(catalogue(path.read_text("utf-8"))))))


def catalogue(text: str) -> dict[str, str]:
    """Return the texts of a catalogue (``.po``), msgid → msgstr; those of plurals are joined by NUL, as gettext has them."""
    entries = dict[str, str]()
    for block in re.split(r"\n\s*\n", text):
        parts, at = dict[str, str](), ""
        for line in block.splitlines():
            if match := _LINE.match(line.strip()):
                at = match[1] or at
                parts[at] = parts.get(at, "") + re.sub(r'\\[n"\\]', lambda each: _ESCAPES[each[0]], match[2])
        if "msgid" in parts:
            ids = [parts[name] for name in ("msgid", "msgid_plural") if name in parts]
            entries["\0".join(ids)] = "\0".join(
                parts[name] for name in sorted(parts) if name.startswith("msgstr")
            )
    return entries


def compiled(entries: dict[str, str]) -> bytes:
    """Return a catalogue in gettext's own form (``.mo``)."""
    pairs = sorted((key.encode(), value.encode()) for key, value in entries.items() if value)
    start, number = 28 + 16 * len(pairs), len(pairs)
    tables, texts = [b"", b""], b""
    for column in (0, 1):
        for pair in pairs:
            tables[column] += struct.pack("<II", len(pair[column]), start + len(texts))
            texts += pair[column] + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, number, 28, 28 + 8 * number, 0, 0)
    return head + tables[0] + tables[1] + texts
