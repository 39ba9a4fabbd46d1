"""The law of exports: the import of a native export, in any of its formats, changes nothing."""

import itertools
from decimal import Decimal
from html import escape
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from syncd.domain import RunState, html_faults
from syncd.feeds.export import EXPORTS
from syncd.store import employers, history
from syncd.sync.run import Feed
from tests.amounts import examples
from tests.sync.board import Board, Row

NATIVE = ("json", "xml", "csv")
NUMBERS = itertools.count(1)
#: Texts that a writer has to escape, or that a reader could take for a value of another type.
DIFFICULT = [
    *r"""]]> <b> &amp; " ' '' , ; | \ \n {} -- # <!-- --> % =1+1 @x sep=; NA null true 007 0x1 1E+3 é 🙂""".split(),
    *("\t", "\u2028", "\u200f", "\u00a0", "\ufeff"),
]

texts = st.lists(st.one_of(st.sampled_from(DIFFICULT), st.text(max_size=8)), min_size=1, max_size=6).map(
    "".join
)


def usable(text: str, limit: int) -> bool:
    text = text.strip()
    return 0 < len(text) <= limit and all(c.isprintable() or c in " \u00a0\u2028\u200f\ufeff" for c in text)


titles = texts.filter(lambda text: usable(text, 256))
references = texts.filter(lambda text: usable(text, 40))
markup = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "<p>",
                "</p>",
                "<br>",
                "\r\n",
                "\n",
                "\r",
                "\t",
                " ",
                '<a href="https://x.ca/?a=1&amp;b=2">y</a>',
            ]
        ),
        st.text(max_size=10)
        .filter(lambda t: all(c.isprintable() for c in t))
        .map(lambda t: escape(t, quote=False)),
        st.sampled_from(["]]&gt;", "&lt;script&gt;", "&amp;nbsp;", '"quoted"', "a,b;c|d", "=cmd()"]),
    ),
    min_size=1,
    max_size=8,
).map("".join)
descriptions = markup.filter(lambda text: bool(text.strip()) and not html_faults(text, 1))
amounts = st.decimals("0.0001", "999999999999", places=4)
places = st.lists(
    st.sampled_from(
        [
            "Montréal, QC",
            "montreal",
            "St. John's, NL",
            "Hull",
            "Nowhere Bay",
            "Nowhere Bay, NU",
            "Île-à-l'Ours (Sud)",
            "L'Anse-St-X/Y, QC",
        ]
    ),
    min_size=1,
    max_size=3,
)


@st.composite
def salaries(draw: st.DrawFn) -> dict[str, Any] | None:
    kind = draw(st.sampled_from(["none", "commission", "amount", "range"]))
    if kind == "none":
        return None
    if kind == "commission":
        return {"plusCommission": True}
    low, high = sorted([draw(amounts), draw(amounts)])
    period = {"id": draw(st.integers(1, 5))}
    salary = {"amount": low, "period": period, "plusCommission": draw(st.booleans())}
    return salary | {"maxAmount": high} if kind == "range" else salary


@st.composite
def bodies(draw: st.DrawFn) -> Row:
    """Draw a valid body of any status; what may be null or absent is so at times."""
    status = draw(st.sampled_from(["active", "archived", "draft"]))
    active = status == "active"
    dates = ["2026-11-16", "2027-06-30", "9999-12-31", None] + ([] if active else ["2020-01-01"])
    body = {
        "title": draw(titles),
        "status": status,
        "closeDate": draw(st.sampled_from(dates)),
        "confidential": draw(st.booleans()),
        "autoRefresh": draw(st.booleans()),
        "locations": [{"description": text} for text in draw(places)],
        "categories": [{"id": id} for id in draw(st.lists(st.integers(1, 8), min_size=1, max_size=3))],
        "salary": draw(salaries()),
        "applicationEmail": "jobs@example.com",
        "applicationUrl": "https://example.com/a?b=1&c=%22;d,e|f",
    }
    if active or draw(st.booleans()):
        body |= {"positionType": {"id": draw(st.integers(1, 5))}, "description": draw(descriptions)}
        body |= {"applicantRoutingType": {"id": draw(st.integers(1, 2))}}
    for name in ("applicationEmail", "applicationUrl"):
        if "applicantRoutingType" not in body and draw(st.booleans()):
            del body[name]
    return body


def exported(board: Board, form: str) -> bytes:
    jobs = (job for job in board.jobs() if job.reference_id is not None)
    return "".join(EXPORTS[form].write(jobs, board.employer, board.catalogue)).encode()


def new_feed(board: Board, toml: str = "") -> Feed:
    return board.feed(toml, f"feed{next(NUMBERS)}")


def of_new_employer(board: Board) -> Board:
    employer = board.store.write(lambda tx: employers.add(tx, f"Employer {next(NUMBERS)}"))
    return Board(board.store, board.clock, board.folder, employer)


@pytest.mark.parametrize("form", NATIVE)
@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(sent=st.dictionaries(references, bodies(), max_size=5))
@example(sent={"NA": {"title": "null", "locations": [{"description": "Hull"}], "categories": [{"id": 1}]}})
@example(sent={})
def test_importing_an_export_changes_nothing(board, form, sent):
    board = of_new_employer(board)
    for reference, fields in sent.items():
        board.put({"referenceId": reference, **fields})
    before = board.jobs()
    text = exported(board, form)
    run = board.deliver(new_feed(board), text)
    rejected = board.rejected(run)
    assert not rejected, (rejected, text)
    assert board.jobs() == before
    assert run.counts.read == run.counts.unchanged == len(before)
    changes = board.store.read(lambda tx: list(history.of_run(tx, run.id)))
    assert changes == []


@pytest.mark.parametrize("form", NATIVE)
def test_an_export_creates_the_same_jobs_for_another_employer(board, form):
    board.put(
        board.row(
            "A",
            salary={"amount": Decimal("20.5"), "period": {"id": 5}},
            closeDate="2027-01-31",
            status="active",
        )
    )
    board.put(
        board.row("B", status="draft", confidential=True, locations=[{"description": "Nowhere Bay, NU"}])
    )
    board.put(
        board.row(
            "C", status="archived", description='<p>Line\r\nbreak</p>\t"x"', salary={"plusCommission": True}
        )
    )
    first, text = board.jobs(), exported(board, form)
    copy = of_new_employer(board)
    run = copy.deliver(new_feed(copy), text)
    assert (run.state, run.counts.created) == (RunState.SUCCEEDED, 3)
    for old, new in zip(first, copy.jobs(), strict=True):
        same = {"id": 0, "employer_id": 0, "version": 0, "close_origin": old.close_origin, "locations": ()}
        assert replace(old, **same) == replace(new, **same)
        assert [p.description for p in old.locations] == [p.description for p in new.locations]


def test_importing_an_export_for_search_engines_with_its_preset_changes_nothing(board):
    board.put(
        board.row(
            "A-1",
            title="Cook ]]> <now>",
            status="active",
            closeDate="2027-01-31",
            salary={"amount": Decimal("25.50"), "maxAmount": 30, "period": {"id": 5}},
        )
    )
    [before], text = board.jobs(), exported(board, "jsonld")
    run = board.deliver(new_feed(board, 'preset = "schemaorg"'), text)
    assert (run.counts.unchanged, board.rejected(run)) == (1, [])
    assert board.jobs() == [before]
