"""The codes of faults of a body, for whoever has to tell what they mean. Stable: clients branch on them."""

from __future__ import annotations

from collections.abc import Mapping

#: Code → when it is told.
FIELD_CODES: Mapping[str, str] = {
    "required": "It has to be there and is absent, null, empty or only white space.",
    "null_not_allowed": "It cannot be null.",
    "wrong_type": "It is of another JSON type than it has to be.",
    "too_long": "It has more characters (Unicode code points) than are allowed.",
    "out_of_range": "The number is too small, too large, or has too many decimals.",
    "too_few": "The list has too few entries.",
    "too_many": "The list has too many entries.",
    "unknown_value": "There is no such status or catalogue entry.",
    "unknown_province": "What follows the comma is no Canadian province or territory.",
    "unknown_field": "There is no such field.",
    "read_only_mismatch": "The id in the body is that of another job than the one addressed.",
    "invalid_date": "It is no ISO 8601 date or date-time.",
    "date_order": "The close date is past, and the job is to be active.",
    "invalid_email": "It is not one syntactically valid e-mail address.",
    "invalid_url": "It is no http or https address to which a candidate could be sent.",
    "disallowed_html": "The description has a tag or an attribute that is not allowed.",
    "invalid_characters": "It has a character that is not allowed there.",
}
