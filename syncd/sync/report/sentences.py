"""Sentences about rows, values and files for somebody who has never seen this software: his names of columns, no codes, and what
would be right. Each is made from the code of a problem; the parts of its message that help (a similar name, a limit) are kept.

The words about a whole file are true for its counts: none, some or all of the rows went in. They name no command, no setting."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from syncd.errors import Problem
from syncd.languages import Language
from syncd.sync.report.letter import Letter

_EMPTY = "{what} is empty. Every job needs a value there."
#: Code of a problem → its sentence. ``what``: the column or the field.
_PROBLEMS = {
    "required": _EMPTY,
    "null_not_allowed": _EMPTY,
    "wrong_type": "The value in {what} is of another kind than the one that belongs there.",
    "too_long": "The text in {what} is too long. Shorten it.",
    "out_of_range": "The number in {what} is too small, too large, or has too many decimals.",
    "too_few": "There are too few values in {what}.",
    "too_many": "There are too many values in {what}.",
    "unknown_value": "The value in {what} is not known here.",
    "unknown_province": "The text behind the comma in {what} is not a province or territory of Canada. Write a city"
    " and its province, such as Vancouver, BC.",
    "outside_canada": "The place in {what} is outside Canada. Only jobs in Canada are taken.",
    "unknown_field": "The row has a name of a column that is not known here.",
    "read_only_mismatch": "The number of the job on the board does not belong to this reference number. Leave it out.",
    "invalid_date": "The value in {what} is not a date that can be read. Write dates like this one: {day}.",
    "date_order": "The closing date has passed. Give a later one, or leave the job out.",
    "invalid_email": "The value in {what} is not an e-mail address. Write one address, such as jobs@example.ca.",
    "invalid_url": "The value in {what} is not a web address. Write it whole, such as https://www.example.ca/jobs/17.",
    "disallowed_html": "The text in {what} has formatting that is not allowed. Keep paragraphs, lists, bold and italics.",
    "invalid_characters": "The text in {what} has a character that cannot be shown. Remove it.",
    "ragged_row": "The row has more or fewer cells than the first line of the file. A text with"
    " a separator in it needs quotation marks.",
    "bad_quotes": "A quotation mark in the row has no partner. Write each one inside a text twice.",
    "cut_off": "The row seems to be cut off. Send the whole file again.",
    "not_well_formed": "The row cannot be read, because its markup is broken.",
    "invalid_json": "The row cannot be read, because its JSON is broken.",
    "too_deep": "The row cannot be read, because too many lists are inside one another.",
    "owned_by_other_feed": "Another source of jobs has this reference number already. Ask the job board about it.",
    "write_failed": "The row could not be saved. Send the file again, or ask the job board about it.",
}
_UNKNOWN_PROBLEM = "The value in {what} cannot be used. Ask the job board about it."
#: Message of a problem → the sentence that it has in place of that of its code.
_SPECIAL = (
    (
        re.compile(r"scientific notation"),
        "The value in {what} was shortened by a spreadsheet, and its last digits are lost. Format the column as text, and enter"
        " the value again.",
    ),
    (
        re.compile(r"formula has failed"),
        "The value in {what} is the sign of a formula that has failed. Correct the formula in your spreadsheet.",
    ),
    (
        re.compile(r"may be (?P<one>\S+) or (?P<two>[^\s;]+);"),
        "The date in {what} can be {one} or {two}. Write dates like this one: {day}.",
    ),
    (
        re.compile(r"at most (?P<most>[0-9]+) (?:characters )?(?:are|is) allowed"),
        "The text in {what} is too long: it can have {most} characters.",
    ),
)
_NEAR = re.compile(r"did you mean (.+?)\?|; (\S+) is meant\?")

#: Code of a file that cannot be used → its sentence.
_FILES = {
    "bad_archive": "The archive (ZIP or compressed file) cannot be opened, or has no file with jobs in it.",
    "bad_encoding": "The letters of the file cannot be read. Save it as UTF-8.",
    "bad_header": "The first line, with the names of the columns, cannot be read.",
    "empty_file": "The file is empty.",
    "file_changed": "The file changed while it was read. Send it again when it is complete.",
    "forbidden_dtd": "The file has a part (a document type) that is not allowed in XML here.",
    "limit_exceeded": "The file, or a part of it, is larger than agreed.",
    "no_columns": "None of the columns that were agreed is in the file. Is it another file, or were the columns renamed?",
    "no_records_path": "The place where the jobs were until now is not in the file.",
    "not_a_feed": "This is not a file with jobs in the form that was agreed.",
    "not_well_formed": "The file cannot be read, because its markup is broken.",
    "truncated": "The file ends too early. Send the whole file again.",
    "unknown_entity": "The file has a sign of the form &name; that is not known in XML.",
    "unreadable": "The file cannot be read.",
}
_UNKNOWN_FILE = "The file could not be processed."
_PLACE = re.compile(r"\bline ([0-9]+)(?:, column ([0-9]+))?")

#: Code of a warning → its sentence.
_REMARKS = {
    "html_cleaned": "Formatting that cannot be shown was taken out of texts. The words are as you sent them.",
    "control_characters": "Characters that cannot be shown were taken out of texts.",
    "references_replaced": "Signs such as &eacute; were replaced by their letters.",
    "url_scheme_added": "https:// was put before web addresses.",
    "location_abroad": "Places outside Canada were left out.",
    "location_nowhere": "Texts that name no place were left out of the places.",
    "place_assumed": "The province is missing. A place in Canada was assumed.",
    "new_place": "A place was not known before, and was added.",
    "duplicate_reference": "Several rows have the same reference number. The last of them counts.",
    "locations_replaced": "Rows with the same reference number differ in more than the place. The last of them counts.",
    "languages_replaced": "Rows with the same reference number differ in their language. The last of them counts.",
    "damaged_text": "Texts have wrong letters, marks of a template, or signs of a program in place of words,"
    " or addresses lead to no public page. Save the file as UTF-8, and export plain texts.",
    "no_date": "The column of the closing date has a text, or a date that stands for none.",
    "reference_hashed": "Reference numbers were too long, and were replaced by shorter ones.",
    "derived_reference": "The reference number was made from other values of the row.",
    "unknown_status": "The status was not known.",
    "title_not_open": "Titles say that jobs are filled, closed or not for the public, and these are live.",
    "emptied": "Many rows have lost a value that they had: is a column not filled?",
    "uniform": "Many rows have the same value in one column: is that column right?",
    "shrunk": "Many texts are much shorter than before: are they cut off?",
    "no_status": "Rows have no status, where others have one: are they open?",
    "revealed": "Jobs that were confidential are so no longer: the name of the employer is shown.",
    "round_count": "The number of rows is round: was the file cut off?",
}
_CUT, _FEWER = (
    "Texts that were too long were cut.",
    "There were too many values of one kind. The first ones count.",
)
_UNKNOWN_ENTRY, _OTHER_REMARK = (
    "A value was not known, and another one was used.",
    "A value was changed so that it can be used.",
)


#: Sentences of problems that a letter keeps: most rows of a bad file have the same few.
MAX_KEPT = 10_000


def reasons(letter: Letter, problems: Iterable[Problem]) -> str:
    """Return the sentences about all problems of a row, each once."""
    return " ".join(dict.fromkeys(problem(letter, p.pointer, p.code, p.detail) for p in problems))


def problem(letter: Letter, pointer: str, code: str, detail: str) -> str:
    """Return the sentence about one error of a rejected row, without the value."""
    key = (pointer, code, detail)
    if (sentence := letter.kept.get(key)) is None:
        sentence = _problem(letter, pointer, code, detail)
        if len(letter.kept) < MAX_KEPT:
            letter.kept[key] = sentence
    return sentence


def _problem(letter: Letter, pointer: str, code: str, detail: str) -> str:
    say, what = letter.say, letter.what(pointer)
    text, values = _PROBLEMS.get(code, _UNKNOWN_PROBLEM), dict[str, str]()
    for form, special in _SPECIAL:
        if match := form.search(detail):
            text, values = special, match.groupdict()
            break
    sentence = say(text, what=what, day=letter.day, **values)
    sentence = sentence[:1].upper() + sentence[1:]
    if near := _NEAR.search(detail):
        sentence += " " + say("Did you mean {near}?", near=near[1] or near[2])
    return sentence


def file_fault(letter: Letter, reason: str) -> str:
    """Return the sentence about a file that cannot be used; ``reason`` is that of its run."""
    sentence = letter.say(_FILES.get(reason.partition(":")[0], _UNKNOWN_FILE))
    if place := _PLACE.search(reason):
        text = "Line {line}, character {column}." if place[2] else "Line {line}."
        return f"{sentence} {letter.say(text, line=place[1], column=place[2])}"
    return sentence


def remark(letter: Letter, code: str) -> str:
    text = _REMARKS.get(code, _OTHER_REMARK)
    if code.endswith("_cut"):
        text = _CUT
    elif code.startswith("too_many_"):
        text = _FEWER
    elif code.startswith("unknown_") and code not in _REMARKS:
        text = _UNKNOWN_ENTRY
    return letter.say(text)


# -- a whole file ----------------------------------------------------------------------------------------------

#: Action of a change → heading of its list.
ACTIONS = {
    "created": "New jobs",
    "updated": "Changed jobs",
    "reactivated": "Jobs that are back",
    "archived": "Jobs that left the board",
}
#: Count → its words. ``missing`` and ``warnings`` are said elsewhere.
_COUNTS = {
    "read": "rows read",
    "created": "new jobs",
    "updated": "jobs changed",
    "reactivated": "jobs back",
    "unchanged": "as before",
    "replaced": "with a later row of the same reference number",
    "rejected": "not taken",
    "suppressed": "taken down by the board",
    "expired": "closed or past their closing date",
    "filtered": "not for this board",
    "archived": "jobs left the board",
}
#: Rows that are in: their jobs are as the rows say.
_IN = ("created", "updated", "reactivated", "unchanged")
_LEFT_OUT = ("suppressed", "expired", "filtered")
_NOTHING_TO_DO = "You need not do anything."


def outcome(report: Mapping[str, Any], say: Language) -> tuple[str, str, list[str]]:
    """Return the tone (a class of the style sheet), the headline, and the next steps, a sentence each."""
    words_of = _STATES.get(report["state"])
    return (
        words_of(report, say) if words_of is not None else ("calm", say("This file is being worked on"), [])
    )


def counts(report: Mapping[str, Any], say: Language) -> dict[str, int]:
    """Return the words and the number of each count that is not 0."""
    numbers, whole = report["counts"], report["state"] != "failed"
    return {
        say(words): numbers[name]
        for name, words in _COUNTS.items()
        if numbers.get(name) or (whole and name == "read")
    }


def _rows(report: Mapping[str, Any], say: Language) -> str:
    """Return the result in words: ``110 of 120 rows went in, 10 were not taken``."""
    numbers = report["counts"]
    read, refused = numbers["read"], numbers["rejected"]
    inside = sum(numbers.get(name, 0) for name in _IN)
    left = sum(numbers.get(name, 0) for name in _LEFT_OUT)
    if not read:
        return say("The file had no rows")
    if inside == read:
        return say.count("The one row went in", "All {number} rows went in", read)
    if refused == read:
        return say.count("The one row was not taken", "None of the {number} rows went in", read)
    parts = [
        say.count(
            "{inside} of {number} row went in",
            "{inside} of {number} rows went in",
            read,
            inside=say.number(inside),
        )
    ]
    parts += [say.count("{number} was not taken", "{number} were not taken", refused)] if refused else []
    parts += [say.count("{number} was left out", "{number} were left out", left)] if left else []
    if replaced := numbers.get("replaced"):
        one = "{number} has a later row with the same reference number, which counts"
        many = "{number} have a later row with the same reference number, which counts"
        parts.append(say.count(one, many, replaced))
    return ", ".join(parts)


def _applied(report: Mapping[str, Any], say: Language) -> tuple[str, str, list[str]]:
    refused, read = report["counts"]["rejected"], report["counts"]["read"]
    tone = "good" if not refused and report["withheld"] is None else "bad" if refused == read else "warn"
    stay = "Jobs that are not in this file stay on the board, because it may not be whole. Send the whole file; it decides."
    withheld = [say(stay)] if report["withheld"] is not None else []
    steps = [*withheld, *_correct(report, say)] if refused else withheld or [say(_NOTHING_TO_DO)]
    return tone, _rows(report, say), steps


def _correct(report: Mapping[str, Any], say: Language) -> list[str]:
    kept = say("The jobs of rows that were not taken stay as they were.")
    if report["rejectedFile"] is None:
        return [kept, say("Correct these rows in your system and send the file again.")]
    beside = "The rows that were not taken are in the file {file} beside this page, each with what is wrong."
    correct = (
        "Correct them there and send that file under any name: it only adds and changes jobs. Or correct them in your system;"
        " your next file has them then."
    )
    return [kept, say(beside, file=report["rejectedFile"]), say(correct)]


def _held(report: Mapping[str, Any], say: Language) -> tuple[str, str, list[str]]:
    refused = report["counts"]["rejected"]
    if report["holds"] == "archive":
        stay = "Jobs that this file would take off the board are still there until somebody at the job board has looked."
        again = say("Another file can be sent at any time; it takes the place of this one.")
        headline = say("{rows}; the rest of the file is being looked at", rows=_rows(report, say))
        if not report["counts"]["read"]:
            headline = say("The file had no rows and is being looked at")
        return "wait", headline, [say(stay), *(_correct(report, say) if refused else []), again]
    waits = "Nothing of it has gone in yet: somebody at the job board looks at it first. Your jobs stay as they are."
    whole = say("If your files have all of your jobs each time, the next one takes the place of this one.")
    steps = _correct(report, say)[1:] if refused else []
    return "wait", say("Your file is being looked at"), [say(waits), *steps, whole]


def _failed(report: Mapping[str, Any], say: Language) -> tuple[str, str, list[str]]:
    headline, step = (
        "Nothing of this file could be used",
        "Correct what is wrong and send the whole file again.",
    )
    if report["reason"] is None:
        headline, step = "The file could not be processed", "Send it again, or ask the job board about it."
    return "bad", say(headline), [say("Your jobs stay as they were."), say(step)]


def _rejected(report: Mapping[str, Any], say: Language) -> tuple[str, str, list[str]]:
    again = say("Send a corrected file, or ask the job board about it.")
    if report["holds"] == "archive":
        stay = say("Jobs that it would have taken off the board stay.")
        return (
            "calm",
            say("{rows}; the rest of the file was declined", rows=_rows(report, say)),
            [stay, again],
        )
    return (
        "calm",
        say("Your file was looked at and declined"),
        [say("Nothing of it went in; your jobs stay."), again],
    )


def _superseded(report: Mapping[str, Any], say: Language) -> tuple[str, str, list[str]]:
    headline = say("Not used: a newer file took its place")
    if report["holds"] == "archive":
        headline = say("{rows}; a newer file took its place", rows=_rows(report, say))
    return "calm", headline, [say(_NOTHING_TO_DO)]


def _unchanged(report: Mapping[str, Any], say: Language) -> tuple[str, str, list[str]]:
    return "good", say("The same file as last time: there was nothing to do"), [say(_NOTHING_TO_DO)]


_STATES = {
    "succeeded": _applied,
    "partial": _applied,
    "held": _held,
    "failed": _failed,
    "rejected": _rejected,
    "superseded": _superseded,
    "unchanged": _unchanged,
}
