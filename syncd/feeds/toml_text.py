"""Values as TOML text, for files that people read and go on writing."""

import json
import re
from collections.abc import Mapping
from textwrap import wrap

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def text(value: str) -> str:
    """Return a basic string. Characters that cannot be seen, or would change the direction of writing, are escaped."""
    quoted = json.dumps(re.sub("[\ud800-\udfff]", "\ufffd", value), ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\U{ord(char):08X}" for char in quoted)


def key(name: str) -> str:
    return name if _BARE.match(name) else text(name)


def value(thing: object) -> str:
    """Return a text, number, boolean, list or (inline) table of these as TOML."""
    if isinstance(thing, str):
        return text(thing)
    if isinstance(thing, bool):
        return "true" if thing else "false"
    if isinstance(thing, Mapping):
        return "{ " + ", ".join(f"{key(name)} = {value(part)}" for name, part in thing.items()) + " }"
    if isinstance(thing, list | tuple):
        return "[" + ", ".join(map(value, thing)) + "]"
    return str(thing)


def comment(words: str) -> list[str]:
    mark = "# "
    return wrap(
        " ".join(words.split()),
        width=100,
        initial_indent=mark,
        subsequent_indent=mark,
        break_long_words=False,
        break_on_hyphens=False,
    )


def shown(thing: object, most: int = 60) -> str:
    """Return a sample value for a comment: quoted, on one line, cut."""
    words = str(thing)
    return text(words[:most]) + (f"… ({len(words)} characters)" if len(words) > most else "")


def plain(thing: object, most: int = 120) -> str:
    """Return the same without quotes, for words of the file inside a comment."""
    words = str(thing)
    return text(words[:most])[1:-1] + ("…" if len(words) > most else "")
