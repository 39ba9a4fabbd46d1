"""Native files in XML and CSV of the rows that ``Board.row`` makes."""

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tests.sync.board import Row

_ITEMS = {"locations": "location", "categories": "category"}
_COLUMNS = ("referenceId", "title", "locations", "categories", "positionType", "description", "closeDate",
            "applicantRoutingType", "applicationEmail")  # fmt: skip


def as_xml(rows: Sequence[Row], before: str = "") -> bytes:
    records = "".join(xml_records(rows))
    return f'<?xml version="1.0"?>\n<jobs>{before}\n{records}</jobs>\n'.encode()


def xml_records(rows: Sequence[Row]) -> list[str]:
    """Return the element of each row, with the end of its line."""
    return [f"<job>\n{_members(row)}</job>\n" for row in rows]


def _members(values: Row) -> str:
    return "".join(xml_element(name, value) for name, value in values.items())


def xml_element(name: str, value: Any) -> str:
    """Return a value of a row as an element; None is an empty one."""
    if isinstance(value, list):
        content = "".join(xml_element(_ITEMS[name], item) for item in value)
    elif isinstance(value, dict):
        content = _members(value)
    else:
        content = "" if value is None else escape(str(value))
    return f"<{name}>{content}</{name}>"


def as_csv(rows: Sequence[Row]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in rows:
        place = row["locations"][0]["description"]
        fields = (row["referenceId"], row["title"], place, 1, 1, row["description"], row.get("closeDate", ""))
        writer.writerow([*fields, 1, row["applicationEmail"]])
    return out.getvalue()


def archive_of(files: Mapping[str, str | bytes]) -> bytes:
    """Return a ZIP archive of these files. Its bytes do not depend on the time."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()
