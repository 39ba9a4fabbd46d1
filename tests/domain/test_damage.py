"""Damaged texts are known from what people write, in English and French."""

import re
from pathlib import Path

import pytest

from syncd.domain.damage import damage_of, repaired

SAMPLES = Path(__file__).parents[2] / "feeds" / "samples"
WRITTEN = (
    "Développeur·euse|L’équipe – « À l’aise »…|« MARCHÉ»|SANTÉ…|QUALITÉ™ ÂGE|Île-des-Sœurs|São Paulo, NÃO"
    "|├── src└── x|100%% or 50%%"
    "|$15 {x} [1] ${|Chef’s “table” — 25 °C ±2|C++ <T>|R&D & Résumé &amp; CV|🎉 Fun|√4 = 2|€50|pâté, théâtre – bâtiment"
    "|Łódź Åland"
    "|Москва Где|½ price|Préposé(e) ¾ temps|HR <jobs@a.example>|Ambition: 100 %|array[[0], [1]"
    "|Why us? Because. Nurse ?|x.ca/jobs?id=3 https://x.ca/a?bc=1 x.ca/jobs?apply x.ca/jobs?apply"
)


@pytest.mark.parametrize("text", WRITTEN.split("|"))
@pytest.mark.parametrize("field", ["title", "description"])
def test_what_people_write_is_not_damaged(field, text):
    assert damage_of(field, text) is None


@pytest.mark.parametrize("text", ["Pr?pos?(e) ? la client?le, ? l'ann?e", "We?re a team and don?t wait"])
@pytest.mark.parametrize("field", ["title", "description"])
def test_question_marks_in_place_of_letters_are_damage(field, text):
    assert f"{field} has characters that were lost: {text[:20]}" in str(damage_of(field, text))


def test_a_blank_forgotten_behind_a_question_is_no_damage_of_a_description():
    assert damage_of("description", "<p>Interested?call us</p>") is None


def test_a_reference_with_more_digits_than_python_reads_is_text():
    assert damage_of("description", f"&#{'9' * 5000};") is None


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "mac_roman", "cp437", "cp850"])
@pytest.mark.parametrize("word", "Développeur à l’école — «Noël» où œuvre ÉTÉ CÔTÉ ÎLE À •".split())
def test_text_decoded_twice_is_damaged(encoding, word):
    twice = word.encode().decode(encoding, "replace")
    assert (damage_of("title", twice) is None) is (twice == word)


def decoded(text, encoding):
    """The bytes of UTF-8 in another encoding, as programs do it: a byte that Windows-1252 lacks is that of Latin-1."""
    return "".join(bytes((byte,)).decode(encoding, "ignore") or chr(byte) for byte in text.encode())


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "mac_roman", "cp437", "cp850"])
def test_repaired_text_is_that_before_it_was_decoded_twice_or_thrice(encoding):
    for path in SAMPLES.glob("*.json"):
        for text in filter(None, re.split(r'[\n"<>;]|&\w+', path.read_text("utf-8"))):
            twice = decoded(text, encoding)
            assert repaired(text) == text
            if damage_of("title", twice) != damage_of("title", text):
                assert repaired(twice) == text
    for word in ("Développeur à l’école — «Noël» où œuvre ÉTÉ CÔTÉ", "Préposé·e, 20 $ de l’heure"):
        assert repaired(decoded(word, encoding)) == word == repaired(word)
    assert repaired(decoded(decoded("Préposé à l’été", "cp1252"), "cp1252")) == "Préposé à l’été"


@pytest.mark.parametrize("text", [*WRITTEN.split("|"), "Pr\ufffdposé", "R&amp;D &eacute;t&eacute;", "ï¿¾"])
def test_other_text_is_not_repaired(text):
    assert repaired(text) == text


@pytest.mark.parametrize(
    ("damaged", "text"),
    [
        ("Aide Ã temps plein, lÃ", "Aide à temps plein, là"),  # no-break spaces were made blanks, or trimmed
        ("Préposé dÃ©mo, 20Â $", "Préposé démo, 20 $"),
        ("D&Atilde;&copy;veloppeur R&amp;D", "Développeur R&amp;D"),
    ],
)
def test_text_of_which_a_part_is_damaged_is_repaired(damaged, text):
    assert repaired(damaged) == text


@pytest.mark.parametrize(
    "text", ["Pr\ufffdposé", "&#65533;", "{{job.title}}", "[[ref]]", "${x}", "%%a title%%", "&Atilde;&copy;"]
)
def test_lost_characters_and_placeholders_are_damage(text):
    for field in ("title", "description"):
        assert (damage_of(field, f"Cook {text}") or "").startswith(f"{field} ")


SOURCES = [
    r"{\rtf1\ansi\deff0{\fonttbl{\f0 Arial;}}\f0\fs24 We cook.\par}",
    '{"blocks":[{"key":"a1","text":"We cook","type":"unstyled"}]}',
    '[{"insert":"We cook\\n"}]',
    '[ { "type" : "paragraph" } ]',
    '<p>{<br>"type": "doc", "content": []</p>',
    "{&quot;ops&quot;:[{&quot;insert&quot;:&quot;We cook&quot;}]}",
    r"{\"time\":1,\"blocks\":[]}",
    "{'text': 'We cook'}",
    "{'en' => 'We cook'}",
    "['We cook', 'We bake']",
    '["We cook"]',
    'a:1:{s:4:"text";s:7:"We cook";}',
    's:7:"We cook";',
    "PHA+V2UgY29vayBmb3IgbmluZXR5IGd1ZXN0cyBvZiB0aGUgaG91c2UsIGZpdmUgZGF5cyBvdXQgb2Ygc2V2ZW4uPC9wPg==",
    "data:text/html;base64,PHA+V2U8L3A+",
    "%3Cp%3EWe%20cook%3C/p%3E",
    r"\u003cp\u003eWe cook\u003c/p\u003e",
    r"Pr\u00e9pos\u00e9 \u2014 nuit",
    r"We cook.\n\nWe bake.",
    r"We cook.\r\nwe bake.",
    "Pr=C3=A9pos=C3=A9 de nuit=20",
]


@pytest.mark.parametrize("text", SOURCES)
def test_the_source_of_a_text_is_damage(text):
    for field in ("title", "description"):
        assert (damage_of(field, text) or "").startswith(f"{field} ")
        assert (damage_of(field, f"<div>\n<p>{text}") or "").startswith(f"{field} ")


@pytest.mark.parametrize(
    "text",
    [
        *"[Bilingual] Cook|[Hybrid] {Remote}|{Acme} is hiring|We cook: ['a', {'b': 1}]|['90s music] we play|[1] First".split(
            "|"
        ),
        *'"Great" place|["Acme" Inc.] is hiring|{"Acme"} rocks|a:1 ratio|C:\\users\\new|https://acme.example/A1'.split(
            "|"
        ),
        *("AbC1" * 19 + " we cook", "/" * 200, "_" * 200, "a" * 200, "https://acme.example/" + "Aa1" * 60),
    ],
)
def test_a_text_with_brackets_or_a_long_word_is_no_source(text):
    assert damage_of("description", text) is None


@pytest.mark.parametrize(
    "text", ["<b>Cook</b>", "Cook &lt;br/&gt;", "Cook </p>", "Cook%20at%20night", "Pr%C3%A9pos%C3%A9"]
)
def test_a_tag_is_damage_in_a_title_alone(text):
    assert (damage_of("title", text) or "").startswith("title has ")
    assert damage_of("description", text) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://staging.acme.example/1", "https://acme-uat.ats.example/1", "https://jobs.uat2.acme.example/1",
        "https://abcd-test.fa.hcm.example/1", "https://acme.wd5-impl.ats.example/1",
        "http://localhost/jobs/1", "http://intranet/1", "http://ats01:8080/1", "https://ats.acme.corp/1",
        "https://127.0.0.1:8080/1", "http://10.1.2.3/1", "https://172.16.0.9", "http://hr.acme.local/1?a=b",
        "https://[::1]/1", "https://acme.example/jobs/undefined", "https://acme.example/null/apply", "https://acme.example/?job=undefined",
        "https://acme.example/%7B%7Bid%7D%7D", "https://acme.example/$%7Bid%7D", "https://acme.example/?o=%5Bobject%20Object%5D",
    ],
)  # fmt: skip
def test_an_address_that_the_public_does_not_reach_is_damaged(url):
    assert (damage_of("applicationUrl", url) or "").startswith(
        "applicationUrl leads to no page that is public: "
    )


@pytest.mark.parametrize(
    "url",
    [
        "https://sandbox.example/1", "https://jobs.sandbox.example.", "https://uat.example", "https://stage.acme.example/1",
        "https://testing.acme.example/1", "https://qa.acme.example/1", "https://home-staging-pros.example/1",
        "https://jobs.local.example/1", "https://localhost.example/1", "https://10.example/1", "https://8.8.8.8/1",
        "https://172.32.0.1/1", "https://acme.example/jobs/nullarbor-cook", "https://acme.example/?next=null",
        "https://acme.example/?id=%7B3F2504E0-4F89%7D", "https://acme.example/a%20%5Bb%5D", "http://acme.example/localhost",
    ],
)  # fmt: skip
def test_other_addresses_are_not_damaged(url):
    assert damage_of("applicationUrl", url) is None


@pytest.mark.parametrize(
    "text",
    [
        "<p>Lorem ipsum dolor sit amet.</p>", "<b>Warning</b>: Undefined variable $job in <b>/srv/feed.php</b> on line <b>42</b>",
        "Fatal error: Uncaught Error in /srv/feed.php on line 7", "Traceback (most recent call last): File",
        "Not set. at Acme.Feed.Render(Int32 id) in C:\\feed\\Render.cs:line 42", "b'<p>Cook</p>'",
    ],
)  # fmt: skip
def test_what_programs_write_in_place_of_a_text_is_damage(text):
    assert damage_of("description", text)


@pytest.mark.parametrize("ampersands", [0, 1, 7, 8, 9, 40])
def test_a_reference_is_found_behind_other_ampersands(ampersands):
    assert damage_of("description", f"Cook{' R&amp;D' * ampersands} Montr&#195;&#169;al &")
    assert damage_of("description", f"Cook{' R&amp;D' * ampersands} &") is None


@pytest.mark.parametrize(
    "text",
    ["You work on line 4, and note each error: all of them.", "See the assembly:line 4",
     "b'day cakes", "The ipsum lorem"],
)  # fmt: skip
def test_people_write_of_lines_and_errors(text):
    assert damage_of("description", text) is None


def test_the_samples_have_no_damage():
    for path in SAMPLES.iterdir():
        if path.suffix in (".csv", ".json", ".xml"):
            text = path.read_bytes().decode("utf-16" if path.read_bytes()[:1] == b"\xff" else "utf-8-sig")
            assert damage_of("description", f"File: {text}".replace("\\n", "\n")) is None, path.name
