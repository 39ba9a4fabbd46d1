"""Texts that schemathesis cannot make from a schema, because a rule in words restricts them."""

from datetime import date

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

schemathesis.openapi.format("canadian-place", st.sampled_from(PLACES))
schemathesis.openapi.format("job-description", st.builds(str.format, TAGS, WORDS))
schemathesis.openapi.format("date", COMING.map(date.isoformat))
schemathesis.openapi.format("date-time", COMING.map(lambda day: f"{day}T23:59:59-05:00"))
schemathesis.openapi.format("email", NAMES.map(lambda name: f"{name}@example.com"))
schemathesis.openapi.format("uri", NAMES.map(lambda name: f"https://jobs.example/{name}?q=%C3%A9"))
