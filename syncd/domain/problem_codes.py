"""The codes of the problems of a body, with their meaning. They are stable: clients branch on them."""

from __future__ import annotations

from collections.abc import Mapping

#: Code → what is wrong.
FIELD_CODES: Mapping[str, str] = {
    "required": "It is needed, and is absent, null, empty or only white space.",
    "null_not_allowed": "It cannot be null.",
    "wrong_type": "It has the wrong JSON type.",
    "too_long": "It has more characters (Unicode code points) than are allowed.",
    "out_of_range": "The number is too small, too large, or has too many decimals.",
    "too_few": "The list has too few entries.",
    "too_many": "The list has too many entries.",
    "unknown_value": "There is no such status or catalogue entry.",
    "unknown_province": "What follows the comma is not a Canadian province or territory.",
    "unknown_field": "There is no such field.",
    "read_only_mismatch": "The id in the body is not that of the job addressed.",
    "invalid_date": "It is not an ISO 8601 date or date-time.",
    "date_order": "The close date has passed, and the job is to be active.",
    "invalid_email": "It is not one syntactically valid e-mail address.",
    "invalid_url": "It is not an http or https address to which a candidate can be sent.",
    "disallowed_html": "The description has a tag or an attribute that is not allowed.",
    "invalid_characters": "It has a character that is not allowed there.",
}
