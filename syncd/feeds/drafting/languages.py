"""Records of one id in several languages: the column, element or member that names the language, and the lines for the feed's
file that keep one of them, or each."""

import re
from collections.abc import Mapping, Sequence

from syncd.feeds import toml_text
from syncd.feeds.drafting.record_values import selector_of, values_in
from syncd.feeds.readers import Format, header_key
from syncd.feeds.xml_node import element_of

#: Names for the language of a posting; values of such a place, and of any other.
_NAME = re.compile(r"(?:lang|langue|language|locale|culture)[\s_-]*(?:code|id|name)?$", re.IGNORECASE)
_CODE = re.compile(r"[^\W\d_]{2,20}(?:[-_ (]+[^\W\d_]{2,20}\)?)?")
_LANGUAGE = re.compile(
    r"(?:en|fr|english|french|anglais|français|francais)(?:[-_ (]+(?:ca|canada|us|fr)\)?)?", re.IGNORECASE
)


def texts_in(item: object, form: Format, header: Sequence[str]) -> dict[str, str]:
    """Return the texts of a record by their selectors. ``header``: of a CSV."""
    columns = {header_key(name): name for name in header}
    selectors = ((selector_of(steps, form), text) for steps, text in values_in(element_of(item), form))
    return {columns.get(selector, selector): text for selector, text in selectors if text is not None}


def ways_for_languages(reference: str, one: Mapping[str, str], other: Mapping[str, str]) -> str | None:
    """Return a sentence about two records of one referenceId, by their ``texts_in``; None if no language differs."""
    for name, value in one.items():
        values = (value, other.get(name, value))
        form = _CODE if _NAME.search(name) else _LANGUAGE
        if len({*values}) < 2 or not all(map(form.fullmatch, values)):
            continue
        identity = next((selector for selector, text in one.items() if text == reference), "id")
        return (
            f"records of one referenceId are in several languages: {name} is {value!r} in one and {values[1]!r} in the other"
            f" of {reference!r}; [rows] only = {toml_text.value({name: value})} keeps one language, [fields] referenceId ="
            f' {{ template = "{{{identity}}}-{{{name}}}" }} makes a posting of each'
        )
    return None
