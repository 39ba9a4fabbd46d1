"""The sheet that a partner gets before his first file: the way of a file, its columns with an example each, the required ones,
and how a file is corrected (docs/feeds.md "The sheet for a partner"). It is made from the mapping in force, in his language."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import NamedTuple

from syncd.domain import FIELDS, SALARY_MEMBERS, Catalogue, FieldKind, JobField, Needed
from syncd.feeds.configuration import FeedConfig
from syncd.feeds.mapping import Mapping as FieldMapping
from syncd.feeds.mapping import has_constants, proposed_columns
from syncd.feeds.source import Secret, Source
from syncd.languages import Language, language
from syncd.sync.report.files.html import rendered, style_source
from syncd.sync.report.letter import FIELDS as FIELD_WORDS
from syncd.sync.report.letter import Letter, example_day

#: Field, or member of the salary → an example, as an employer would write it.
_EXAMPLES = {
    "referenceId": "R-1042",
    "title": "Night cook",
    "locations": "Vancouver, BC",
    "province": "BC",
    "categories": "Customer Service",
    "positionType": "Full Time",
    "salary": "24.50 per hour",
    "amount": "24.50",
    "maxAmount": "28.00",
    "period": "Hourly",
    "description": "You prepare meals for 40 guests. Two years of experience.",
    "applicationEmail": "jobs@example.ca",
    "applicationUrl": "https://www.example.ca/jobs/17",
}
#: Examples that every mapping reads and that are the same in all languages.
_PLAIN = {
    "confidential": "true",
    "autoRefresh": "true",
    "plusCommission": "true",
    "applicantRoutingType": "1",
    "status": "active",
}
#: Fields whose values are entries of a catalogue. Between names of columns whose values together are one.
_ENTRIES, _BETWEEN = ("categories", "positionType", "period"), " / "
_PROVINCE, _ROUTING = "the province", "yes: 1 for e-mail, 2 for a web page"
_ADDRESSES = ("applicationEmail", "applicationUrl")
#: Format → the file in words.
_FORMS = {
    "csv": "The file is a table: CSV, or an Excel file (.xlsx). Its first line has the names of the columns below.",
    "xml": "The file is XML. The names below are those of the elements of a job.",
    "json": "The file is JSON. The names below are those of the members of a job.",
    "jsonl": "The file has one JSON object on each line. The names below are those of its members.",
}


class Column(NamedTuple):
    """A row of the table. ``name``: the partner's name of ``field``, which is in words, as is ``need``: whether it must be filled
    in. ``required`` is True if a row without it is not taken."""

    name: str
    field: str
    required: bool
    need: str
    example: str


class Sheet(NamedTuple):
    """``employer``: his name; ``columns``: in the order of the fields; ``html``: the sheet as a page that is one file."""

    employer: str
    language: str
    columns: list[Column]
    html: str

    @property
    def policy(self) -> str:
        """The Content-Security-Policy of the page: it needs its own stylesheet and nothing else."""
        return f"default-src 'none'; style-src {style_source()}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    def entry(self) -> dict[str, object]:
        """Return the sheet as ``syncd feed sheet --json`` prints it."""
        return {
            "employer": self.employer,
            "language": self.language,
            "columns": [column._asdict() for column in self.columns],
        }


def sheet_of(config: FeedConfig, employer: str, names: Collection[str], catalogue: Catalogue) -> Sheet:
    """Return the sheet of a feed. ``names``: those of its last used file, none before the first one."""
    say, policy = language(config.language), config.policy
    columns = _columns(config, [*names], say)
    listed = {column.field for column in columns}
    words = [
        (say(title), ", ".join(entry.name for entry in entries.values()))
        for field, title, entries in (
            ("categories", "Categories", catalogue.categories),
            ("positionType", "Types of position", catalogue.position_types),
        )
        if any(say(FIELD_WORDS[field]) in named for named in listed)
    ]
    form = config.read.format or ("csv" if not config.mapping.maps else None)
    html = rendered(
        "sheet.html.j2",
        say=say,
        config=config,
        employer=employer,
        fetched=_fetched(config.source, say) if config.source is not None else None,
        every=_every(config.expect_every, say) if config.expect_every is not None else None,
        form=say(_FORMS[form]) if form else None,
        encoding=config.read.encoding if form == "csv" else None,
        whole=policy.mode == "snapshot",
        grace=policy.grace,
        noun=say("Column") if form in (None, "csv") else say("Name"),
        columns=columns,
        words=words,
    )
    return Sheet(employer, say.name, columns, html)


def _columns(config: FeedConfig, names: list[str], say: Language) -> list[Column]:
    """Return the columns at which the mapping looks, each once: several fields may be from one."""
    known = proposed_columns(config.mapping.fields, config.mapping.columns(names))
    by_name: dict[str, Column] = {}
    for field in FIELDS:
        for part in _parts(field, known):
            added = _column(config, known, part, field, say)
            if (before := by_name.get(added.name)) is not None:
                first = before if before.required or not added.required else added
                made = config.mapping.fields.get(field.name)
                is_derived = isinstance(made, dict) and "derive" in made
                example = before.example if is_derived else added.example
                added = first._replace(field=f"{before.field}, {added.field}", example=example)
            by_name[added.name] = added
    return [*by_name.values()]


def _parts(field: JobField, known: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the pointers of the field for which there is a column, with the names of the field or of its member."""
    pointer = f"/{field.name}"
    if pointer not in known:
        return []
    if field.kind is FieldKind.SALARY:
        members = [(f"{pointer}/{member.name}", member.name) for member in SALARY_MEMBERS]
        members = [member for member in members if member[0] in known]
        if members and (known[pointer] in (known[members[0][0]], field.name)):
            return members
    if (province := f"{pointer}/province") in known:
        return [(pointer, field.name), (province, "province")]
    return [(pointer, field.name)]


def _column(
    config: FeedConfig, known: Mapping[str, str], at: tuple[str, str], field: JobField, say: Language
) -> Column:
    mapping, (pointer, part) = config.mapping, at
    words = say(_PROVINCE) if part == "province" else Letter(say).field(pointer)
    required, need = False, say("if you like")
    if part == "period":
        need = say("with a salary")
    elif part != field.name:
        pass
    elif field.name == "referenceId":
        required, need = True, say("yes: it stays the same as long as the job, and no other job has it")
    elif field.kind is FieldKind.CHOICE and part in _PLAIN:
        required, need = True, say(_ROUTING)
    elif field.name in _ADDRESSES and all(f"/{name}" in known for name in _ADDRESSES):
        need = say("one of the two addresses")
    elif field.needed is not Needed.NEVER or field.name in _ADDRESSES:
        required = not has_constants(mapping.fields.get(field.name))
        need = say("yes") if required else say("if it is empty, the value that was agreed counts")
    example = _example(mapping, known[pointer], part, say)
    return Column(known[pointer], words, required, need, example)


def _example(mapping: FieldMapping, name: str, part: str, say: Language) -> str:
    """Return an example of a field, or of its member ``part``, that is in the column ``name``."""
    if part == "closeDate":
        return example_day(mapping)
    if part in _PLAIN:
        return _PLAIN[part]
    if part in _ENTRIES and (word := _own_word(mapping, part)) is not None:
        return word
    # the entries of catalogues have English names, and a feed that has no mapping takes no other
    example = _EXAMPLES[part] if part in _ENTRIES and not mapping.maps else say(_EXAMPLES[part])
    return example.replace(", ", _BETWEEN) if part == "locations" and _BETWEEN in name else example


def _own_word(mapping: FieldMapping, field: str) -> str | None:
    """Return the first text of the field's lookup that a value replaces."""
    table = mapping.lookups.get(mapping.lookup_of(field) or "", {})
    return next((word for word, value in table.items() if value and "*" not in word), None)


def _fetched(source: Source, say: Language) -> str:
    where = say("the address that was agreed") if isinstance(source.url, Secret) else source.shown
    if source.at:
        times = ", ".join(f"{time:%H:%M}" for time in source.at)
        return say(
            "You send nothing: the job board fetches your file from {where}, at {times}.",
            where=where,
            times=times,
        )
    if source.every is not None:
        every = _every(source.every, say)
        return say(
            "You send nothing: the job board fetches your file from {where}, {every}.",
            where=where,
            every=every,
        )
    return say("You send nothing: the job board fetches your file from {where}.", where=where)


def _every(span: timedelta, say: Language) -> str:
    minutes = max(1, round(span.total_seconds() / 60))
    if minutes % 1440 == 0:
        return say.count("every day", "every {number} days", minutes // 1440)
    if minutes % 60 == 0:
        return say.count("every hour", "every {number} hours", minutes // 60)
    return say.count("every minute", "every {number} minutes", minutes)
