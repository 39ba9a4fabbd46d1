"""Jobs out, as feeds: the service's own shape in JSON, XML and CSV, and what job boards and search engines
read.

Pure and streamed: jobs in, pieces of text out, one job in memory. Which jobs there are, and where the text
goes, is the caller's business. Jobs without a referenceId cannot be named by a feed and must not be given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from syncd.domain import Catalogue, Employer, Job
from syncd.feeds.export.boards import indeed, jsonld
from syncd.feeds.native import csv_feed, json_feed, xml_feed

Write = Callable[[Iterable[Job], Employer, Catalogue], Iterator[str]]


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """``write`` gives the text of a whole file, piece by piece. ``published_only``: the format is for the
    public and has no word for a status, so only active jobs belong into it."""

    write: Write
    published_only: bool


EXPORTS: dict[str, ExportFormat] = {
    "json": ExportFormat(json_feed, False),
    "xml": ExportFormat(xml_feed, False),
    "csv": ExportFormat(csv_feed, False),
    "jsonld": ExportFormat(jsonld, True),
    "indeed": ExportFormat(indeed, True),
}
