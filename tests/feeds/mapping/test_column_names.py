"""The partner's names of the fields."""

import pytest

from syncd.domain import Catalogue
from syncd.feeds.configuration import FeedDefaults, parse_feed

CSV = ["Référence", "Titre du poste", "Ville", "Province", "Salaire min", "Courriel"]


def columns(text, names):
    return parse_feed(
        "acme", f'employer = "Acme"\n{text}', Catalogue.default(), FeedDefaults()
    ).mapping.columns(names)


def test_of_alternatives_the_first_counts_that_the_file_has_as_a_whole():
    found = columns('preset = "csv"', CSV)
    assert found["/title"] == "Titre du poste"
    assert found["/locations"] == "Ville / Province"
    assert found["/salary/amount"] == found["/salary"] == "Salaire min"
    assert "/closeDate" not in found


def test_before_a_file_only_fields_without_alternatives_have_names():
    found = columns('[read]\nformat = "csv"\n[fields]\nreferenceId = "ref"\ntitle = ["poste", "titre"]', [])
    assert found == {"/referenceId": "ref"}


def test_a_path_is_shown_whole():
    found = columns(
        '[read]\nformat = "json"\n[fields]\nreferenceId = "id"\ntitle = "job.name"', ["id", "job"]
    )
    assert found == {"/referenceId": "id", "/title": "job.name"}


@pytest.mark.parametrize("names", [[], CSV])
def test_a_feed_in_the_own_shape_of_the_service_has_its_names(names):
    assert columns("", names)["/title"] == "title"
