"""Dates as employers write them, to ``YYYY-MM-DD``. The mapping chooses the format; it is never guessed from the text.

    iso           2026-07-13 or 20260713, time or not,     rfc822    Mon, 13 Jul 2026 00:00:00 EST
                  or /Date(1783900800000-0400)/
    dmy mdy ymd   numbers in that order, separated by one  words     13 July 2026, July 13th, 2026,
                  of / . - or blanks, time or not                    le 13 juillet 2026
    numbers       dmy or mdy where only one is possible    excel     46216: a spreadsheet's day number
    epoch epoch_ms  seconds or milliseconds since 1970     %d/%m/%Y  a strptime format

An instant (a time with an offset) is taken to the zone of the service; before 06:00 there the last day is the one before. Of
other dates with a time, and at 00:00:00, the date is kept as written. A year of two digits is in this century. The dates by
which programs mean none are read as any other; ``is_null_date`` knows them."""

import re
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from email.utils import parsedate
from functools import lru_cache

from syncd.domain import fold
from syncd.feeds.text import spelled

Parse = Callable[[str], date | None]

#: A date of XML may have an offset ("2026-12-31-08:00"): it is that date.
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?=(?:T| (?:(?:à|at) )?)\d|(?:Z|[+-]\d\d:\d\d)?\Z)", re.ASCII)
#: The basic format of ISO 8601. Other numbers of eight digits are not dates.
_ISO_BASIC = re.compile(r"((?:19|20)\d\d)(\d\d)(\d\d)(?=T\d|\Z)", re.ASCII)
#: An instant in the JSON of Microsoft: milliseconds since 1970, and the offset of the place where it was written.
_JSON_DATE = re.compile(r"(?:\\?/|new )Date\((-?\d{1,15})(?:([+-]\d\d)(\d\d))?\)(?:\\?/)?\Z", re.ASCII)
#: A time and its offset at the end of a text. The words are those of RFC 822, in hours.
_INSTANT = re.compile(
    r"(?:T|[ ,](?=\s?\d\d?[:h])\s?)(\d\d?)[:h]?(\d\d)(?::?(\d\d)(?:[.,]\d+)?)?\s*([ap]\.?m\.?)?\s*"
    r"(?:(?:gmt|utc)?([+-])(\d\d?):?(\d\d)?|(z|utc?|gmt|[aecmp][sd]t))(?:\s*[(\[][^()\[\]]*[)\]])?\Z",
    re.ASCII | re.IGNORECASE,
)
_HOURS = {f"{zone}st": hours for zone, hours in zip("aecmp", (-4, -5, -6, -7, -8), strict=True)}
_HOURS |= {f"{zone[0]}dt": hours + 1 for zone, hours in _HOURS.items()}
#: Before this hour an instant means the evening before.
MORNING = 6
_SERIAL = re.compile(r"\d{5}(?:\.\d+)?\Z", re.ASCII)
#: Smaller numbers are not read as seconds since 1970: it is a day of 1973.
_LEAST_SECONDS, _SECONDS_OF_DAY = 100_000_000, 86_400
_EPOCH = re.compile(r"-?\d{1,15}(?:\.\d+)?\Z", re.ASCII)
_TIME = r"(?:[T,]?\s*(?:a\s+|at\s+)?\d{1,2}\s?[:h].*)?\Z"
_NUMBERS = re.compile(rf"(\d{{1,2}}|\d{{4}})([/.\- ])(\d{{1,2}})\2(\d{{4}}|\d{{1,2}})\.?{_TIME}", re.ASCII)
_MONTH_NAMES = (
    "jan janv january janvier|feb fev fevr february fevrier|mar mars march|apr avr april avril|may mai|"
    "jun juin june|jul juil july juillet|aug aou august aout|sep sept september septembre|"
    "oct october octobre|nov november novembre|dec december decembre"
)
_MONTHS = {name: month for month, names in enumerate(_MONTH_NAMES.split("|"), 1) for name in names.split()}
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er)?"
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_WEEKDAY = r"(?:(?:le\s+)?[a-z]{2,9}\.?,?\s+)??(?:le\s+|the\s+)?"
_WORDS = [
    re.compile(rf"{_WEEKDAY}{first}[\s.\-]*{second},?[\s.\-]*(?P<year>\d{{4}}){_TIME}", re.ASCII)
    for first, second in ((_DAY, rf"(?:of\s+)?{_MONTH}"), (_MONTH, _DAY))
]
_WORDS.append(re.compile(rf"(?P<day>\d{{1,2}})[\s.\-]+{_MONTH}[\s.\-]+(?P<year>\d\d)\Z", re.ASCII))
_DAY_LONG = timedelta(days=1)
#: The dates by which .NET, SQL Server, Windows, Excel and Unix mean none. A time zone may move them by a day.
_NULL_DATES = frozenset(
    str(day + _DAY_LONG * days)
    for day in map(
        date.fromisoformat, "0001-01-02 1601-01-01 1753-01-01 1899-12-31 1900-01-01 1970-01-01".split()
    )
    for days in (-1, 0, 1)
)
#: The zeros of MySQL, also as the number of a spreadsheet or of seconds, and of spreadsheets ("1900-01-00").
_ZEROS = re.compile(r"[0\s./:T-]*0[0\s./:TZ-]*|1900-01-00.*|0?1/0?0/1900.*|0?0/0?1/1900.*", re.ASCII)
#: Words in place of a date where none is set.
_NO_DATE = re.compile(
    r"(?:open |ouvert )?(?:until (?:the )?(?:position is )?filled|jusqu'a (?:ce que le poste soit )?(?:comble|pourvu|comblement))"
    r"|jusqu'a comblement|ongoing|continuous|continue?|rolling|no (?:closing |end |expiry )?date|no expiry|none|open|permanent"
    r"|en continu|en tout temps|indetermine|indefinite|unlimited|illimite|aucune|sans date|never|jamais|asap|tb[acd]"
    r"|to be (?:determined|confirmed)|a (?:determiner|confirmer|venir)|not (?:set|specified|applicable)"
    r"|non (?:specifie|precise|defini)e?|(?:non|sans) (?:applicable|objet)|n[./]?d|s[./]?o|[-?*]+"
)


def compile_dates(formats: Sequence[str], zone: tzinfo = UTC) -> Callable[[object], str | None]:
    """Return a function from a value to ``YYYY-MM-DD``, or None if no format fits. ``zone``: that of the service. Raise
    ValueError for an unknown format."""
    parsers = [_NAMED.get(name) or _strptime(name) for name in formats]

    @lru_cache(maxsize=4096)
    def parse(text: str) -> str | None:
        for parser in parsers:
            day = parser(text)
            if day is not None:
                return _last_day(day, text, zone).isoformat()
        return None

    return lambda value: parse(spelled(value)[:100].strip())


def _last_day(day: date, text: str, zone: tzinfo) -> date:
    """Return the last day that ``text`` means. ``day``: the date as written, or an instant."""
    if isinstance(day, datetime):
        return _evening(day, zone)
    match = _INSTANT.search(text)
    if match is None:
        return day
    hour, minute, second = (int(part or 0) for part in match.group(1, 2, 3))
    if match[4]:
        hour = hour % 12 + (12 if match[4][0] in "pP" else 0)
    if match[5]:
        offset = timedelta(hours=int(match[6]), minutes=int(match[7] or 0)) * (-1 if match[5] == "-" else 1)
    else:
        offset = timedelta(hours=_HOURS.get(match[8].lower(), 0))
    try:
        written = datetime(
            day.year, day.month, day.day, hour, minute, min(second, 59), tzinfo=timezone(offset)
        )
    except ValueError:
        return day
    return _evening(written, zone)


def _evening(instant: datetime, zone: tzinfo) -> date:
    """Return the day of an instant in ``zone``; before the morning it is the day before. 00:00:00 stands for a date alone."""
    if instant.time().replace(microsecond=0) == time():
        return instant.date()
    try:
        return (instant.astimezone(zone).replace(tzinfo=None) - timedelta(hours=MORNING)).date()
    except OverflowError:
        return instant.date()


def is_null_date(day: str) -> bool:
    """Return whether programs write this date, ``YYYY-MM-DD``, where they have none: also 9999-12-31."""
    return day in _NULL_DATES or day >= "2150"


def says_no_date(value: object) -> bool:
    """Return whether a text says that there is no date: "Open until filled", "Jusqu'à comblement", "0000-00-00"."""
    text = spelled(value)[:100].strip()
    words = fold(text).replace("\u2019", "'").strip(" .")
    return _NO_DATE.fullmatch(words) is not None or _ZEROS.fullmatch(text) is not None


def readings(value: object) -> list[str]:
    """Return both dates, as ``YYYY-MM-DD``, of numbers that can be read with the day or with the month first; else none."""
    text = spelled(value)[:100].strip()
    dates = [one.isoformat() for parse in (_DMY, _MDY) if (one := parse(text)) is not None]
    return dates if len(set(dates)) == 2 else []


def _strptime(form: str) -> Parse:
    if "%" not in form:
        raise ValueError(f"is neither a strptime format nor one of {', '.join(DATE_FORMATS)}")
    sample = datetime(2027, 11, 23, tzinfo=UTC)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a day without a year: newer Pythons warn, and may choose a year
            whole = datetime.strptime(sample.strftime(form), form).date() == sample.date()  # noqa: DTZ007
    except DeprecationWarning:
        whole = False
    except ValueError as error:
        raise ValueError(f"is not a date format: {error}") from None
    if not whole:
        raise ValueError("does not give a whole date (year, month and day)")

    def parse(text: str) -> date | None:
        try:
            written = datetime.strptime(text, form)  # noqa: DTZ007
        except ValueError:
            return None
        return written.date() if written.tzinfo is None else written

    return parse


def _iso(text: str) -> date | None:
    if "Date(" in text:
        return _json_date(text)
    match = _ISO.match(text) or _ISO_BASIC.match(text)
    return _date(int(match[1]), int(match[2]), int(match[3])) if match else None


def _json_date(text: str) -> date | None:
    match = _JSON_DATE.match(text)
    if match is None:
        return None
    hours, minutes = match[2] or "+0", match[3] or "0"
    try:
        zone = timezone(timedelta(hours=int(hours), minutes=int(hours[0] + minutes)))
        return datetime.fromtimestamp(int(match[1]) / 1000, UTC).astimezone(zone)
    except (ValueError, OverflowError, OSError):
        return None


def _rfc822(text: str) -> date | None:
    parts = parsedate(text) if len(text) < 100 else None
    if parts is None:
        return None
    return (
        date.min if "01 Jan 0001" in text else _date(*parts[:3])
    )  # else a year below 100 is one of a century


def _ordered(year: int, month: int, day: int) -> Parse:
    """Return the parser of numbers in this order."""

    def parse(text: str) -> date | None:
        match = _NUMBERS.match(text)
        if match is None:
            return None
        parts = (match[1], match[3], match[4])
        if len(parts[month]) > 2 or len(parts[day]) > 2:
            return None
        century = 0 if len(parts[year]) == 4 else 2000
        return _date(century + int(parts[year]), int(parts[month]), int(parts[day]))

    return parse


_DMY, _MDY, _YMD = _ordered(2, 1, 0), _ordered(2, 0, 1), _ordered(0, 1, 2)


def _unambiguous(text: str) -> date | None:
    """Parse ``27/08/2026`` and ``8/27/2026``, but not ``08/07/2026``. A year of four digits may come first."""
    match = _NUMBERS.match(text)
    if match is None:
        return None
    if len(match[1]) == 4:
        return _YMD(text)
    readings = {parse(text) for parse in (_DMY, _MDY)} - {None} if len(match[4]) == 4 else set()
    return readings.pop() if len(readings) == 1 else None


def _words(text: str) -> date | None:
    plain = fold(text).strip()
    for pattern in _WORDS:
        match = pattern.match(plain)
        if match:
            year = int(match["year"])
            return _date(year + (2000 if year < 100 else 0), _MONTHS[match["month"]], int(match["day"]))
    return None


def _epoch(scale: int) -> Parse:
    def parse(text: str) -> date | None:
        if not _EPOCH.match(text):
            return None
        seconds = Decimal(text) / scale
        try:
            instant = datetime.fromtimestamp(float(seconds), UTC)
        except (ValueError, OverflowError, OSError):
            return None
        # a smaller number counts days, or seconds where milliseconds are expected
        is_none = seconds % _SECONDS_OF_DAY == 0 and is_null_date(str(instant.date()))
        return instant if seconds >= _LEAST_SECONDS or is_none else None

    return parse


def _date(year: int, month: int, day: int) -> date | None:
    if not year and not month and not day:
        return date.min  # MySQL's date for none
    try:
        return date(year, month, day)
    except (ValueError, OverflowError):
        return None


#: Formats with a name, beside those of strptime.
_NAMED: dict[str, Parse] = {
    "iso": _iso,
    "rfc822": _rfc822,
    "dmy": _DMY,
    "mdy": _MDY,
    "ymd": _YMD,
    "numbers": _unambiguous,
    "words": _words,
    "epoch": _epoch(1),
    "epoch_ms": _epoch(1000),
    # the day number of a spreadsheet: 1 is 1900-01-01, with a leap day that 1900 did not have
    "excel": lambda text: (
        date(1899, 12, 30) + timedelta(days=int(text.partition(".")[0])) if _SERIAL.match(text) else None
    ),
}
DATE_FORMATS = tuple(_NAMED)
