"""How the fields of each kind are mapped: one compiler for each."""

from __future__ import annotations

from collections.abc import Mapping

from syncd.domain import FIELDS, FieldKind
from syncd.feeds.mapping import catalogue_fields, text_fields
from syncd.feeds.mapping.field_compilers import FieldCompiler
from syncd.feeds.mapping.html_field import HTML
from syncd.feeds.mapping.places_field import PLACES
from syncd.feeds.mapping.routing import ROUTING_FIELD
from syncd.feeds.mapping.salary_field import SALARY

_BY_KIND: Mapping[FieldKind, FieldCompiler] = {
    FieldKind.TEXT: text_fields.TEXT,
    FieldKind.EMAIL: text_fields.EMAIL,
    FieldKind.URL: text_fields.URL,
    FieldKind.HTML: HTML,
    FieldKind.NUMBER: text_fields.NUMBER,
    FieldKind.FLAG: text_fields.FLAG,
    FieldKind.DATE: text_fields.DATE,
    FieldKind.STATUS: text_fields.STATUS,
    FieldKind.CHOICE: catalogue_fields.CHOICE,
    FieldKind.CHOICES: catalogue_fields.CHOICES,
    FieldKind.PLACES: PLACES,
    FieldKind.SALARY: SALARY,
}
#: The fields with a rule of their own.
_OWN = {"referenceId": text_fields.REFERENCE, ROUTING_FIELD: catalogue_fields.ROUTING}
#: Field → its compiler.
COMPILERS: Mapping[str, FieldCompiler] = {
    field.name: _OWN.get(field.name) or _BY_KIND[field.kind] for field in FIELDS
}
