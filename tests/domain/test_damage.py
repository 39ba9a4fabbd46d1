"""Damaged texts are known from what people write, in English and French."""

from pathlib import Path

import pytest

from syncd.domain.damage import damage_of

SAMPLES = Path(__file__).parents[2] / "feeds" / "samples"
WRITTEN = (
    "Développeur·euse|L’équipe – « À l’aise »…|« MARCHÉ»|SANTÉ…|QUALITÉ™ ÂGE|Île-des-Sœurs|São Paulo, NÃO"
    "|├── src└── x|100%% or 50%%"
    "|$15 {x} [1] ${|Chef’s “table” — 25 °C ±2|C++ <T>|R&D & Résumé &amp; CV|🎉 Fun|√4 = 2|€50|pâté, théâtre – bâtiment"
    "|Łódź Åland"
    "|Москва Где|½ price|Préposé(e) ¾ temps|HR <jobs@a.example>|Ambition: 100 %|array[[0], [1]"
)


@pytest.mark.parametrize("text", WRITTEN.split("|"))
@pytest.mark.parametrize("field", ["title", "description"])
def test_what_people_write_is_not_damaged(field, text):
    assert damage_of(field, text) is None


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "mac_roman", "cp437", "cp850"])
@pytest.mark.parametrize("word", "Développeur à l’école — «Noël» où œuvre ÉTÉ CÔTÉ ÎLE À •".split())
def test_text_decoded_twice_is_damaged(encoding, word):
    twice = word.encode().decode(encoding, "replace")
    assert (damage_of("title", twice) is None) is (twice == word)


@pytest.mark.parametrize(
    "text", ["Pr\ufffdposé", "&#65533;", "{{job.title}}", "[[ref]]", "${x}", "%%a title%%", "&Atilde;&copy;"]
)
def test_lost_characters_and_placeholders_are_damage(text):
    for field in ("title", "description"):
        assert (damage_of(field, f"Cook {text}") or "").startswith(f"{field} ")


@pytest.mark.parametrize("text", ["<b>Cook</b>", "Cook &lt;br/&gt;", "Cook </p>"])
def test_a_tag_is_damage_in_a_title_alone(text):
    assert (damage_of("title", text) or "").startswith("title has a tag: ")
    assert damage_of("description", text) is None


def test_the_samples_have_no_damage():
    for path in SAMPLES.iterdir():
        if path.suffix in (".csv", ".json", ".xml"):
            text = path.read_bytes().decode("utf-16" if path.read_bytes()[:1] == b"\xff" else "utf-8-sig")
            assert damage_of("description", text) is None, path.name
