"""Texts that name several places."""

import re
from functools import lru_cache

from syncd.domain import place_key, province_code
from syncd.feeds.mapping.transforms.places import CANADA_WORD, MAX_PLACE, is_in, is_nowhere, read_place

#: The most characters of a list of places.
_MAX_LIST = 1_000
#: Provinces of a place on a border: "Ottawa-Gatineau, ON/QC".
_BETWEEN_PROVINCES = re.compile(r"\s*[/&-]\s*|\s+(?:and|et)\s+")
#: Counties with the names of two places.
_COUNTIES = frozenset({"prescott and russell", "leeds and grenville", "lennox and addington"})
#: Marks that no name of a place has in it, and line ends, which may be within a text of one place, too.
_BETWEEN_PLACES, _BETWEEN_LINES = re.compile("[;|\u2022]"), re.compile("[\n\r]+")
_BETWEEN_CITIES = re.compile(r"\s*[/&]\s*|\s+(?:or|ou|and|et)\s+", re.IGNORECASE)
_SLASH = re.compile("/")


def each_place(text: str) -> tuple[str, ...]:
    """Return a text for each place of a list: "Toronto, ON; Ottawa", "Toronto, ON / Ottawa, ON", "Toronto, ON, Calgary, AB". If a
    part of it is not certainly a place, return ``text`` alone: "Windsor | NS" is one place."""
    return _places_listed(text) if len(text) <= MAX_PLACE else _list_of_places(text[: _MAX_LIST + 1])


def _list_of_places(text: str) -> tuple[str, ...]:
    if len(text) > _MAX_LIST:
        return (text,)
    spaced = " ".join(filter(None, text.split(" ")))
    for between, is_place in (
        (_BETWEEN_PLACES, _is_place),
        (_BETWEEN_LINES, _has_region),
        (_BETWEEN_CITIES, _has_region),
        (_SLASH, lambda text: "," not in text and _is_place(text)),
    ):
        texts = [" ".join(part.split()) for part in between.split(spaced)]
        parts = tuple(
            text
            for text in texts  # "Remote" beside them is a way to work
            if text and (not is_nowhere(text) or province_code(text) or CANADA_WORD.search(text))
        )
        if parts and len(texts) > 1 and all(map(is_place, parts)):
            return parts
    if both := _across_a_border(text):
        return both
    words = [word.strip() for word in text.split(",")]
    cities, provinces = words[::2], words[1::2]  # "Toronto, ON, Calgary, AB"
    if 2 <= len(cities) == len(provinces) and all(map(is_in, cities, map(province_code, provinces))):
        return tuple(map("{}, {}".format, cities, provinces))
    # "Toronto, Ottawa, Kingston, ON"; two may be a part of a city and the city
    code = province_code(words[-1])
    if len(words) > 3 and all(is_in(name, code) for name in words[:-1]):
        return tuple(f"{name}, {code}" for name in words[:-1])
    return (text,)


def each_known(text: str) -> tuple[str, ...]:
    """Return the cities of "Calgary, Edmonton, Red Deer", for a record that says Canada elsewhere; else ``text`` alone."""
    names = tuple(name.strip() for name in text.split(","))
    return names if len(names) > 2 and all(map(_is_place, names)) else (text,)


def _across_a_border(text: str) -> tuple[str, ...]:
    """Return the places of "Ottawa-Gatineau, ON/QC", each with the province that has it; none if that is not the form."""
    cities, comma, provinces = text.rpartition(",")
    codes = [province_code(name) for name in _BETWEEN_PROVINCES.split(provinces.strip())] if comma else []
    if len(codes) < 2 or None in codes or province_code(provinces):
        return ()
    whole = next((code for code in codes if is_in(cities, code)), None)
    names = [cities] if whole else _BETWEEN_PROVINCES.split(cities)
    homes = [next((code for code in codes if is_in(name, code)), None) for name in names]
    return (
        ()
        if None in homes
        else tuple(f"{name.strip()}, {home}" for name, home in zip(names, homes, strict=True))
    )


_places_listed = lru_cache(maxsize=4096)(_list_of_places)


def _is_place(text: str) -> bool:
    """Return whether a text has a region, or is a known city and not itself the name of a province."""
    place = read_place(text)
    return _has_region(text) or (place.bare and place.known is not None and province_code(text) is None)


def _has_region(text: str) -> bool:
    """Return whether a text has a province after a city, or another country."""
    place = read_place(text)
    region = place.text.rpartition(",")[2]
    return not place.bare and not place.nowhere and (province_code(region) is not None or place.abroad)


@lru_cache(maxsize=4096)
def each_city(text: str) -> tuple[str, ...]:
    """Return a text for each city of "Toronto or Ottawa, ON" and "Calgary/Edmonton, AB" if all are known places of that
    province, else ``text`` alone."""
    if len(text) > MAX_PLACE or not _BETWEEN_CITIES.search(text):
        return (text,)
    cities, comma, province = read_place(text).text.rpartition(",")
    code = province_code(province) if comma else None
    if code is None or place_key(cities) in _COUNTIES:
        return (text,)
    # commas alone do not make a list: "Montréal, Québec, QC"
    names = [name.strip() for part in _BETWEEN_CITIES.split(cities) for name in part.split(",")]
    if not all(is_in(name, code) for name in names):
        return (text,)
    return tuple(f"{name}, {province.strip()}" for name in names)
