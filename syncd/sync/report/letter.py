"""The reader of a feed's reports: his language, and his names of the columns. They are stored where a file's reports are first
written, so that every later report about the feed is like them (docs/feeds.md "Reports and corrected rows")."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

import msgspec

from syncd import languages
from syncd.languages import Language
from syncd.store import Tx, facts

if TYPE_CHECKING:  # a command that only reads the store needs no reader of feeds
    from syncd.feeds.configuration import FeedConfig
    from syncd.feeds.mapping import Mapping as FieldMapping

#: A date with which nobody takes the day for the month; format of dates → how it looks in it, ISO in any other: ``numbers``,
#: which may be read in two ways, takes it, too.
_DAY = date(2030, 11, 30)
_DAYS = {
    "dmy": "30/11/2030",
    "mdy": "11/30/2030",
    "words": "30 NOV 2030",
    "rfc822": "Sat, 30 Nov 2030 00:00:00 EST",
    "epoch": "1922270400",
    "epoch_ms": "1922270400000",
    "excel": "47817",
}

#: Field → its name in a sentence.
FIELDS = {
    "referenceId": "the reference number",
    "title": "the job title",
    "closeDate": "the closing date",
    "confidential": "the mark for confidential jobs",
    "autoRefresh": "the mark for automatic renewal",
    "status": "the status of the job",
    "locations": "the place of work",
    "categories": "the category",
    "positionType": "the type of position",
    "salary": "the salary",
    "maxAmount": "the highest salary",
    "period": "the period of the salary",
    "plusCommission": "the mark for commission",
    "description": "the description",
    "applicantRoutingType": "the way to apply",
    "applicationEmail": "the e-mail address for applications",
    "applicationUrl": "the web address for applications",
}


@dataclass(frozen=True, slots=True)
class Letter:
    """``columns``: pointer of a field (``/title``, ``/salary/amount``) → the partner's name of it. ``noun``: ``column`` or
    ``field``. ``day``: a date as the feed takes one. ``kept``: pointer, code and detail of a problem → the sentence that was
    made of them."""

    say: Language
    columns: Mapping[str, str] = field(default_factory=dict)
    noun: str = "column"
    day: str = _DAY.isoformat()
    kept: dict[tuple[str, str, str], str] = field(default_factory=dict, compare=False, repr=False)

    def column(self, pointer: str) -> str | None:
        """Return the partner's name of the field with this pointer, None if it is not known."""
        steps = pointer.split("/")
        return next((c for end in (3, 2) if (c := self.columns.get("/".join(steps[:end])))), None)

    def what(self, pointer: str) -> str:
        """Return the words for a field: ``the column Ville``, or its name in FIELDS."""
        if name := self.column(pointer):
            return self.say("the column {name}" if self.noun == "column" else "the field {name}", name=name)
        return self.field(pointer)

    def field(self, pointer: str) -> str:
        """Return the service's name of the field with this pointer."""
        steps = [step for step in pointer.split("/") if step and not step.isdigit()]
        steps = steps[::-1] if steps[:1] == ["salary"] else steps
        return self.say(next((FIELDS[step] for step in steps if step in FIELDS), "the row"))


def letter_for(config: "FeedConfig", names: Sequence[str]) -> Letter:
    """Return the reader of the reports of a feed whose file has these ``names`` of columns."""
    noun = "column" if config.read.format in (None, "csv") else "field"
    return Letter(
        languages.language(config.language), config.mapping.columns(names), noun, example_day(config.mapping)
    )


def example_day(mapping: "FieldMapping") -> str:
    """Return a closing date as the mapping takes one."""
    expression = mapping.fields.get("closeDate")
    formats = expression.get("date") if isinstance(expression, dict) else None
    form = formats[0] if isinstance(formats, list) and formats else formats
    if isinstance(form, str) and "%" in form:
        return _DAY.strftime(form)
    return _DAYS.get(str(form), _DAY.isoformat())


def note_letter(tx: Tx, feed: str, letter: Letter) -> None:
    """Store the reader of the reports of ``feed``."""
    value = msgspec.json.encode(
        [letter.say.name, dict(sorted(letter.columns.items())), letter.noun, letter.day]
    ).decode()
    if facts.get(tx, _name(feed)) != value:
        facts.put(tx, _name(feed), value)


def letter_of(tx: Tx, feed: str) -> Letter:
    """Return the reader of the reports of ``feed``, as ``note_letter`` stored him; without that, of the default language."""
    value = facts.get(tx, _name(feed))
    # one of an older program has no day
    language, *rest = msgspec.json.decode(value) if value else [languages.DEFAULT]
    return Letter(languages.language(language), *rest)


def _name(feed: str) -> str:
    return f"letter {feed}"
