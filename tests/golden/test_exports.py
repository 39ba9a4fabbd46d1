"""``syncd export`` in every format, byte for byte."""

import pytest

from tests.golden.golden import same, same_json

FORMATS = ("json", "xml", "csv", "jsonld")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("employer", ["Maple Kitchens", "Birch Works"])
def test_an_export(installed, form, employer):
    out = installed.base / f"export-{form}"
    shown = installed.installation.run(
        "export", "--employer", employer, "--format", form, "-o", out, "--json"
    )
    assert shown.code == 0
    name = employer.split(maxsplit=1)[0].lower()
    same(f"exports/{name}.{form}", out.read_bytes().decode())
    same_json(f"exports/{name}.{form}.json", {**shown.json, "file": out.name})
    printed = installed.installation.run("export", "--employer", employer, "--format", form)
    assert printed.out == out.read_bytes().decode()


@pytest.mark.parametrize("form", FORMATS)
def test_an_export_of_one_status(installed, form):
    shown = installed.installation.run("export", "--employer", "1", "--format", form, "--status", "draft")
    same(f"exports/drafts.{form}", shown.out)
