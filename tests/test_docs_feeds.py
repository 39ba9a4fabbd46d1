"""docs/feeds.md has every key of the mapping language and every preset, and its examples load."""

import re
from pathlib import Path

import pytest

from syncd.domain.catalog import Catalog
from syncd.domain.policy import Limits
from syncd.feeds.config import KEYS, FeedDefaults, parse_feed
from syncd.feeds.mapping import KINDS
from syncd.feeds.native import COLUMNS
from syncd.feeds.options import FORMATS, READ_KEYS
from syncd.feeds.presets import load_preset, preset_names
from syncd.feeds.sources import SOURCE_KEYS
from syncd.feeds.transforms.dates import NAMES

ROOT = Path(__file__).parents[1]
DOC = (ROOT / "docs" / "feeds.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", DOC, re.S)
OPTIONS = sorted({option for kind in KINDS.values() for option in kind.options})
WORDS = set(re.findall(r"[A-Za-z_%][\w%]*", " ".join(re.findall(r"`[^`\n]+`", DOC) + EXAMPLES)))


@pytest.mark.parametrize(
    "key",
    [
        *(*KEYS, *READ_KEYS, *FORMATS, *SOURCE_KEYS, *OPTIONS, *KINDS, *NAMES, *Limits.__slots__),
        *("hourly_below", "yearly_above", "snapshot", "delta", "truncate", "hash", "clean", "reject", "keep"),
        *("overwrite", "ignore", "syncd_errors"),
    ],
)
def test_every_key_of_the_language_is_documented(key: str) -> None:
    assert key in WORDS


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_of_a_field_stands_in_an_example(option: str) -> None:
    assert re.search(rf"\b{option} = ", "\n".join(EXAMPLES)), option


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_loads(number: int) -> None:
    assert parse_feed("acme", EXAMPLES[number], Catalog.default(), FeedDefaults()).employer == "Acme Ltd."


def test_the_examples_show_each_form_of_a_selector() -> None:
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


def test_every_preset_has_its_line_and_its_sample() -> None:
    """The table is made of the presets themselves: `about`, and the sample of that name."""
    found = re.search(r"<!-- presets -->\n(.*?)<!-- /presets -->", DOC, re.S)
    assert found
    assert found[1] == "".join(line(name) for name in preset_names())


def line(name: str) -> str:
    samples = sorted(path.name for path in (ROOT / "feeds" / "samples").glob(f"{name}.*"))
    assert samples, f"{name} has no sample"
    about = load_preset(name)["about"].replace("|", "\\|").replace("<", "&lt;")
    return f"| `{name}` | {about} | " + ", ".join(f"[{s}](../feeds/samples/{s})" for s in samples) + " |\n"


def test_the_columns_of_the_native_csv_are_these() -> None:
    assert f"`{','.join(COLUMNS)}`" in DOC


def test_its_links_lead_somewhere() -> None:
    headings = {
        re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.+)$", DOC, re.M)
    }
    for target in re.findall(r"\]\(([^)\s]+)\)", DOC):
        assert target[1:] in headings if target.startswith("#") else (ROOT / "docs" / target).exists(), target
