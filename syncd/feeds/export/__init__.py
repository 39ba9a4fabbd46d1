"""Exports: jobs written as feeds, in the service's own shape and in what job boards and search engines read."""

from syncd.feeds.export.formats import EXPORTS, SPREADSHEET, ExportFormat
