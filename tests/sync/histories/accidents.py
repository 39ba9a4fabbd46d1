"""Accidents: what happens to a file between the employer and the drop folder, or within the employer's system.

Each takes the day's records and gives the bytes that arrive."""

import gzip
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.sync.histories.forms import Record, Style, dump
from tests.sync.histories.postings import CATEGORIES, Posting

FORMS = ("csv", "xml", "json")


@dataclass(frozen=True, slots=True)
class Day:
    """A day of a feed. ``names``: part of a posting → its name in a record. ``before``: the files of the days before, the newest
    last; ``other``: the postings of another employer."""

    form: str
    names: Mapping[str, str]
    record: Callable[[Posting], Record]
    postings: Sequence[Posting]
    other: Sequence[Posting]
    before: Sequence[bytes] = ()

    @property
    def records(self) -> list[Record]:
        return [self.record(posting) for posting in self.postings]

    @property
    def content(self) -> bytes:
        return self.write(self.records)

    def write(self, records: Sequence[Record]) -> bytes:
        return dump(self.form, records, Style(pretty=True))

    def each(self, change: Callable[[Record], Record]) -> bytes:
        return self.write([change(record) for record in self.records])

    def values(self, part: str, change: Callable[[Any], Any]) -> bytes:
        name = self.names[part]
        return self.each(lambda record: record | {name: change(record[name])})


Change = Callable[[Day], bytes]


@dataclass(frozen=True, slots=True)
class Accident:
    """``becomes``: what may become of the run: failed, all, archive, withheld; right: nothing wrong comes of it, and the run
    succeeds. ``words``: they are in what the operator reads. ``stands``: only the archiving waits, and rows that are wrong
    go in. ``settings`` changes the feed's file."""

    change: Change
    becomes: str
    words: str
    forms: Sequence[str] = FORMS
    stands: bool = False
    settings: Callable[[str], str] = str


# -- columns, elements, members ------------------------------------------------------------------------------


def renamed(part: str, to: str) -> Change:
    return lambda day: day.each(
        lambda record: {to if name == day.names[part] else name: value for name, value in record.items()}
    )


def gone(part: str) -> Change:
    return lambda day: day.each(
        lambda record: {name: value for name, value in record.items() if name != day.names[part]}
    )


def emptied(part: str, value: str | None = None) -> Change:
    return lambda day: day.values(part, lambda _: value)


def swapped(one: str, other: str) -> Change:
    def swap(day: Day) -> bytes:
        first, second = day.names[one], day.names[other]
        return day.each(lambda record: record | {first: record[second], second: record[first]})

    return swap


def shifted(day: Day) -> bytes:
    """Each value stands one column further."""
    return day.each(
        lambda record: dict(zip(record, [*record.values()][-1:] + [*record.values()][:-1], strict=True))
    )


def sorted_alone(part: str) -> Change:
    """One column is sorted backwards, the others are not."""

    def change(day: Day) -> bytes:
        values = iter(sorted((str(record[day.names[part]]) for record in day.records), reverse=True))
        return day.values(part, lambda _: next(values))

    return change


def places_sorted(day: Day) -> bytes:
    places = iter(sorted((str(record["province"]), str(record["city"])) for record in day.records))
    return day.each(lambda record: record | dict(zip(("province", "city"), next(places), strict=True)))


# -- texts ---------------------------------------------------------------------------------------------------


def twice_decoded(text: Any) -> Any:
    return text.encode().decode("cp1252", "replace") if isinstance(text, str) else text


def each_text(change: Callable[[str], str]) -> Change:
    return lambda day: day.each(
        lambda record: {
            name: change(value) if isinstance(value, str) else value for name, value in record.items()
        }
    )


def pay_times_100(text: Any) -> Any:
    return text and re.sub(
        r"[\d,]+(\.\d+)?", lambda number: f"{float(number[0].replace(',', '')) * 100:.0f}", text
    )


# -- bytes ---------------------------------------------------------------------------------------------------


def cut(share: float, *, at: bytes = b"", compressed: bool = False) -> Change:
    """Return the change that leaves the first part of the file, up to the end of the next ``at``."""

    def change(day: Day) -> bytes:
        content = gzip.compress(day.content) if compressed else day.content
        end = int(len(content) * share)
        return content[: content.index(at, end) + len(at)]

    return change


def unquoted(day: Day) -> bytes:
    """A quote begins in one record and ends in another."""
    content = day.content
    if day.form == "csv":
        lines = content.split(b"\r\n")
        for at in (8, 12):
            cells = lines[at].split(b",")
            cells[-1] = b'"' + cells[-1] + b" x"
            lines[at] = b",".join(cells)
        return b"\r\n".join(lines)
    at = content.index(b'": "', len(content) // 2)
    return content[: at + 3] + content[at + 4 :]


def declared(day: Day) -> bytes:
    if day.form == "json":
        return b'{"total": "99", "jobs": ' + day.content + b"}"
    return day.content.replace(b"<jobs>", b"<jobs><totalJobs>99</totalJobs>", 1)


def twice(day: Day) -> bytes:
    """The file is appended to itself."""
    return day.content * 2


# -- records -------------------------------------------------------------------------------------------------


def with_ids(change: Callable[[int, str], str]) -> Change:
    def changed(day: Day) -> bytes:
        numbers = iter(range(len(day.postings)))
        return day.values("id", lambda reference: change(next(numbers), reference))

    return changed


def sample_data(day: Day) -> bytes:
    tests = [
        replace(posting, reference=f"TEST-{n}", title="Test job")
        for n, posting in enumerate(day.postings[10:13])
    ]
    return day.write([day.record(posting) for posting in tests])


_PAGE = b"<!DOCTYPE html>\n<html><body><h1>503 Service Unavailable</h1></body></html>\n"
_ERRORS = {
    "csv": b"error,message\r\n500,The export has failed\r\n",
    "xml": b"<?xml version='1.0'?>\n<error><code>500</code><message>The export has failed</message></error>\n",
    "json": b'{"error": {"code": 500, "message": "The export has failed"}}\n',
}

_CODES = sorted(CATEGORIES)

#: Of "hand": the words of the reason in each case.
ACCIDENTS: Mapping[str, Accident] = {
    # a part is gone or has another name
    **{
        f"{part} renamed": Accident(renamed(part, to), holds, "has no {noun} `{name}` any more; new in it: `" + to)
        for part, to, holds in (
            ("id", "vacancy", "all archive failed"), ("title", "headline", "all"), ("place", "town", "all"),
            ("type", "kind", "all"), ("category", "field", "all"), ("pay", "wage", "all"), ("text", "body", "all"),
            ("close", "until", "all"), ("address", "web", "all"), ("status", "stage", "all"),
        )
    },
    **{
        f"{part} gone": Accident(gone(part), "all archive failed", "has no {noun} `{name}` any more")
        for part in ("id", "title", "place", "type", "category", "pay", "text", "close", "address", "status")
    },
    **{
        f"{part} emptied": Accident(emptied(part), "all archive", words)
        for part, words in (
            ("id", "rejected"), ("title", "rejected"), ("place", "rejected"), ("type", "rejected"),
            ("category", "rejected"), ("pay", "pay"), ("text", "rejected"), ("close", "close date"),
            ("address", "rejected"), ("status", "status"),
        )
    },
    # values in the wrong place
    "title and text swapped": Accident(swapped("title", "text"), "all", "title"),
    "title and place swapped": Accident(swapped("title", "place"), "all", "title"),
    "title and category swapped": Accident(swapped("title", "category"), "all", "rejected"),
    "type and category swapped": Accident(swapped("type", "category"), "all", "rejected"),
    "id and title swapped": Accident(swapped("id", "title"), "all", "referenceId"),
    "shifted by one": Accident(shifted, "all", "rejected"),
    **{
        f"{part} sorted alone": Accident(sorted_alone(part), "all", words)
        for part, words in (
            ("text", "the description of another job"), ("address", "the address to apply at of another job"),
            ("type", "the position type of another job"), ("category", "the category of another job"),
            ("pay", ""), ("close", "the close date of another job"),
        )
    },
    "places sorted alone": Accident(places_sorted, "all", "the place of another job"),
    "titles sorted alone": Accident(sorted_alone("title"), "all", "title"),
    "ids sorted alone": Accident(
        lambda day: with_ids(lambda n, _: [posting.reference for posting in day.postings][::-1][n])(day), "all", "title"
    ),
    # texts
    "decoded twice": Accident(each_text(twice_decoded), "all", "damaged"),
    "characters lost": Accident(each_text(lambda text: re.sub("[àéÉçÀèê]", "\ufffd", text)), "all", "damaged"),
    "accents left out": Accident(each_text(lambda text: re.sub("[àéÉçÀèêô]", "", text)), "all", "accents"),
    "accents as question marks": Accident(each_text(lambda text: re.sub("[àéÉçÀèêô]", "?", text)), "all", "accents"),
    "addresses of a test server": Accident(
        lambda day: day.values("address", lambda url: url.replace("jobs.example.com", "localhost:3000")), "all", "applicationUrls"
    ),
    "placeholders": Accident(emptied("title", "{{job.title}}"), "all", "title"),
    "placeholders in texts": Accident(emptied("text", "<p>{{ job.description }}</p>"), "all", "description"),
    "titles in capitals": Accident(
        lambda day: day.values("title", lambda title: title.upper()), "all", "title"
    ),
    "texts cut at four fifths": Accident(
        lambda day: day.values("text", lambda text: text[: len(text) * 4 // 5].rstrip(".")), "all", "end in mid-sentence"
    ),
    "texts with an ellipsis": Accident(
        lambda day: day.values("text", lambda text: text[: len(text) * 4 // 5] + " ..."), "all", "end in mid-sentence"
    ),
    "texts with a sign of three points": Accident(
        lambda day: day.values("text", lambda text: text[: len(text) * 4 // 5] + "…"), "all", "end in mid-sentence"
    ),
    "texts cut to 100": Accident(lambda day: day.values("text", lambda text: text[:100]), "all", "description"),
    "addresses all one": Accident(emptied("address", "https://example.com/"), "all", "one and the same address"),
    "addresses all one but for a number": Accident(
        lambda day: day.values("address", lambda url: f"https://example.com/?n={url[-2:]}"), "all", "one and the same address"
    ),
    "types all one": Accident(emptied("type", "Full Time"), "all", "one and the same position type"),
    "categories all one": Accident(emptied("category", "Legal"), "all", "one and the same category"),
    "pay all one": Accident(emptied("pay", "$25 per hour"), "all", "one and the same pay"),
    "places all one": Accident(
        lambda day: day.each(lambda record: record | {"city": "Halifax", "province": "NS", "other_places": None}),
        "all", "one and the same place",
    ),
    "texts loading": Accident(emptied("text", "<p>Loading…</p>"), "all", "description"),
    "texts blank": Accident(emptied("text", "<p>&nbsp;</p>"), "all", "rejected"),
    "nan everywhere": Accident(lambda day: day.each(lambda record: dict.fromkeys(record, "NaN")), "all archive", "rejected"),
    "pay nan": Accident(emptied("pay", "nan"), "all", "pay"),
    "pay in words": Accident(emptied("pay", "Competitive"), "all", "pay"),
    "pay in cents": Accident(lambda day: day.values("pay", pay_times_100), "all", "pay"),
    "pay in another period": Accident(
        lambda day: day.values("pay", lambda pay: pay and pay.replace("hour", "X").replace("year", "hour").replace("X", "year")),
        "all", "pay",
    ),
    "pay in a near period": Accident(
        lambda day: day.values("pay", lambda pay: pay and pay.replace("year", "month").replace("hour", "day")),
        "all", "another unit",
    ),
    "pay with the decimal point elsewhere": Accident(
        lambda day: day.values(
            "pay", lambda pay: pay and re.sub(r"[\d,]+(\.\d+)?", lambda n: f"{float(n[0].replace(',', '')) / 10:,.3f}", pay)
        ),
        "all", "decimal point",
    ),
    "categories as codes": Accident(
        lambda day: day.values("category", lambda word: 1 + _CODES.index(word)), "all", "another category"
    ),
    "company in place of the city": Accident(
        lambda day: day.values("place", lambda city: f"{city[:3]} Holdings"), "all", "a place that is not known"
    ),
    "statuses in other words": Accident(emptied("status", "Stage 4"), "all", "rejected"),
    "types in other words": Accident(lambda day: day.values("type", lambda word: f"T{len(word)}"), "all", "rejected"),
    "categories in other words": Accident(
        lambda day: day.values("category", lambda word: f"Dept. {len(word)}"), "all", "rejected"
    ),
    "dates in another order": Accident(
        lambda day: day.values("close", lambda date: date and "/".join([date[3:5], date[:2], date[6:]])), "all", "rejected"
    ),
    "dates of another year": Accident(
        lambda day: day.values("close", lambda date: date and f"{date[:6]}{int(date[6:]) + 1}"), "all", "of another year"
    ),
    "addresses without host": Accident(
        lambda day: day.values("address", lambda url: url.rpartition("/")[2]), "all", "rejected"
    ),
    "places abroad": Accident(
        lambda day: day.each(lambda record: record | {"city": "Boston", "province": "MA"}), "all", "rejected"
    ),
    # the wrong file, or a part of it
    "another employer's file": Accident(
        lambda day: day.write([day.record(posting) for posting in day.other]), "all", "the file of another feed"
    ),
    "the file of the day before yesterday": Accident(lambda day: day.before[0], "all", "older"),
    "the rows of another filter": Accident(
        lambda day: day.content, "archive", "settings have changed",
        settings=lambda toml: f'{toml}[rows]\nskip = {{ department = "Legal" }}\n',
    ),
    "another mapping": Accident(
        lambda day: day.content, "all", "title", settings=lambda toml: toml.replace('"posting_title"', '"department"')
    ),
    "ids replaced": Accident(with_ids(lambda n, _: f"2027-{n}"), "all", "another referenceId"),
    "two of five ids replaced": Accident(
        with_ids(lambda n, reference: f"2027-{n}" if n % 5 < 2 else reference), "archive", "would be archived", stands=True
    ),
    "ids all zero": Accident(with_ids(lambda n, _: "0"), "archive", "archived", stands=True),
    "ids with an exponent": Accident(with_ids(lambda n, _: "1.00E+05"), "all", "rejected"),
    "a page of the list": Accident(lambda day: day.write(day.records[:10]), "archive", "would be archived"),
    "a delta as the whole": Accident(lambda day: day.write(day.records[-5:]), "archive", "would be archived"),
    "test data": Accident(sample_data, "archive", "would be archived", stands=True),
    "no records": Accident(
        lambda day: {"csv": day.content.partition(b"\r\n")[0] + b"\r\n", "xml": b"<jobs/>", "json": b"[]"}[day.form],
        "archive", "no records",
    ),
    "no bytes": Accident(lambda day: b"", "failed", "0 bytes"),
    "blanks": Accident(lambda day: b"\n \n" * 40, "failed", "empty"),
    "an error": Accident(lambda day: _ERRORS[day.form], "failed", "no_"),
    "a page of HTML": Accident(lambda day: _PAGE, "failed", "HTML"),
    # bytes
    "cut in a record": Accident(cut(0.7), "failed", "truncated"),
    "cut in a text": Accident(cut(0.6, at=b"team"), "failed", "truncated"),
    "cut behind a record": Accident(
        lambda day: cut(0.6, at={"csv": b"/apply/R-", "xml": b"</job>", "json": b"}"}[day.form])(day),
        "failed withheld", "",
    ),
    "cut and compressed": Accident(cut(0.5, compressed=True), "failed", "truncated"),
    "a quote that swallows": Accident(unquoted, "failed withheld", "", forms=("csv", "json")),
    "a total that says more": Accident(declared, "withheld", "says that it has 99 records", forms=("xml", "json")),
    "twice in one file": Accident(twice, "failed right", ""),
    "UTF-16 without a mark": Accident(lambda day: day.content.decode().encode("utf-16-le"), "failed right", ""),
    "Windows-1252 undeclared": Accident(lambda day: day.content.decode().encode("cp1252"), "failed right", ""),
}  # fmt: skip
