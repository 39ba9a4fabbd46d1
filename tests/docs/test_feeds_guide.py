"""docs/feeds.md has every key of the mapping language and every preset, and its examples load."""

import re
from pathlib import Path

import pytest

from syncd.domain import Catalogue, FeedLimits
from syncd.feeds.configuration import FORMATS, KEYS, READ_KEYS, FeedDefaults, parse_feed
from syncd.feeds.mapping.mapping import COMPILERS
from syncd.feeds.mapping.presets import load_preset, preset_names
from syncd.feeds.mapping.sources import SOURCE_KEYS
from syncd.feeds.mapping.transforms.dates import DATE_FORMATS
from syncd.feeds.native import COLUMNS

ROOT = Path(__file__).parents[2]
DOC = (ROOT / "docs" / "feeds.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", DOC, re.S)
WHOLE_FILE = EXAMPLES[0]
OPTIONS = sorted({option for kind in COMPILERS.values() for option in kind.options})
WORDS = set(re.findall(r"[A-Za-z_%][\w%]*", " ".join(re.findall(r"`[^`\n]+`", DOC) + EXAMPLES)))


def section(heading: str) -> str:
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^## |^### |\Z)", DOC, re.S | re.M)
    assert found, heading
    return found[1]


def row(heading: str, key: str) -> list[str]:
    """The cells of the row of the table below ``heading`` that is about ``key``."""
    lines = [line for line in section(heading).splitlines() if re.match(r"\| ", line)]
    found = [cells for line in lines if f"`{key}`" in (cells := re.split(r"(?<!\\)\|", line)[1:-1])[0]]
    assert len(found) == 1, f"{key}: {len(found)} rows below {heading}"
    return found[0]


def test_every_category_has_its_cell_and_no_other_name_has_one():
    rows = re.findall(r"^\| (.*) \|$", section("Categories"), re.M)[1:]
    names = [entry.name for entry in Catalogue.default().categories.values()]
    assert " | ".join(rows).split(" | ") == names


@pytest.mark.parametrize(
    "key", [key for key in KEYS if key not in ("read", "fields", "lookup", "rows", "source")]
)
def test_every_key_of_a_feed_s_file_has_its_line_with_its_meaning(key):
    assert re.search(rf"^{key} = .+# \S", WHOLE_FILE, re.M)


@pytest.mark.parametrize("table", ["read", "fields", "lookup.category", "rows", "source"])
def test_every_table_of_a_feed_s_file_stands_in_its_example(table):
    assert re.search(rf"^\[{re.escape(table)}\]", WHOLE_FILE, re.M)


@pytest.mark.parametrize("key", READ_KEYS)
def test_every_key_of_reading_has_its_line_or_its_sentence(key):
    prose = re.sub(r"```.*?```", "", section("The feed's file"), flags=re.S)
    assert re.search(rf"^{key} = .+# \S", WHOLE_FILE, re.M) or re.search(rf"`{key}(?:`| = )", prose)


@pytest.mark.parametrize("key", SOURCE_KEYS)
def test_every_key_of_a_source_has_its_row_with_an_example(key):
    _, gives, example = row("Sources", key)
    assert gives.strip()
    assert f"{key} = " in example


@pytest.mark.parametrize("name", COMPILERS)
def test_every_field_has_its_row_with_all_of_its_own_keys(name):
    own = row("Fields", name)[1]
    missing = [o for o in COMPILERS[name].options if o != "default" and not re.search(rf"`{o}(?:`| = )", own)]
    assert not missing


@pytest.mark.parametrize("name", DATE_FORMATS)
def test_every_format_of_a_date_is_explained(name):
    paragraph = section("Fields").partition("**Dates**")[2].partition("```")[0]
    assert f"`{name}`" in paragraph


@pytest.mark.parametrize("limit", FeedLimits.__slots__)
def test_every_limit_has_its_row(limit):
    assert all(cell.strip() for cell in row("Formats and limits", limit))


@pytest.mark.parametrize(
    "word",
    [
        *FORMATS,
        *("hourly_below", "yearly_above", "snapshot", "delta", "truncate", "hash", "clean", "reject", "keep"),
        *("overwrite", "ignore", "syncd_errors"),
    ],
)
def test_every_word_that_a_key_may_have_is_there(word):
    assert word in WORDS


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_of_a_field_stands_in_an_example(option):
    assert re.search(rf"\b{option} = ", "\n".join(EXAMPLES)), option


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_loads(number):
    assert parse_feed("acme", EXAMPLES[number], Catalogue.default(), FeedDefaults()).employer == "Acme Ltd."


def test_the_examples_show_each_form_of_a_selector():
    text = "\n".join(EXAMPLES)
    for form in (
        '"Job ID"',
        "position.title",
        "[0]",
        "[*]",
        "[name=Type]",
        '["text.html"]',
        '"@id"',
        "profile/title",
        "tag[@",
        "../@",
    ):
        assert form in text, form


def test_every_preset_has_its_line_and_its_sample():
    """The table is made of the presets themselves: `about`, and the sample of that name."""
    found = re.search(r"<!-- presets -->\n(.*?)<!-- /presets -->", DOC, re.S)
    assert found
    assert found[1] == "".join(line(name) for name in preset_names())


def line(name: str) -> str:
    samples = sorted(path.name for path in (ROOT / "feeds" / "samples").glob(f"{name}.*"))
    assert samples, f"{name} has no sample"
    about = load_preset(name)["about"].replace("|", "\\|").replace("<", "&lt;")
    return f"| `{name}` | {about} | " + ", ".join(f"[{s}](../feeds/samples/{s})" for s in samples) + " |\n"


def test_the_columns_of_the_native_csv_are_these():
    assert f"`{','.join(COLUMNS)}`" in DOC
