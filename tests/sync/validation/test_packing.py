"""A row that is packed for the scratch file, or sent by a worker process, comes back as it was."""

import json
from decimal import Decimal
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from syncd.domain import FIELDS, Catalogue, JobInput, check_body
from syncd.errors import Invalid
from syncd.sync.validation import pack, unpack
from tests.domain.bodies import BODY
from tests.sync.test_law import CHANGES

#: Changes as a request has them: with exact numbers.
EXACT_CHANGES = CHANGES.map(lambda changes: json.loads(json.dumps(changes), parse_float=Decimal))
EMPTY: dict[str, Any] = {field.name: None for field in FIELDS if field.nullable} | {"closeDate": None}


@given(changes=EXACT_CHANGES, title=st.text(min_size=1, max_size=9))
@example(changes=EMPTY, title="x")
@example(changes={"salary": {"amount": Decimal("1E+2"), "maxAmount": Decimal("200.00")}}, title="é😀")
def test_a_packed_row_comes_back_as_it_was(changes, title):
    try:
        sent = check_body({**BODY, "title": title, **changes}, Catalogue.default())
    except Invalid:
        return
    for row in (sent, JobInput(sent.fields, 5)):
        assert unpack(pack(row)) == row
        assert list(unpack(pack(row)).fields) == list(row.fields)
