"""The text of a drafted feed file: TOML with comments for a person."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute
from itertools import islice

from syncd.domain import FIELD, Catalogue, repaired
from syncd.feeds.drafting.columns import MAX_SAMPLES, Column, ColumnSearch, Guess, comparable
from syncd.feeds.drafting.guessing import KIND, POSTING, doubted_addresses
from syncd.feeds.drafting.left_out import LeftOut, records_to_leave_out
from syncd.feeds.drafting.survey import Paging, Survey
from syncd.feeds.mapping import EMAIL_FIELD, ROUTING_FIELD, URL_FIELD, USUAL, lookup_lines, lookups_in
from syncd.feeds.mapping.presets import load_preset
from syncd.feeds.source import Source
from syncd.feeds.toml_text import comment, key, plain, shown, text, value

#: Keys of a right-hand side whose texts are not selectors.
_NOT_SELECTORS = frozenset("date default html lookup prefer split too_long value".split())
#: The most columns that are shown of a field of the preset, and places of a record that are listed with their samples.
_MAX_SHOWN, _MAX_LISTED = 4, 200
_MAX_WIDTH = 40
#: The least pay without a period that is likely pay for a year.
YEARLY_ABOVE = 10_000
_CONDITION = re.compile(r"\[[^\]]*\]")

Lines = Iterator[str]


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings about a file. ``presets`` are those that are considered, with scores from 0 to 1; ``columns`` are those of the
    survey; ``source``: the one that it was fetched from, ``paging``: the sign of more pages in its answer."""

    name: str
    employer: str
    file: str
    today: str
    survey: Survey
    catalogue: Catalogue
    presets: list[tuple[str, float]]
    columns: ColumnSearch
    source: Source | None = None
    paging: Paging | None = None

    def left_out(self, plan: "DraftPlan") -> list[LeftOut]:
        """Return the rules for records that are not for the public, or closed, beside the status of a plan."""
        mapped = load_preset(plan.preset).get("fields", {}) if plan.preset else {}
        used = set()
        for name in ("status", "closeDate", "confidential"):
            if name in plan.fields:
                used |= {column.selector for column in plan.fields[name].columns}
            else:
                used |= {column.selector for column in islice(self.read_by(mapped.get(name)), 1)}
        return records_to_leave_out(self.columns, used, self.today)

    def read_by(self, right: object) -> Iterator[Column]:
        """Yield the columns that a right-hand side reads, the first alternative first."""
        for selector in _selectors(right):
            yield from _read_by(selector, self.columns.all)


@dataclass(frozen=True, slots=True)
class DraftPlan:
    """The plan of a feed's file: the service's own shape, or a preset, or neither, with fields of its own. ``records`` is
    the place of the records, if the preset does not find it."""

    native: bool = False
    preset: str | None = None
    records: str | None = None
    fields: Mapping[str, Guess] = attribute(default_factory=dict)


def render(
    findings: Findings,
    plan: DraftPlan,
    unknown: Mapping[str, Counter[str]],
    lacking: Sequence[str] = (),
    *,
    yearly: int = 0,
    elsewhere: int = 0,
) -> str:
    """Return the whole file. ``unknown``: values by field that no catalogue has; ``lacking``: fields that most records lack;
    ``yearly``: the number of records with pay of tens of thousands without a period; ``elsewhere``: that of the records that
    are an earlier one at another place."""
    lines = [*_head(findings, plan)]
    if elsewhere:
        lines += comment(
            f"{elsewhere:,} records have the referenceId of an earlier one, and differ from it in their places alone: the last"
            " one of each posting counts. To make one posting with the first three places, take the # off:"
        )
        lines.append('# repeats = "places"')
    lines.append("")
    lines += _source(findings.source, findings.paging)
    lines += _rows(findings.columns, findings.left_out(plan))
    lines += _read(findings, plan)
    if not plan.native:
        lines += [
            "",
            *_fields(findings, plan, lacking),
            *_yearly_pay(plan, yearly),
            "",
            *_lookups(findings, plan, unknown),
        ]
    return "\n".join([*lines, *_inventory(findings.survey, plan.fields), ""])


def _head(findings: Findings, plan: DraftPlan) -> Lines:
    survey = findings.survey
    yield from comment(
        f"The feed {findings.name}, drafted by `syncd feed new` on {findings.today} from {shown(findings.file)}."
        " It is yours now: change what you like, then try it with"
        f" `syncd feed check {findings.name} FILE` and `syncd plan FILE --feed {findings.name}`."
    )
    yield "#"
    number = f"{survey.records:,}{' and more' if survey.more else ''}"
    where = f" at {plain(survey.path)}" if survey.path else ""
    mark = "" if survey.delimiter is None else f", delimiter {shown(survey.delimiter)}"
    encoding = "ASCII" if survey.encoding == "guess" else survey.encoding
    yield f"# Found: {survey.format}, {encoding}{mark}; {number} records{where}."
    if survey.unreadable:
        yield f"# {survey.unreadable} records could not be read."
    if survey.broken is not None:
        yield from comment(
            f"The file is broken: {plain(survey.broken.detail, 200)} ({survey.broken.where()})."
        )
    if plan.native:
        yield from comment("These are the service's own names, so the feed needs no mapping.")
    elif findings.source is not None and findings.source.board is not None:
        yield f"# The address is that of a board of {plan.preset}."
    elif plan.preset:
        likely = ", ".join(f"{name} {score:.2f}" for name, score in findings.presets[:4])
        yield from comment(f"The records look like the preset {plan.preset} (scores from 0 to 1: {likely}).")
    elif findings.presets:
        yield from comment(
            f"More records go in by these guesses than by the preset {findings.presets[0][0]}."
        )
    else:
        yield from comment("No preset fits; the fields below were guessed from names and values.")
    yield ""
    yield f"employer = {text(findings.employer[:128])}  # the employer's name: `syncd employer list`"
    if plan.preset:
        yield f"preset = {text(plan.preset)}  # what follows overrides it, field by field"
    yield 'mode = "snapshot"  # what a file lacks is archived; "delta": a file only adds and updates'


def _source(source: Source | None, paging: Paging | None) -> Lines:
    if source is None:
        return
    yield "[source]"
    yield f"url = {value(source.url)}" if source.board is None else f"board = {value(source.board)}"
    yield 'every = "1h"  # or at = ["06:00", "18:00"]'
    if source.insecure_hosts:
        yield f"insecure_hosts = {value([*source.insecure_hosts])}"
    if paging is not None and paging.pages is not None:
        yield f"pages = {value(paging.pages.table)}  # {plain(paging.said)}"
    elif paging is not None:
        yield f"# {plain(paging.said)}. Take the # off, and put the right parameter:"
        yield '# pages = { parameter = "page", from = 1, until = "empty" }'
    yield ""


def _rows(columns: ColumnSearch, left_out: Sequence[LeftOut]) -> Lines:
    """Yield lines that leave out records that are not postings, or of another company, or not for the public."""
    hints: list[tuple[str, str]] = []
    kinds = [c for c in columns.all if c.selector == KIND and POSTING in c.texts and c.different > 1]
    companies = columns.named("company", lambda c: c.average < 100 and 1 < c.different <= MAX_SAMPLES)
    for kind in kinds:
        said = (
            f"{plain(kind.selector)} says that some records are not postings: {_samples([*kind.texts][:5])}."
        )
        only = f"only = {{ {text(kind.selector)} = {text(POSTING)} }}"
        hints.append((f"{said} To leave these out, take the # off the lines below:", only))
    for company in [] if kinds else companies[:1]:
        said = (
            f"{plain(company.selector)} has {company.different} values: {_samples(company.samples)}. A feed belongs to one"
            " employer, and all of these go in under the one above. To take the rows of one company alone:"
        )
        hints.append((said, f"only = {{ {text(company.selector)} = {text(company.samples[0])} }}"))
    certain = [rule for rule in left_out if rule.certain]
    if certain:
        yield from comment(
            "These are not for the public, or closed. A line without its rule takes such records in:"
        )
        yield "[rows]"
        yield "skip = ["
        for rule in certain:
            yield f"  {_condition(rule)},  # {plain(rule.said, 90)}"
        yield "]"
    elif left_out:
        said = f"{plain(left_out[0].said)}. To leave such postings out:"
        hints.append((said, f"skip = {_condition(left_out[0])}"))
    for number, (said, line) in enumerate(hints):
        yield from comment(said)
        if number == 0 and not certain:
            yield "# [rows]"
        yield f"# {line}"
    if hints or certain:
        yield ""


def _condition(rule: LeftOut) -> str:
    values = rule.values[0] if len(rule.values) == 1 else [*rule.values]
    return f"{{ {text(rule.column.selector)} = {value(values)} }}"


def _read(findings: Findings, plan: DraftPlan) -> Lines:
    survey, preset = findings.survey, plan.preset
    in_pages = findings.paging is not None and findings.paging.pages is not None
    path = plan.records or survey.spec.records or (None if preset and not in_pages else survey.path)
    yield "[read]  # what is not said here is found out from each file"
    if not in_pages and (not preset or survey.spec.format):
        yield f"format = {text(survey.format)}"
    if path and survey.format in ("xml", "json"):
        yield f"records = {text(path)}"
    if survey.spec.sheet is not None:
        yield f"sheet = {text(survey.spec.sheet)}  # of the sheets that has most of what looks like jobs"
    if survey.delimiter is not None:
        yield f"# delimiter = {text(survey.delimiter)}"
    if survey.spec.encoding is not None:
        yield f"encoding = {text(survey.spec.encoding)}  # the file declares another, wrongly"
    elif survey.encoding not in ("guess", "utf-8"):
        yield f"# encoding = {text(survey.encoding)}  # if the files ever come out with wrong letters"
    samples = (sample for column in survey.columns.values() for sample in column.samples)
    if (spoilt := next((sample for sample in samples if repaired(sample) != sample), None)) is not None:
        yield f"# repair_text = true  # mends text that was decoded twice, such as {shown(spoilt)}"
    if survey.spec.recover:
        yield "recover = true  # this file is not well-formed; read so, nothing is ever archived from it"
    elif survey.broken is not None and survey.format == "xml":
        yield "# recover = true  # reads XML that is not well-formed; nothing is ever archived then"


def _fields(findings: Findings, plan: DraftPlan, lacking: Sequence[str]) -> Lines:
    preset, fields = plan.preset, plan.fields
    yield "[fields]" + ("  # in place of the preset's" if preset and fields else "")
    for guess in fields.values():
        share = "" if guess.share >= 0.995 else f"; {guess.share:.0%} of the records have it"
        yield from comment(f"{guess.field}: {guess.why}{share}")
        for column in guess.columns[:4]:
            yield f"#   {plain(column.selector)}: {_samples(column.samples)}"
        yield f"{guess.field} = {value(guess.expression)}"
    if preset:
        yield from _preset_lines(preset, fields, findings.survey.columns.values())
    missing = [name for name in _FILL if name in lacking or (not preset and name not in fields)]
    if missing:
        yield "# Nothing was found for these in most records:"
        yield from (f"# {_FILL[name]}" for name in missing)
    if ROUTING_FIELD in missing and URL_FIELD not in fields:
        for column, field, why in doubted_addresses(findings.columns):
            yield from comment(
                f"{plain(column.selector)} {why}: {_samples(column.samples)}. If people apply there:"
            )
            yield f"# {ROUTING_FIELD} = {{ prefer = [{text(field)}] }}"
            yield f"# {field} = {text(column.selector)}"
        for column in findings.columns.named(URL_FIELD, lambda c: c.share("url", "host", "email") <= 0.5):
            address = text("https://employer.example{" + column.selector + "}")
            yield from comment(
                f"{plain(column.selector)} has no whole address: {_samples(column.samples)}."
                " If it is a part of the page to apply on:"
            )
            yield f'# {ROUTING_FIELD} = {{ value = "URL" }}'
            yield f"# {URL_FIELD} = {{ template = {address} }}"


def _yearly_pay(plan: DraftPlan, records: int) -> Lines:
    """Yield the proposal of a period for pay that looks like that for a year."""
    if not records:
        return
    mapped = load_preset(plan.preset).get("fields", {}) if plan.preset else {}
    right = plan.fields["salary"].expression if "salary" in plan.fields else mapped.get("salary", "…")
    pay = dict(right) if isinstance(right, Mapping) else {"text": right}
    yield from comment(
        f"Pay of {YEARLY_ABOVE:,} and more comes without a period in {records:,} records, so it is not sent."
        " If it is pay for a year, let this line replace that of salary:"
    )
    yield f"#   salary = {value(pay | {'infer_period': {'yearly_above': YEARLY_ABOVE}})}"


def _preset_lines(preset: str, replaced: Collection[str], columns: Iterable[Column]) -> Iterator[str]:
    """Yield the fields of a preset, but for those ``replaced``, as comments; before each the columns that it reads."""
    mapped = load_preset(preset).get("fields", {})
    fields = {name: right for name, right in mapped.items() if name not in replaced and right is not False}
    if not fields:
        return
    filled = [column for column in columns if column.samples]
    yield from comment(f"What the preset {preset} maps. To change a field, take the # off its line.")
    for name, right in fields.items():
        named = list(_selectors(right))
        read = {column.selector: column for selector in named for column in _read_by(selector, filled)}
        for column in list(read.values())[:_MAX_SHOWN]:
            yield f"#   {plain(column.selector)}: {shown(column.samples[0])}"
        if named and not read:
            yield "#   (this file has none of these)"
        yield f"# {name} = {value(right)}"


def _selectors(right: object, each: str = "") -> Iterator[str]:
    """Yield the selectors of a right-hand side. ``each``: the selector of the parts to which they are applied."""
    if isinstance(right, str):
        inner = re.findall(r"\{([^{}]+)\}", right) or [right]
        yield from (f"{each}/{selector}" if each else selector for selector in inner)
    elif isinstance(right, Mapping):
        parents = right.get("each", each)
        for parent in parents if isinstance(parents, list) else [parents]:
            for key, part in right.items():
                if key != "each" and key not in _NOT_SELECTORS:
                    yield from _selectors(part, "" if parent == "." else parent)
    elif isinstance(right, list):
        for part in right:
            yield from _selectors(part, each)


def _read_by(selector: str, columns: Iterable[Column]) -> Iterator[Column]:
    """Yield the columns that a selector reads, judging by their names. Conditions on steps are ignored."""
    *above, path = re.split(r"//|\*/", _CONDITION.sub("", selector))
    for column in columns:
        name = _CONDITION.sub("", column.selector)
        if comparable(name) == comparable(path) or (above and name.endswith(f"/{path}")):
            yield column


def _samples(samples: list[str]) -> str:
    return ", ".join(shown(sample) for sample in samples)


_NEEDED = "  # a job needs it to be active"
#: Field → its lines in a comment, where a file has nothing for it.
_FILL = {
    "title": f'title = "…"{_NEEDED}',
    "description": f'description = {{ from = "…", html = "clean" }}{_NEEDED}',
    "locations": f'locations = {{ value = "Toronto, ON" }}{_NEEDED}',
    ROUTING_FIELD: f'{ROUTING_FIELD} = {{ value = "Email" }}\n'
    f'# {EMAIL_FIELD} = {{ value = "jobs@employer.example" }}{_NEEDED}\n'
    "# or at a page whose address is made from the record:\n"
    f'# {ROUTING_FIELD} = {{ value = "URL" }}\n'
    f'# {URL_FIELD} = {{ template = "https://employer.example/jobs/{{…}}" }}',
    "closeDate": 'closeDate = { from = "…", date = ["iso"] }',
    "salary": 'salary = { text = "…" }',
}


def _lookups(findings: Findings, plan: DraftPlan, unknown: Mapping[str, Counter[str]]) -> Lines:
    """Yield every lookup that the fields name. Values that the catalogues lack are comments; without its ``#`` a line counts."""
    preset, fields = plan.preset, plan.fields
    for guess in fields.values():
        if guess.lookup and guess.field == "closeDate":
            yield "[lookup.no_date]  # words where a date is expected: no date"
            yield from (f"{text(word)} = {text(meaning)}" for word, meaning in guess.lookup.items())
            yield ""
    used = {name: set(lookups_in(guess.expression)) for name, guess in fields.items()}
    names = [
        (name, lookup)
        for name, lookup in USUAL.items()
        if lookup in used.get(name, ()) or (preset and (name != "status" or unknown.get(name)))
    ]
    if not names:
        return
    yield from comment(
        "Names in the feed = names or ids of the catalogue (case, accents and punctuation do not count)."
        " Take the # off a line and fill it in; left empty, the value is ignored."
    )
    for name, lookup in names:
        if name == "status":
            yield from comment(
                "A status is active, archived or draft. A row with another word is rejected, until its line here is filled in."
                ' With "" the status is not sent, and a new job is live.'
            )
        if unknown.get(name) and (catalogue := FIELD[name].catalogue):
            entries = findings.catalogue.entries(catalogue).values()
            yield from comment(
                f"The catalogue has: {' · '.join(each.name for each in entries if not each.retired)}."
            )
        yield f"[lookup.{key(lookup)}]"
        if name in fields:
            yield from (f"{text(code)} = {text(meaning)}" for code, meaning in fields[name].lookup.items())
        for line in lookup_lines(unknown.get(name, Counter()), name, findings.catalogue):
            yield line if line.startswith("#") else f"# {line}"
        yield ""


def _inventory(survey: Survey, fields: Mapping[str, Guess]) -> Lines:
    used = {column.selector: guess.field for guess in fields.values() for column in guess.columns}
    columns = list(survey.columns.values())
    yield f"# What the records have: how many of {survey.records:,} have it, and samples."
    width = min(_MAX_WIDTH, max((len(column.selector) for column in columns), default=0))
    for column in columns[:_MAX_LISTED]:
        mark = f" → {used[column.selector]}" if column.selector in used else ""
        name = plain(column.selector)
        yield f"#   {name:{width}}  {column.filled:>6,}{mark}  {_samples(column.samples)}"
    if len(columns) > _MAX_LISTED:
        yield f"#   … and {len(columns) - _MAX_LISTED} more"
