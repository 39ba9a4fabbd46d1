"""Locations as people write them: "City", "City, PC" or "City PC" (docs/specification.md 4.2; docs/api.md "Locations"). The
store knows whether a place exists and how it is spelled."""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from syncd.domain.job import Place
from syncd.domain.text import fold

#: Province code → its names: English, French, then abbreviations of older days, compared by ``_province_key``.
PROVINCES: Mapping[str, tuple[str, ...]] = {
    "AB": ("Alberta", "Alta."),
    "BC": ("British Columbia", "Colombie-Britannique", "C.-B."),
    "MB": ("Manitoba", "Man."),
    "NB": ("New Brunswick", "Nouveau-Brunswick"),
    "NL": (
        *("Newfoundland and Labrador", "Terre-Neuve-et-Labrador", "Newfoundland", "Terre-Neuve", "Labrador"),
        *("T.-N.-L.", "NF", "Nfld.", "NFL"),
    ),
    "NS": ("Nova Scotia", "Nouvelle-Écosse", "N.-É."),
    "NT": (
        *("Northwest Territories", "Territoires du Nord-Ouest", "Territories of the Northwest"),
        *("N.W.T.", "T.N.-O."),
    ),
    "NU": ("Nunavut", "Nvt."),
    "ON": ("Ontario", "Ont."),
    "PE": ("Prince Edward Island", "Île-du-Prince-Édouard", "P.E.I.", "Î.-P.-É."),
    "QC": ("Quebec", "Que.", "PQ"),
    "SK": ("Saskatchewan", "Sask."),
    "YT": ("Yukon", "Yukon Territory", "Territoire du Yukon", "YK"),
}

MAX_PLACE_DESCRIPTION = 300
MAX_PLACE_NAME = 256
#: One place has exclamation marks: Saint-Louis-du-Ha! Ha!
_PUNCTUATION = frozenset(".'!-()/ ")
#: Apostrophes and hyphens as word processors set them.
_TYPED = str.maketrans("’‘‐‑–", "''---")
_PLAIN_CITY = re.compile(r"[A-Za-z][A-Za-z .'\-]*")
_SAINTS = {"st": "saint", "ste": "sainte", "sts": "saints", "stes": "saintes"}
_LOOSE = str.maketrans({"-": " ", ".": " ", "/": " ", "(": " ", ")": " ", "'": None, "!": None})
#: Names that are used for a shipped place but are not its name: (key, province) → key.
ALIASES = {
    ("quebec city", "QC"): "quebec",
    ("ville de quebec", "QC"): "quebec",
    ("ville de montreal", "QC"): "montreal",
    ("sudbury", "ON"): "greater sudbury",
    ("grand sudbury", "ON"): "greater sudbury",
    ("saint jean", "NB"): "saint john",
    ("saint jean", "NL"): "saint johns",
    ("saint john", "NL"): "saint johns",
}


@lru_cache(maxsize=16384)
def place_key(name: str) -> str:
    """Return ``name`` as it is compared: "St. Jérôme", "Saint-Jérôme" and "ST JEROME" are one."""
    return " ".join(_SAINTS.get(word, word) for word in place_words(name))


def place_words(name: str) -> list[str]:
    """Return the words of ``name``, folded, without punctuation."""
    return fold(name).translate(_LOOSE).split()


def place_aliases(key: str, province: str | None) -> list[tuple[str, str]]:
    """Return (key, province) of the places that have ``key`` as another name; without a province only if there is one."""
    places = [(name, at) for (alias, at), name in ALIASES.items() if alias == key and province in (None, at)]
    return places if len(places) == 1 else []


def _province_key(name: str) -> str:
    return "".join(c for c in fold(name).replace("&", "and") if c.isalnum())


_CODES = {_province_key(name): code for code, names in PROVINCES.items() for name in (code, *names)}


def province_code(name: str) -> str | None:
    """Return the code of the province that ``name`` is a code, a name or an abbreviation of, or None."""
    return _CODES.get(_province_key(name))


def split_code(text: str) -> tuple[str, str]:
    """Return the city and the code of a text that ends in a province's code in capitals, without a comma: "Toronto ON",
    "Toronto - ON". Else return the text and "". (No shipped place has a name that ends so.)"""
    city, before, code = text[:-2].rstrip(" -/"), text[-3:-2], text[-2:]
    ends = code in PROVINCES and before in (" ", "-", "/") and "," not in city and any(map(str.isalpha, city))
    return (city, code) if ends else (text, "")


def parse_place(text: str) -> tuple[Place, list[tuple[str, str]]]:
    """Return the place that ``text`` names, without surrounding and repeated white space, and its faults as (code, detail):
    ``too_long`` and ``invalid_characters`` of the city, ``unknown_province``."""
    city, comma, suffix = text.partition(",")
    city, suffix = " ".join(city.translate(_TYPED).split()), suffix.strip()
    if not comma:
        city, suffix = split_code(city)
    province = province_code(suffix)
    faults = _faults(city)
    if comma and province is None:
        detail = f"{suffix[:60]!r} is not a Canadian province or territory; use one of {' '.join(PROVINCES)}"
        faults.append(("unknown_province", detail))
    return Place(city, province), faults


def _faults(city: str) -> list[tuple[str, str]]:
    if len(city) > MAX_PLACE_NAME:
        return [("too_long", f"the city has {len(city)} characters; at most {MAX_PLACE_NAME} are allowed")]
    if _PLAIN_CITY.fullmatch(city):
        return []
    odd = (c for c in city if c not in _PUNCTUATION and unicodedata.category(c)[0] not in "LM")
    if wrong := next((c for c in odd if not "0" <= c <= "9"), None):
        return [("invalid_characters", f"a city's name cannot contain {wrong!r}")]
    if not any(c.isalpha() for c in city):
        return [("invalid_characters", "a city's name needs at least one letter")]
    return []
