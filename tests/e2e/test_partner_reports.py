"""The letter to a partner in each way that a run can end, in each language."""

import re
from pathlib import Path

import pytest

from syncd import languages
from tests.e2e import partner_reports
from tests.sync.report.test_reports import BANNED, words_of

#: Names of files are not words of the letter.
_FILES = re.compile(r"\S+\.(?:csv|json|html)\S*")


@pytest.mark.parametrize("language", languages.names())
def test_no_report_has_a_word_of_programmers_or_of_another_language(tmp_path, language):
    reports = partner_reports.reports(tmp_path, language)
    headlines = set()
    for name, path in reports.items():
        html = path.read_text()
        words = _FILES.sub("", words_of(html))
        assert f'<html lang="{language}">' in html, name
        assert not BANNED.findall(words), name
        assert not re.findall(r"[a-z]+_[a-z_]+", words), name
        other = r"\b(?:the|and|rows|jobs|your)\b" if language == "fr" else r"\b(?:les|une|offres|votre)\b"
        assert not re.findall(other, words.lower().replace("jobs.csv", "")), name
        headlines.add(re.findall("<h1>(.*?)</h1>", html)[0])
        for rejected in path.parent.glob("*.rejected.csv"):
            assert not BANNED.findall(
                " ".join(line.split(",")[0] for line in rejected.read_text().splitlines()[1:])
            )
    assert len(headlines) == len(reports)


def test_the_documents_show_a_picture_of_each():
    names = {path.name for path in partner_reports.PICTURES.iterdir()}
    guide = (Path(__file__).parents[2] / "docs" / "feeds.md").read_text()
    assert set(re.findall(r"\(reports/([^)]+)\)", guide)) == names
    assert all(path.stat().st_size < 100_000 for path in partner_reports.PICTURES.iterdir())
