"""Exports: jobs written as feeds, in the service's own shape and in what job boards and search engines read.

Pure and streamed: jobs in, pieces of text out, one job in memory. The caller decides which jobs there are and where the
text goes. Jobs without a referenceId must not be given: a feed cannot name them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from syncd.domain import Catalogue, Employer, Job
from syncd.feeds.export.boards import indeed, jsonld
from syncd.feeds.native import csv_feed, json_feed, xml_feed

Write = Callable[[Iterable[Job], Employer, Catalogue], Iterator[str]]


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """``write`` yields the text of a whole file. ``published_only``: the format is for the public and cannot express a
    status, so only active jobs belong into it."""

    write: Write
    published_only: bool


EXPORTS: dict[str, ExportFormat] = {
    "json": ExportFormat(json_feed, False),
    "xml": ExportFormat(xml_feed, False),
    "csv": ExportFormat(csv_feed, False),
    "jsonld": ExportFormat(jsonld, True),
    "indeed": ExportFormat(indeed, True),
}
