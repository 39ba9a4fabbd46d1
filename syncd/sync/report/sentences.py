"""Sentences about rows, values and files for somebody who has never seen this software: his names of columns, no codes, and what
would be right. Each is made from the code of a problem; the parts of its message that help (a similar name, a limit) are kept."""

import re
from collections.abc import Iterable

from syncd.errors import Problem
from syncd.sync.report.letter import Letter

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
    "emptied": "Many rows have lost a value that they had: is a column not filled?",
    "uniform": "Many rows have the same value in one column: is that column right?",
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
    say, what = letter.say, letter.what(pointer, FIELDS)
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
    """Return the sentence about the warnings of one code."""
    text = _REMARKS.get(code, _OTHER_REMARK)
    if code.endswith("_cut"):
        text = _CUT
    elif code.startswith("too_many_"):
        text = _FEWER
    elif code.startswith("unknown_") and code not in _REMARKS:
        text = _UNKNOWN_ENTRY
    return letter.say(text)
