"""Values that schemathesis cannot make from the document, because a rule in words restricts them: texts, headers and ids of
catalogues."""

from datetime import date
from typing import Any

import schemathesis
from hypothesis import strategies as st

PLACES = ["Calgary, AB", "Montréal", "st. john's, newfoundland", "Ville-Imaginaire, QC", "100 Mile House, BC"]
TAGS = st.sampled_from(
    ["<p>{}</p>", "<ul><li>{}</li></ul>", "<b>{}</b><br/>", '<a href="https://x.example">{}</a>', "{}"]
)
WORDS = st.text(
    st.characters(min_codepoint=32, exclude_characters="<&\x7f", exclude_categories=["Cc", "Cs", "Cn"])
)
COMING = st.dates(min_value=date(2027, 1, 1), max_value=date(2999, 12, 31))
NAMES = st.from_regex(r"[a-z0-9]{1,20}(\.[a-z]{1,9})?", fullmatch=True)

_TAG = r'(W/)?"[!#-~]*"'
_TAGS = {
    "anyOf": [
        {"const": "*"},
        {"type": "string", "pattern": rf"^[ \t,]*{_TAG}([ \t]*,[ \t]*({_TAG})?)*[ \t]*$"},
    ],
    "examples": ['"0a1b2c3d4e5f60718293a4b5"', "*"],
}
HEADERS = {
    "If-Match": _TAGS,
    "If-None-Match": _TAGS,
    "Idempotency-Key": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^[\u0020-\u007e]+$"},
}
FIELDS: dict[str, list[dict[str, Any]]] = {
    "closeDate": [{"format": "date"}, {"format": "date-time"}, {"maxLength": 0}],
    "applicationEmail": [{"format": "email", "maxLength": 50}, {"pattern": r"^\s*$"}],
    "applicationUrl": [{"format": "uri", "maxLength": 200}, {"pattern": r"^\s*$"}],
}
IDS = {"Category": 30, "PositionType": 5, "SalaryPeriod": 5, "ApplicantRoutingType": 2}


@schemathesis.hook
def before_load_schema(_context: object, raw_schema: dict[str, Any]) -> None:
    """Add to the document the rules that it has in words. A generator of clients needs plain strings and numbers there."""
    parts = raw_schema["components"]
    for name, schema in HEADERS.items():
        parts["parameters"][name]["schema"] = schema
    for body in ("JobCreate", "JobUpdate", "JobPut"):
        for name, kinds in FIELDS.items():
            choices = [*({"type": "string", **kind} for kind in kinds), {"type": "null"}]
            parts["schemas"][body]["properties"][name] = {"anyOf": choices}
        parts["schemas"][body]["properties"]["description"]["format"] = "job-description"
    parts["schemas"]["LocationInput"]["properties"]["description"]["format"] = "canadian-place"
    for name, count in IDS.items():
        parts["schemas"][f"{name}Input"]["properties"]["id"] |= {"minimum": 1, "maximum": count}


schemathesis.openapi.format("canadian-place", st.sampled_from(PLACES))
schemathesis.openapi.format("job-description", st.builds(str.format, TAGS, WORDS))
schemathesis.openapi.format("date", COMING.map(date.isoformat))
schemathesis.openapi.format("date-time", COMING.map(lambda day: f"{day}T23:59:59-05:00"))
schemathesis.openapi.format("email", NAMES.map(lambda name: f"{name}@example.com"))
schemathesis.openapi.format("uri", NAMES.map(lambda name: f"https://jobs.example/{name}?q=%C3%A9"))
