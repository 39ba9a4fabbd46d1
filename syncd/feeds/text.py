"""Plain text from a feed: empty values, numbers, booleans, control characters."""

import re
from decimal import Decimal
from functools import lru_cache

from syncd.domain import name_key

#: Words of exports for "no value" (docs/feeds.md "The mapping language"). In native feeds they are text.
_NOTHING = frozenset(("na", "n/a", "null", "none", "nan", "undefined", "#n/a"))
_TRUE = frozenset(("true", "t", "yes", "y", "1", "oui", "o", "vrai", "on", *"✓✔☑✅", "✔\ufe0f", "☑\ufe0f"))
_FALSE = frozenset(("false", "f", "no", "n", "0", "non", "faux", "off", *"✗✘☐❌"))
_INT = re.compile(r"[+-]?\d{1,18}\Z", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})\Z", re.ASCII)
#: The text of a cell whose formula has failed, in English or French.
_FORMULA_ERROR = re.compile(
    r"#(?:REF!|N/[AD]|VALUE!|VALEUR!|NAME\?|NOM\?|DIV/0!|NULL!|NUL!|NUM!|NOMBRE!|SPILL!|PROPAGATION!|CALC!|CALCUL!|ERROR!"
    r"|FIELD!|CHAMP!|CONNECT!|BLOCKED!|UNKNOWN!|BUSY!|GETTING_DATA)\Z",
    re.IGNORECASE,
)
#: A formula that is nothing but a text.
_TEXT_FORMULA = re.compile(r'="((?:[^"]|"")*)"')
#: An address without its scheme: a host, and perhaps a port and a path.
HOST = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,24}(?::\d+)?(?:[/?#]\S*)?\Z", re.IGNORECASE)
#: A character in a name of SharePoint and Access: ``Apply_x0020_Link``.
_ESCAPED = re.compile(r"_x([0-9a-f]{4})_", re.IGNORECASE)
_GLUED = re.compile(r"(?<=[a-z])(?=[A-Z])")
#: Words in the names of flags, which are often written together: "isinternal", "showonweb".
_FLAG_WORDS = re.compile(
    "externally|internally|temporary|permanent|published|seasonal|contract|casual|full|part|time"
    "|cancelled|inactive|archived|approved|template|internal|external|position|website|expired"
    "|deleted|private|visible|removed|posting|publish|display|canceled|unlisted|interne|externe|online|posted|active|public|closed"
    "|filled|hidden|listed|career|portal|boards|sample|draft|open|hold|hide|live|demo|show|post|jobs|page|site|only|test|has|job|not"
    "|web|for|is|on|to|do"
)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")
_WINDOWS = {code: sign for code in range(0x80, 0xA0) if (sign := bytes((code,)).decode("cp1252", "ignore"))}
#: Parameters of an address that say where a visitor comes from, on any page; and on a home page alone.
_TRACKING = re.compile(
    r"(?:utm_\w+|source|src|\w*clid|gclsrc|mc_[ce]id|trk|campaign|medium|referr?er|_ga|iis|iisn)=[^&#]*",
    re.IGNORECASE,
)
_REFERRER = re.compile(r"(https?://[^/?#]+/?\?(?:[^#]*&)?)ref=[^&#]*", re.IGNORECASE)


def meant(value: object) -> object | None:
    """Return a scalar as it is meant: text trimmed; None for an empty text, a null in words ("NA"), a list or an object."""
    if value.__class__ is str:
        text = value.strip()
        if not text or (len(text) < 10 and (text.lower() in _NOTHING or text == "NaT")):
            return None
        return text
    return None if value is None or isinstance(value, dict | list) else value


def unescaped(name: str) -> str:
    return _ESCAPED.sub(lambda sign: chr(int(sign[1], 16)), name)


def words_of(name: str) -> list[str]:
    """Return the words in the name of a column or an element, folded: "is", "open" of ``isOpen``, ``Is_x0020_Open``, isopen."""
    words = name_key(_GLUED.sub(" ", unescaped(name))).split()
    return [part for word in words for part in _parts(word)]


@lru_cache(maxsize=4096)
def _parts(word: str) -> list[str]:
    """Return the words of flags of which a word is made, else the word."""
    parts = _FLAG_WORDS.findall(word)
    return parts if "".join(parts) == word else [word]


def is_formula_error(text: str) -> bool:
    """Return whether ``text`` is the error of a formula in a spreadsheet ("#REF!")."""
    return text[:1] == "#" and _FORMULA_ERROR.match(text) is not None


def cell_text(value: object) -> object:
    """Return the text that a formula such as ``="0007"`` gives; exports write it to keep the zeros. Other values stay."""
    if value.__class__ is str and value[:2] == '="' and (formula := _TEXT_FORMULA.fullmatch(value)):
        return formula[1].replace('""', '"')
    return value


def spelled(value: object) -> str:
    """Return a scalar as text: booleans as JSON has them, whole numbers without ``.0``, never with an exponent."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal | float):
        number = Decimal(str(value))
        if number.is_finite() and abs(number.adjusted()) < 100:
            return f"{number:.0f}" if number == number.to_integral_value() else f"{number:f}"
    return str(value) if not isinstance(value, int) or value.bit_length() < 10_000 else str(Decimal(value))


def has_controls(text: str) -> bool:
    """Return whether ``text`` has characters that no field may have. Tab, LF and CR are allowed in some fields."""
    return not text.isprintable() and _CONTROL.search(text) is not None


def without_controls(text: str) -> str:
    """Return ``text`` without such characters and lone surrogates. C1 characters that are meant as Windows-1252 (a dash that
    arrived as U+0096) are translated, as a browser does."""
    return _CONTROL.sub("", text.translate(_WINDOWS)) if has_controls(text) else text


def boolean(value: object) -> object:
    """Return True or False where the text is one of their words, else the value itself, for the rules to refuse."""
    if isinstance(value, bool):
        return value
    word = spelled(value).strip().casefold()
    return True if word in _TRUE else False if word in _FALSE else value


def ticked(value: object) -> object:
    """Return the same, and True for an x, as in a column of x and nothing."""
    return True if value in ("x", "X") else boolean(value)


def strict_boolean(text: str) -> object:
    """Return the boolean of XML and of spreadsheets (``true``, ``FALSE``, ``1``); other text is returned as it is."""
    word = text.strip().lower()
    return True if word in ("true", "1") else False if word in ("false", "0") else text


def integer(text: str) -> object:
    stripped = text.strip()
    return int(stripped) if _INT.match(stripped) else text


def decimal(text: str) -> object:
    stripped = text.strip()
    return Decimal(stripped) if _DECIMAL.match(stripped) else text


def page_at(address: str) -> str:
    """Return the address without parameters that say where a visitor comes from (``utm_source``), which lead to the same page."""
    return _TRACKING.sub("", _REFERRER.sub(r"\1", address)).rstrip("/?&")
