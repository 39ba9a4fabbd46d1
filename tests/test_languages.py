"""The catalogues of texts for partners are whole, and gettext reads them."""

import ast
import gettext
import re
import shutil
import string
import subprocess
from io import BytesIO
from pathlib import Path

import pytest

import syncd
from syncd import languages

ROOT = Path(syncd.__file__).parent
#: The modules and templates whose texts are in the catalogues.
SOURCES = ("sync/report/letter.py", "sync/report/sentences.py", "sync/report/files/*.py")
#: The functions whose texts nobody is shown.
NOT_TEXTS = ("re.compile", "AssertionError")
TEMPLATES = "sync/report/files/templates/*.j2"
CATALOGUES = [name for name in languages.names() if name != languages.DEFAULT]


def constants():
    """The texts of the code: those of its modules, but for patterns, and those of calls in its templates."""
    for path in (path for pattern in SOURCES for path in ROOT.glob(pattern)):
        nodes = [*ast.walk(ast.parse(path.read_text()))]
        others: list[ast.AST] = [node for node in nodes if isinstance(node, ast.JoinedStr)]
        others += [
            node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) in NOT_TEXTS
        ]
        others += [
            node for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ]
        inside = {id(part) for other in others for part in ast.walk(other)}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
                yield node.value
    for path in ROOT.glob(TEMPLATES):
        for call in re.findall(r'say(?:\.count)?\(((?:"[^"]*"(?:, )?)+)', path.read_text()):
            yield from re.findall(r'"([^"]*)"', call)


def catalogue(name):
    return languages.catalogue((ROOT / "locale" / f"{name}.po").read_text("utf-8"))


@pytest.mark.parametrize("name", CATALOGUES)
def test_a_catalogue_has_each_text_and_no_other(name):
    known = {part for text in catalogue(name) for part in text.split("\0")} - {""}
    there = {*constants()}
    assert {text for text in there if re.search(r"[A-Za-z]{2,} [a-z{&]", text)} - known == set()
    assert known - there == set()


@pytest.mark.parametrize("name", CATALOGUES)
def test_a_translation_has_the_values_of_its_text(name):
    def values(text):
        return {field for _, field, _, _ in string.Formatter().parse(text) if field}

    for text, translated in catalogue(name).items():
        assert translated, text
        many = text.split("\0")[-1]
        if text:
            assert all(values(form) <= values(many) for form in translated.split("\0")), text
            assert values(translated) == values(many) | (values(many) & values(translated)), text


@pytest.mark.parametrize("name", CATALOGUES)
def test_gettext_reads_the_catalogue_as_msgfmt_compiles_it(name, tmp_path):
    if not (program := shutil.which("msgfmt")):
        pytest.skip("msgfmt is not installed")
    made = tmp_path / "made.mo"
    subprocess.run([program, "--check", "-o", made, ROOT / "locale" / f"{name}.po"], check=True)
    ours = gettext.GNUTranslations(BytesIO(languages.compiled(catalogue(name))))
    theirs = gettext.GNUTranslations(BytesIO(made.read_bytes()))
    assert vars(ours)["_catalog"] == vars(theirs)["_catalog"]


def test_plurals_and_numbers_are_those_of_the_language():
    french, english = languages.language("fr"), languages.language("en")
    one, many = "{number} was not taken", "{number} were not taken"
    assert [french.count(one, many, n) for n in (0, 1, 2)] == [
        "0 a été refusée",
        "1 a été refusée",
        "2 ont été refusées",
    ]
    assert [english.count(one, many, n) for n in (0, 1)] == ["0 were not taken", "1 was not taken"]
    assert (french.number(12345), english.number(12345)) == ("12\u00a0345", "12,345")
    assert languages.language("xx").name == "en"


def test_a_catalogue_may_have_long_texts_in_several_lines_and_quotation_marks():
    text = 'msgid ""\n"a "\n"\\"b\\""\nmsgstr "c\\n"\n\n# note\nmsgid "d"\nmsgstr ""\n'
    assert languages.catalogue(text) == {'a "b"': "c\n", "d": ""}
