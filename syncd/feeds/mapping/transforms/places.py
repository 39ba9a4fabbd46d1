"""A location as feeds write it, brought into the form "City, Province". The domain decides whether it exists. Texts that name no
place ("Remote", "Multiple locations"), and words that place a text in Canada, are recognised here."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from syncd.domain import PROVINCES, fold, near_names, place_aliases, place_key, province_code, split_code
from syncd.shipped_data import place_file, places_in

#: The API does not take a longer location.
MAX_PLACE = 400
#: The most dashes of a text with a city in it.
_MAX_DASHES = 8
#: The name of a country has no more characters.
_MAX_COUNTRY = 40
_CANADA = frozenset(("ca", "can", "canada", "cdn"))
_CODES = "|".join(PROVINCES)
#: Codes of provinces that are codes of countries, too (ISO 3166).
_COUNTRIES = {"NL": "the Netherlands", "NU": "Niue", "PE": "Peru", "SK": "Slovakia", "YT": "Mayotte"}
_COUNTRY_TAIL = re.compile(r"[,\s]+(?:canada|can|\(canada\))\.?\Z", re.IGNORECASE)
_CODE_TAIL = re.compile(r"(,\s*[A-Za-z.\u00c0-\u024f' -]+),\s*CA\Z")
#: The country behind a known city, unless that is one of California: "Toronto, CA".
_CA_TAIL = re.compile(r"[,\s]+CA\s*\Z")
#: The province as ISO 3166-2 has it: "Ottawa, CA-ON".
_ISO_TAIL = re.compile(rf",\s*CAN?-({_CODES})\Z", re.IGNORECASE)
_CODE = r"[A-CEGHJ-NPR-TVXY]\d[A-Z][ -]?\d[A-Z]\d"
_POSTAL = re.compile(rf"[,\s]+{_CODE}\Z", re.IGNORECASE)
#: Province by the first letter of a postal code; X has two.
_BY_POSTAL = dict(
    zip("ABCEGHJKLMNPRSTVY", "NL NS PE NB QC QC QC ON ON ON ON ON MB SK AB BC YT".split(), strict=True)
)
_ANY_POSTAL = re.compile(rf"\b{_CODE}\b", re.IGNORECASE)
#: "Canada", or its code beside that of a province: "CA-SK", "SK, CA".
_SAYS_CANADA = re.compile(
    rf"\bcanada\b|\bCAN?\s*[-,/>.]\s*(?:{_CODES})\b|\b(?:{_CODES})\s*,\s*CAN?\s*\Z", re.IGNORECASE
)
#: The country, in a text that names no place beside it.
CANADA_WORD = re.compile(r"\bcan(?:ada)?\b|\bCA\b", re.IGNORECASE)
#: A way to work that stands beside a place.
_MODE = (
    r"(?:fully |100 ?% )?(?:remote|hybrid|hybride|on-?site|in[- ]office|in[- ]person|work from home|wfh|telework"
    r"|télétravail|teletravail|à distance|sur place|en personne|en présentiel)"
)
_MODE_FIRST = re.compile(rf"(?:{_MODE}[ /]+)*{_MODE}\s*(?:[:,/|(]|-\s|\bin\b|\bà\b)\s*", re.IGNORECASE)
_MODE_LAST = re.compile(rf"\s*(?:[,/|]\s*|\s-\s*|\s)\(?{_MODE}\)?\Z|\s*\({_MODE}\)\Z", re.IGNORECASE)
#: A text that has nothing else names no place.
_NOWHERE = re.compile(
    r"(?=.*[a-z])(?:\b(?:fully|100|remote|remotely|hybrid|hybride|work(?:ing)? from home|wfh|home ?based|telework(?:ing)?"
    r"|telecommut(?:e|ing)|teletravail|a distance|virtual|virtuel|online|en ligne|anywhere|n'importe ou|partout"
    r"|nationwide|across|au|in|within|from|dans|le|multiples?|various|several|plusieurs|divers|locations?|places?"
    r"|cities|sites?|lieux|villes|endroits|canada|can|to be determined|tbd|tba|a determiner"
    r"|undefined|null|none|n/a|unspecified|not specified|non specifie|object object)\b|[\W_\d])+\Z"
)
_NO_COUNTRY = re.compile(
    r"(?:[\W_]|\b(?:no country|none|not|non|specified|specifie|unspecified|applicable|unknown|inconnu|tbd|tba"
    r"|to be determined|select|choose|country|pays)\b)+\Z"
)
_CODE_FIRST = re.compile(
    rf"(?:(?:CA|CAN|Canada)\s*[-,/>.]\s*)?({_CODES})\s*[-,/>.]\s*(?=[^\W\d])(.+)\Z", re.DOTALL
)
_NAME_FIRST = re.compile(r"(?:(?:CA|CAN|Canada)\s*[-,/>.]\s*)([^-,/>.]{3,40})\s*[-,/>.]\s*(.+)\Z", re.DOTALL)
#: "British Columbia - Vancouver"; the names of some provinces have dashes of their own.
_PROVINCE_FIRST = re.compile(r"([^,/>]{3,40}?)(?:\s+-\s+|\s*[>/:|]\s*)([^\W\d].*)\Z", re.DOTALL)
#: The first half of a postal code, behind a province.
_HALF_POSTAL = re.compile(r"(.*[^\W\d])[,\s]+[A-CEGHJ-NPR-TVXY]\d[A-Z]\Z", re.DOTALL | re.IGNORECASE)
#: The name of a province after a city, without a comma. Quebec is a city too, and "Northern Ontario" is not a city.
_NAME_LAST = re.compile(
    r"(?!(?:north|south|east|west|central|rural|greater|all|toute)[a-z]*(?:[ -](?:east|west)[a-z]*)?\s+\w+\Z)"
    r"([^,]*[^\W\d][^,]*?)\s+(ontario|alberta|manitoba|saskatchewan|british columbia|nova scotia|new brunswick"
    r"|prince edward island|newfoundland and labrador|nunavut|yukon|northwest territories)\Z",
    re.IGNORECASE,
)
_OTHERS = re.compile(r"\s*\(?\+\s*\d{1,3}(?:\s+(?:more|others?|autres?)(?:\s+\w+)?)?\)?\Z", re.IGNORECASE)
_BRACKETS = re.compile(r"([^,()]+?)\s*\(([^()]+)\)\Z")
#: Regions that are larger than a province, or say nothing of it.
_BROAD = re.compile(
    r"(?:north america|the americas|americas|amerique du nord|amer|namer|noram|nam"
    r"|(?:north|south|east|west|central|atlantic|northern|southern|eastern|western|nord|sud|est|ouest|centre)"
    r"(?: canada| region)?)\Z"
)
_NOT_IN_NAMES = re.compile(r"[\s\d]")
#: "Toronto, Ontario, Canada, ON" of a city that has more than its name, and a template.
_CANADA_FIRST = re.compile(r"\Acanada\s*[-,/>:|]\s*(?=[^\W\d])", re.IGNORECASE)
_CANADA_WITHIN = re.compile(r",\s*Canada\s*(?=,)", re.IGNORECASE)
#: A remark behind a city: "Toronto - Downtown", "Toronto (Downtown)".
_REMARK = re.compile(r"\s+-\s+|\s*\(")
#: A note in brackets behind a city, or a word for what surrounds it.
_NOTED = re.compile(
    r"(.+?)\s*(?:\(.*\)|\s(?:and |et )?(?:area|region|environs|surroundings))\Z", re.IGNORECASE
)
_MORE = re.compile(r"([^,]+,\s*[^,]+?)(?:\s+-\s+|\s*\().*\Z", re.DOTALL)


def is_canada(country: str) -> bool:
    """Return whether a country is Canada: "CAN", "Canada (CA)"."""
    name = country[:_MAX_COUNTRY].strip(" .").casefold()
    return name in _CANADA or (
        name != "" and all(word in _CANADA for word in re.findall(r"\w+", name) or [name])
    )


def is_country(text: str) -> bool:
    """Return whether a text may name a country, unlike "-" and "Not specified"."""
    return _NO_COUNTRY.match(fold(text)) is None


def is_nowhere(text: str) -> bool:
    """Return whether ``text`` names no place: "Remote - Canada", "Télétravail", "Multiple locations", a province's code alone."""
    bare = text.strip()
    if bare in PROVINCES or len(bare) > MAX_PLACE:
        return bare in PROVINCES
    city, comma, province = bare.rpartition(",")
    if comma and province_code(province):  # "Various locations, ON"
        bare = city
    return _NOWHERE.match(fold(bare)) is not None


def has_postal_code(text: str) -> bool:
    return _ANY_POSTAL.search(text[:MAX_PLACE]) is not None


def other_province(city: str, text: str) -> str | None:
    """Return the province of a postal code in a text, if it has a known place of this name that is not the largest one: the
    Windsor of B0N 2T0 is in NS."""
    code = _ANY_POSTAL.search(text[:MAX_PLACE])
    province = _BY_POSTAL.get(code[0][0].upper()) if code else None
    largest = _largest(place_key(city)) if is_in(city, province) else None
    return province if largest and not largest.endswith(f", {province}") else None


class TidyPlace(NamedTuple):
    """A location's text, tidied. ``nowhere``: it names no place at all. ``identity`` is the same for every spelling of a place
    ("Ottawa, ON", "OTTAWA, Ontario"). ``bare``: it names no province (nor another region). ``in_canada``: the text places it in
    Canada. ``known``: for a bare name, the largest Canadian place of that name as "City, PC". ``country``: the country of the
    code "NL" or another code of both, where Canada has no known place of the name."""

    text: str
    nowhere: bool
    identity: tuple[str, str]
    bare: bool
    in_canada: bool
    known: str | None
    country: str | None

    @property
    def named(self) -> bool:
        return bool(self.text) and not self.nowhere

    @property
    def certain(self) -> bool:
        """Return whether the place needs no note."""
        return self.named and not self.doubted and not (self.bare and self.known is None) and not self.abroad

    @property
    def doubted(self) -> bool:
        """Return whether the place may as well be abroad."""
        return (self.bare or self.country is not None) and not self.in_canada

    @property
    def abroad(self) -> bool:
        """Return whether the text names a state of the USA or another country after the city: "MA", "MA 02110",
        "Massachusetts, USA", "Royaume-Uni". "CA" is California only after one of its large cities, else Canada."""
        return not self.in_canada and is_abroad(self.text)


def read_place(text: str) -> TidyPlace:
    """Return ``text`` as it is sent. A feed has few places, so they are remembered. A text that is too long for a place is not
    looked at: its row is rejected."""
    return (
        _known(text)
        if len(text) <= MAX_PLACE
        else TidyPlace(text, False, (text, ""), False, True, None, None)
    )


@lru_cache(maxsize=16384)
def _known(text: str) -> TidyPlace:
    tidied = tidy(text)
    city, comma, province = tidied.partition(",")
    code = province_code(province if comma else city)
    known = None if comma else _largest(place_key(city))
    said = _SAYS_CANADA.search(text) or _COUNTRY_TAIL.search(text) or (known and _CA_TAIL.search(text))
    country = _country(place_key(city), province.strip().upper()) if comma else None
    in_canada = (code is not None and country is None) or has_postal_code(text) or bool(said)
    identity = fold(city), (comma and code) or fold(province)
    return TidyPlace(tidied, is_nowhere(tidied), identity, not comma, in_canada, known, country)


def _country(key: str, code: str) -> str | None:
    """Return the country that ``code`` may be behind the name of a place; None where Canada has a place of that name:
    Lloydminster lies in two provinces."""
    country = _COUNTRIES.get(code)
    known = country is not None and ((key, None) in _shipped() or place_aliases(key, code))
    return None if known else country


def is_in(city: str, province: str | None) -> bool:
    """Return whether ``city`` is a known place of ``province`` (a code) and not itself the name of a province."""
    return province is not None and province_code(city) is None and (place_key(city), province) in _shipped()


def _largest(key: str) -> str | None:
    """Return the most populous shipped place with this key, as "City, PC"."""
    shipped = _shipped()
    return shipped.get((key, None)) or next((shipped.get(alias) for alias in place_aliases(key, None)), None)


@cache
def _shipped() -> Mapping[tuple[str, str | None], str]:
    """Return (key, province) → place; with None for the province, the most populous of that key."""
    shipped: dict[tuple[str, str | None], str] = {}
    for place in places_in(place_file()):
        for province in (None, place.province):
            shipped.setdefault((place_key(place.name), province), f"{place.name}, {place.province}")
    return shipped


def tidy(text: str) -> str:
    """Return a location with underscores as blanks; without postal code, country, "(Hybrid)" and "+ 2 more";
    ``CA-BC-Vancouver`` and ``Montréal (QC)`` as city and province; without a street before them. Idempotent."""
    if len(text) > MAX_PLACE:
        return text
    place = " ".join(text.replace("_", " ").replace("–", "-").replace("—", "-").split())
    for _ in range(MAX_PLACE):
        better = " ".join(_step(place).split()) or place
        if better == place:
            break
        place = better
    return place


def _step(place: str) -> str:
    if is_nowhere(place):
        return place
    if not ((named := _NAME_FIRST.match(place)) and province_code(named[1])):  # "Canada-Ontario-London"
        place = _CANADA_FIRST.sub("", place)
    place = _CANADA_WITHIN.sub("", place)
    place = _MODE_FIRST.sub("", _MODE_LAST.sub("", place), count=1) or place
    place = _OTHERS.sub("", place) or place
    place = _ISO_TAIL.sub(r", \1", place.replace(")", "") if "(" not in place else place)
    city = _COUNTRY_TAIL.sub("", _POSTAL.sub("", place)) or place
    code = other_province(city.rpartition(",")[2].strip(), place)
    place = f"{city}, {code}" if code else city
    place = _CODE_TAIL.sub(r"\1", place).strip(" ,") or place
    if (city := _CA_TAIL.sub("", place)) != place and not is_abroad(place) and _largest(place_key(city)):
        place = city
    half = _HALF_POSTAL.match(place)
    if half and (province_code(half[1].rpartition(",")[2]) or split_code(half[1])[1]):
        place = half[1]
    return _arranged(place)


def _arranged(place: str) -> str:
    """Put city and province into their order, if the text has both."""
    first = _CODE_FIRST.match(place) or _NAME_FIRST.match(place)
    code = province_code(first[1]) if first else None
    if first and code and not province_code(first[2]) and not is_nowhere(first[2]):
        return f"{_city_in(first[2].split(',')[-1].strip(), code)}, {first[1].strip()}"
    first = _PROVINCE_FIRST.match(place)
    code = province_code(first[1]) if first else None
    if first and code and not province_code(first[2]) and not is_nowhere(first[2]):
        return f"{_city_in(first[2].split(',')[0].strip(), code)}, {first[1].strip()}"
    brackets = _BRACKETS.match(place)
    if brackets and province_code(brackets[2]):
        return f"{brackets[1].strip()}, {brackets[2].strip()}"
    province, comma, city = (part.strip() for part in place.partition(","))
    if comma and is_in(city, province_code(province)):  # "Ontario, Toronto"
        return f"{city}, {province}"
    city, province = split_code(place)
    if not province and (named := _NAME_LAST.match(place)):
        city, province = named[1], named[2]
    if not province and is_in((words := place.rpartition(" "))[0], province_code(words[2])):
        city, _, province = words  # "Charlottetown PEI"
    code = province_code(province)
    # "Ontario ON" names no city
    if code and (not province_code(city) or (place_key(city), code) in _shipped()):
        return f"{city.strip(' -/')}, {province}"
    return _shortened(place)


def _city_in(text: str, province: str, dash: str = "-") -> str:
    """Return the known place of ``province`` that the text begins or ends with, before or after a dash: "Toronto-King Street",
    "Store 104 - Barrie". If there is none, return the text. A dash without blanks is also within names (Lac-Beauport), so the
    rest needs a blank or a digit then."""
    parts = text.split(dash)
    if is_in(text, province) or len(parts) > _MAX_DASHES:
        return text
    for size in range(len(parts) - 1, 0, -1):
        for some, rest in ((parts[:size], parts[size:]), (parts[-size:], parts[:-size])):
            name = dash.join(some).strip()
            if (dash != "-" or _NOT_IN_NAMES.search(dash.join(rest))) and is_in(name, province):
                return name
    return text


def _shortened(place: str) -> str:
    """Return ``123 Main St, Toronto, ON`` and ``Toronto, ON - Downtown`` as "Toronto, ON"."""
    parts = [part.strip() for part in place.split(",")]
    last, province = split_code(parts[-1])
    if province and parts[0][:1].isdigit():  # "12 Main St, Toronto ON"
        parts[-1:] = [last, province]
    code = province_code(parts[-1])
    street = len(parts) > 2 and parts[-3][:1].isdigit()  # "12 rue X, Québec, QC": here Québec is the city
    if len(parts) > 2 and code and province_code(parts[-2]) == code and not street:
        return ", ".join(parts[:-1])
    if len(parts) > 2 and code and not is_in(parts[-2], code) and is_in(parts[-3], code):
        return f"{parts[-3]}, {parts[-1]}"  # "Mississauga, Peel Region, ON"
    if len(parts) > 2 and code and parts[-2] and (street or not province_code(parts[-2])):
        return f"{parts[-2]}, {parts[-1]}"
    if code and len(parts) == 2 and (noted := _NOTED.match(parts[0])) and is_in(noted[1], code):
        return f"{noted[1]}, {parts[1]}"  # "Calgary (SE), AB", "Edmonton Area, AB"
    if code and len(parts) == 2 and " - " in parts[0]:
        return f"{_city_in(parts[0], code, ' - ')}, {parts[1]}"
    more = _MORE.match(place)
    if more and province_code(more[1].rpartition(",")[2]):
        return more[1]
    return _city_of(parts) or place


def _city_of(parts: list[str]) -> str | None:
    """Return the known city of a text without a province: of "Toronto, Toronto", "Toronto, North America", "Toronto - Downtown"
    and "12 Main St, Toronto". A state or a country abroad beside it says that it is not this city."""
    if any(map(province_code, parts[1:])) or is_abroad(", ".join(parts)):
        return None
    if (
        len(parts) > 1
        and not all(map(_BROAD.match, map(fold, parts[1:])))
        and len(set(map(place_key, parts))) > 1
    ):
        numbered = any(part[:1].isdigit() for part in parts[:-1])
        return parts[-1] if numbered and _largest(place_key(parts[-1])) else None
    if len(parts) == 1:
        parts = [part.strip(" )") for part in _REMARK.split(parts[0])]
        if len(parts) == 1 or len(parts) > _MAX_DASHES or any(map(is_region_abroad, parts)):
            return None
    return parts[0] if province_code(parts[0]) is None and _largest(place_key(parts[0])) else None


def without_region(text: str) -> str:
    """Return the known city of "Toronto, Head Office Region", for a record that says Canada elsewhere; else the text.
    A region that is nearly the name of a province stays: "Windsor, Nova Scotai" is not in Ontario."""
    place = read_place(text)
    city, comma, region = place.text.partition(",")
    if not comma or place.in_canada or place.abroad or place.country or province_code(city):
        return text
    provinces = (name for names in PROVINCES.values() for name in names if len(name) > 4)
    near = near_names(region.strip(), provinces, least=0.75)
    return city if not near and _largest(place_key(city)) else text


# -- places outside of Canada, known by the region behind the city ----------------------------------------------

#: A ZIP code, and a remark behind a dash: "MA 02110", "MA - HQ".
_AFTER_REGION = re.compile(r"\s+\d{5}(?:-\d{4})?\Z|\s+[-–]\s.*\Z", re.DOTALL)
_ZIP = re.compile(r"CA\s+\d{5}(?:-\d{4})?\Z")


def _letters(name: str) -> str:
    return "".join(c for c in fold(name) if c.isalnum())


#: The words of ``abroad.toml``.
_WORDS = tomllib.loads(files(__package__).joinpath("abroad.toml").read_text("utf-8"))
_STATE_CODES = frozenset(_WORDS["codes"].split())
_CALIFORNIAN = frozenset(map(_letters, _WORDS["californian"].split(",")))
_ABROAD = frozenset(map(_letters, f"{_WORDS['states']},{_WORDS['countries']}".split(",")))


def is_abroad(text: str) -> bool:
    """Return whether a text names a state of the USA or another country after the city. "CA" is California only after one of
    its large cities."""
    city, comma, region = text.partition(",")
    if not comma:
        return False
    if region.strip() == "CA":
        return _letters(city) in _CALIFORNIAN
    parts = [part.strip() for part in region.rsplit(",", 2)]
    return any(map(_ZIP.match, parts)) or any(map(is_region_abroad, parts))


def is_region_abroad(text: str) -> bool:
    """Return whether a text is the name or the code of a state of the USA, or the name of another country."""
    name = _AFTER_REGION.sub("", text)
    return name in _STATE_CODES or _letters(name) in _ABROAD
