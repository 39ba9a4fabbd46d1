"""The forms in which postings are delivered: what a record looks like (a vocabulary), in CSV, XML or JSON.

A record is a dict with the parts of a posting by the names of the vocabulary. Accidents change records, or the bytes."""

import csv
import io
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any

from syncd.domain import FeedLimits
from syncd.feeds.drafting import Drafter
from tests.clock import ZONE
from tests.sync.board import Board
from tests.sync.histories.postings import Posting
from tests.sync.native_files import xml_element

Record = dict[str, Any]
FORMATS = ("csv", "xml", "json")
PER = {"Hourly": "hour", "Yearly": "year"}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """``names``: part of a posting → its name in a record. ``toml``: the feed's file but for ``[read]``; None: it is drafted from
    the first delivery. ``has_status``, ``mails``: as in Desk."""

    record: Callable[[Posting], Record]
    names: Mapping[str, str]
    toml: str | None
    has_status: bool = True
    mails: bool = False
    #: The most places that a record has.
    places: int = 3
    formats: Sequence[str] = FORMATS


def _pay_text(posting: Posting) -> str | None:
    if posting.pay is None:
        return None
    amount, most, period = posting.pay
    return f"${amount:,}{f' - ${most:,}' if most else ''} per {PER[period]}"


def _hand(posting: Posting) -> Record:
    (city, province), *others = posting.places
    return {
        "id": posting.reference,
        "posting_title": posting.title,
        "city": city,
        "province": province,
        "other_places": "; ".join(map(", ".join, others)) or None,
        "employment_type": posting.type,
        "department": posting.category,
        "pay_rate": _pay_text(posting),
        "job_description": f"<p>{posting.text}</p>",
        "closing": f"{posting.close:%d/%m/%Y}" if posting.close else None,
        "posting_status": {"open": "Posted", "closed": "Filled", "draft": "Needs approval"}[posting.status],
        "apply_link": posting.address,
    }


_HAND = """
[fields]
referenceId = "id"
title = "posting_title"
locations = { all = [{ template = "{city}, {province}" }, { from = "other_places", split = ";" }] }
positionType = "employment_type"
categories = "department"
salary = { text = "pay_rate" }
description = { from = "job_description", html = "clean" }
closeDate = { from = "closing", date = ["dmy"] }
status = "posting_status"
applicationUrl = "apply_link"
applicantRoutingType = { value = "URL" }
"""


def _parts(posting: Posting) -> Record:
    """Pay in parts, places in one text, the end of the last live day as an instant, and applications by mail."""
    amount, most, period = posting.pay or (None, None, None)
    close = datetime.combine(posting.close, time(23, 59), ZONE) if posting.close else None
    return {
        "ref": posting.reference,
        "name": posting.title,
        "where": " | ".join(f"{city}, {province}, Canada" for city, province in posting.places),
        "kind": posting.type.upper().replace(" ", "_"),
        "sector": posting.category,
        "min": amount,
        "max": most,
        "per": period,
        "body": posting.text,
        "ends": f"{close.timestamp():.0f}" if close else None,
        "mail": posting.address,
    }


_PARTS = """
[fields]
referenceId = "ref"
title = "name"
locations = { from = "where", split = "|" }
positionType = "kind"
categories = "sector"
salary = { amount = "min", maxAmount = "max", period = "per" }
description = { from = "body", html = "clean" }
closeDate = { from = "ends", date = ["epoch"] }
applicationEmail = "mail"
applicantRoutingType = { value = "Email" }
"""
_TYPES = {
    "Full Time": "Temps plein",
    "Part Time": "Temps partiel",
    "Contract": "Contractuel",
    "Temp": "Temporaire",
}


def _french(posting: Posting) -> Record:
    return {
        "numero": posting.reference,
        "titre_du_poste": posting.title,
        "lieu_de_travail": "; ".join(map(", ".join, posting.places)),
        "type_de_poste": _TYPES[posting.type],
        "catégorie": posting.category,
        "salaire": _pay_text(posting),
        "description": f"<p>{posting.text}</p>",
        "date_de_fermeture": posting.close and posting.close.isoformat(),
        "statut_du_poste": {"open": "Affiché", "closed": "Comblé", "draft": "À approuver"}[posting.status],
        "lien": posting.address,
    }


def _indeed(posting: Posting) -> Record:
    (city, province), *_ = posting.places
    return {
        "title": posting.title,
        "date": "2026-10-01",
        "referencenumber": posting.reference,
        "url": posting.address,
        "company": "Acme Ltd.",
        "city": city,
        "state": province,
        "country": "CA",
        "description": f"&lt;p&gt;{posting.text}&lt;/p&gt;",
        "salary": _pay_text(posting),
        "jobtype": posting.type.lower().replace(" ", ""),
        "category": posting.category,
        "expirationdate": posting.close and posting.close.isoformat(),
    }


def _recruitee(posting: Posting) -> Record:
    amount, most, period = posting.pay or (None, None, None)
    pay = {"min": amount and str(amount), "max": most and str(most), "period": period and PER[period]}
    return {
        "id": posting.reference,
        "title": posting.title,
        "status": {"open": "published", "closed": "closed", "draft": "draft"}[posting.status],
        "description": f"<p>{posting.text}</p>",
        "category_code": posting.category,
        "employment_type_code": posting.type,
        "locations": [
            {"city": city, "state_code": code, "country_code": "CA"} for city, code in posting.places
        ],
        "salary": pay | {"currency": "CAD"},
        "close_at": f"{posting.close} 12:00:00 UTC" if posting.close else None,
        "careers_url": posting.address,
    }


def _columns(posting: Posting) -> Record:
    """The usual column names."""
    return {
        "Job ID": posting.reference,
        "Job Title": posting.title,
        "Location": "; ".join(map(", ".join, posting.places)),
        "Job Type": posting.type,
        "Category": posting.category,
        "Salary": _pay_text(posting),
        "Description": posting.text,
        "Closing Date": posting.close and f"{posting.close:%B %d, %Y}",
        "Status": posting.status.capitalize(),
        "Apply URL": posting.address,
    }


def _native(posting: Posting) -> Record:
    amount, most, period = posting.pay or (None, None, None)
    pay = posting.pay and {"amount": amount, "maxAmount": most, "period": {"name": period}}
    body = {
        "referenceId": posting.reference,
        "title": posting.title,
        "locations": [{"description": ", ".join(place)} for place in posting.places],
        "categories": [{"name": posting.category}],
        "positionType": {"name": posting.type},
        "salary": pay,
        "description": f"<p>{posting.text}</p>",
        "applicantRoutingType": {"id": 2},
        "applicationUrl": posting.address,
    }
    return body | ({"closeDate": posting.close.isoformat()} if posting.close else {})


def _flat(body: Record) -> Record:
    """Return a native record as a row of a CSV."""
    pay = body["salary"] or {}
    return {
        **{name: body[name] for name in ("referenceId", "title", "description", "applicationUrl")},
        "closeDate": body.get("closeDate"),
        "locations": "|".join(place["description"] for place in body["locations"]),
        "categories": body["categories"][0]["name"],
        "positionType": body["positionType"]["name"],
        "salaryAmount": pay.get("amount"),
        "salaryMaxAmount": pay.get("maxAmount"),
        "salaryPeriod": pay["period"]["name"] if pay else None,
        "applicantRoutingType": 2,
    }


_NAMES = ("id", "title", "place", "type", "category", "pay", "text", "close", "status", "address")


def _named(*names: str | None) -> dict[str, str]:
    return {part: name for part, name in zip(_NAMES, names, strict=True) if name}


VOCABULARIES = {
    "hand": Vocabulary(
        _hand,
        _named("id", "posting_title", "city", "employment_type", "department", "pay_rate", "job_description",
               "closing", "posting_status", "apply_link"),
        _HAND,
    ),
    "draft": Vocabulary(
        _french,
        _named("numero", "titre_du_poste", "lieu_de_travail", "type_de_poste", "catégorie", "salaire", "description",
               "date_de_fermeture", "statut_du_poste", "lien"),
        None,
    ),
    "parts": Vocabulary(
        _parts,
        _named("ref", "name", "where", "kind", "sector", "min", "body", "ends", None, "mail"),
        _PARTS,
        has_status=False,
        mails=True,
    ),
    "native": Vocabulary(
        _native,
        _named("referenceId", "title", "locations", "positionType", "categories", "salary", "description",
               "closeDate", None, "applicationUrl"),
        "",
        has_status=False,
    ),
    "indeed": Vocabulary(_indeed, {"title": "title"}, 'preset = "indeed"', has_status=False, places=1, formats=("xml",)),
    "recruitee": Vocabulary(_recruitee, {"title": "title"}, 'preset = "recruitee"', formats=("json",)),
    "columns": Vocabulary(_columns, {"title": "Job Title"}, 'preset = "csv"', formats=("csv",)),
}  # fmt: skip
#: Each form by its name.
FORMS = {f"{name}-{form}": (name, form) for name, each in VOCABULARIES.items() for form in each.formats}


@dataclass(frozen=True, slots=True)
class Style:
    """The things that a system may write otherwise from one day to the next."""

    #: XML and JSON: elements and members without a value are left out, or empty.
    sparse: bool = False
    #: XML and JSON: lines are indented.
    pretty: bool = False
    #: CSV: every cell is quoted.
    quoted: bool = False
    #: The place of the column, element or member that comes first, but for the id.
    turn: int = 0
    #: A column that nobody uses.
    extra: str | None = None


def dump(
    form: str, records: Sequence[Record], style: Style = Style(), *, ragged: Collection[int] = ()
) -> bytes:
    """Write the records. ``ragged``: the numbers of the rows of a CSV that have a cell too many behind the first."""
    records = [_styled(record, style) for record in records]
    if form == "csv":
        return _csv(records, style, ragged)
    return _xml(records, style) if form == "xml" else _json(records, style)


def _styled(record: Record, style: Style) -> Record:
    first, *others = record.items()
    turn = style.turn % len(others)
    items = [first, *others[turn:], *others[:turn]]
    return dict(items) | ({style.extra: "x"} if style.extra else {})


def _csv(records: Sequence[Record], style: Style, ragged: Collection[int]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(
        out, lineterminator="\r\n", quoting=csv.QUOTE_ALL if style.quoted else csv.QUOTE_MINIMAL
    )
    records = [
        _flat(record) if "salary" in record and "referenceId" in record else record for record in records
    ]
    writer.writerow(records[0])
    for number, record in enumerate(records):
        first, *cells = ("" if value is None else value for value in record.values())
        writer.writerow([first, *(["more"] if number in ragged else []), *cells])
    return out.getvalue().encode()


def _xml(records: Sequence[Record], style: Style) -> bytes:
    end = "\n" if style.pretty else ""
    jobs = "".join(
        f"<job>{end}{''.join(xml_element(name, value) + end for name, value in _kept(record, style).items())}</job>{end}"
        for record in records
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<jobs>{end}{jobs}</jobs>\n'.encode()


def _json(records: Sequence[Record], style: Style) -> bytes:
    kept = [_kept(record, style) for record in records]
    indent = 1 if style.pretty else None
    return json.dumps(kept, ensure_ascii=False, indent=indent, default=float).encode()


def _kept(record: Record, style: Style) -> Record:
    """Return what is written of a record. In the service's own shape a member that is absent says nothing."""
    sparse = style.sparse and "referenceId" not in record
    return {name: value for name, value in record.items() if value is not None or not sparse}


def feed_toml(board: Board, vocabulary: Vocabulary, form: str, first: bytes) -> str:
    """Return the file of a feed without its employer."""
    if vocabulary.toml is not None:
        return vocabulary.toml
    path = board.folder / f"first.{form}"
    path.write_bytes(first)
    today = str(board.clock.today)
    draft = Drafter(
        path, "acme", employer="X", catalogue=board.catalogue, limits=FeedLimits(), today=today
    ).draft()
    return draft.text.replace('employer = "X"', "")
