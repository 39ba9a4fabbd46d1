"""Which of a file's values are which field of a job: by their names, then by what they look like.

Every guess has its reason in words, since a person is to check it. Nothing here is used without being written into a
feed's file first."""

from __future__ import annotations

from syncd.domain import name_key
from syncd.feeds.drafting.column_search import ColumnSearch
from syncd.feeds.drafting.columns import SAMPLES, Column
from syncd.feeds.drafting.date_guesses import guess_close_date
from syncd.feeds.drafting.guess import Guess, one_or_list
from syncd.feeds.drafting.place_guesses import guess_locations
from syncd.feeds.drafting.salary_guesses import guess_salary
from syncd.feeds.drafting.text_guesses import guess_description, guess_reference, guess_title
from syncd.feeds.mapping import EMAIL_FIELD, STATUSES, URL_FIELD

#: What an attribute "type" says of its element, and never of a job.
_DATA_TYPES = frozenset(
    "array boolean cdata date datetime decimal email float html integer number string text url xhtml xml".split()
)


def guess_fields(columns: ColumnSearch) -> dict[str, Guess]:
    """Return the guesses by field, in the order in which a person would read them."""
    made = (
        guess_reference(columns),
        guess_title(columns),
        guess_description(columns),
        guess_close_date(columns),
        guess_locations(columns),
        _guess_entry(columns, "categories", "category", "Other"),
        _guess_entry(columns, "positionType", "position", "Full Time"),
        guess_salary(columns),
        _guess_status(columns),
        _guess_address(columns, URL_FIELD, "url", "host"),
        _guess_address(columns, EMAIL_FIELD, "email"),
    )
    return {guess.field: guess for guess in made if guess is not None}


def guess_company(columns: ColumnSearch) -> str | None:
    """Return the employer's name as the file has it, if it has one in most records."""
    found = columns.named("company", lambda column: column.average < 100 and column.different <= 3)
    return found[0].samples[0] if found and found[0].filled * 2 > columns.records else None


def near_addresses(columns: ColumnSearch) -> list[Column]:
    """Return the columns with the name of an address to apply at, but without such addresses."""
    return columns.named(URL_FIELD, lambda c: c.share("url", "host", "email") <= 0.5)


def _guess_entry(columns: ColumnSearch, field: str, lookup: str, default: str) -> Guess:
    """Entries of a catalogue; ``default`` where the file has none."""

    def fits(column: Column) -> bool:
        plain = column.share("url", "email", "html", "number") < 0.5
        return column.average < 80 and plain and not _is_data_type(column)

    found = [c for c in columns.named(field, fits) if not columns.against(c, field)]
    if not found:
        return Guess(field, {"value": default}, f"nothing in the file says so; {default} for all")
    samples = [sample for column in found for sample in column.samples]
    marks = [mark for mark in (",", ";", "|") if any(mark in sample for sample in samples)]
    source = {"from": one_or_list(found)} | ({"split": marks} if marks else {})
    source |= {"lookup": lookup, "default": default}
    return columns.guess(field, found, source, f"by its name; {default} where nothing fits")


def _is_data_type(column: Column) -> bool:
    """Whether an attribute ``type`` says of what kind its element is (``<content type="xhtml">``)."""
    if not column.selector.casefold().endswith("@type"):
        return False
    return all("/" in text or text.casefold() in _DATA_TYPES for text in column.samples)


def _guess_status(columns: ColumnSearch) -> Guess | None:
    """Only a column that has no more values than were sampled, and where every one of them is known."""

    def fits(column: Column) -> bool:
        known = all(name_key(sample) in STATUSES for sample in column.samples)
        return column.values > 0 and column.different <= SAMPLES and known

    found = columns.named("status", fits)[:1]
    if not found or found[0].filled < columns.records * 0.9:
        return None
    return columns.guess("status", found, found[0].selector, "by its name and values")


def _guess_address(columns: ColumnSearch, field: str, kind: str, bare: str = "") -> Guess | None:
    """``bare`` is a kind that counts as well in a column of the right name."""
    found = columns.named(field, lambda c: c.kinds[kind] + c.kinds[bare] > 0.5 * c.values)
    found = [c for c in found if not columns.against(c, field)]
    why = "by its name"
    if not found:
        found = columns.alike(
            field, lambda c: c.share(kind) > 0.8, lambda c: (-c.filled, -c.different, c.selector)
        )
        why = f"by its values: {'web' if kind == 'url' else 'e-mail'} addresses"
    return columns.guess(field, found, one_or_list(found), why) if found else None
