"""Places outside of Canada, known by the region behind the city."""

import re
import tomllib
from importlib.resources import files

from syncd.domain import fold

#: A ZIP code, and a remark behind a dash: "MA 02110", "MA - HQ".
_AFTER_REGION = re.compile(r"\s+\d{5}(?:-\d{4})?\Z|\s+[-–]\s.*\Z", re.DOTALL)
_ZIP = re.compile(r"CA\s+\d{5}(?:-\d{4})?\Z")


def _key(name: str) -> str:
    return "".join(c for c in fold(name) if c.isalnum())


#: The words of ``abroad.toml``.
_WORDS = tomllib.loads(files(__package__).joinpath("abroad.toml").read_text("utf-8"))
_STATE_CODES = frozenset(_WORDS["codes"].split())
_CALIFORNIAN = frozenset(map(_key, _WORDS["californian"].split(",")))
_ABROAD = frozenset(map(_key, f"{_WORDS['states']},{_WORDS['countries']}".split(",")))


def is_abroad(text: str) -> bool:
    """Return whether a text names a state of the USA or another country after the city. "CA" is California only after one of
    its large cities."""
    city, comma, region = text.partition(",")
    if not comma:
        return False
    if region.strip() == "CA":
        return _key(city) in _CALIFORNIAN
    parts = [part.strip() for part in region.rsplit(",", 2)]
    return any(map(_ZIP.match, parts)) or any(map(is_region_abroad, parts))


def is_region_abroad(text: str) -> bool:
    """Return whether a text is the name or the code of a state of the USA, or the name of another country."""
    name = _AFTER_REGION.sub("", text)
    return name in _STATE_CODES or _key(name) in _ABROAD
