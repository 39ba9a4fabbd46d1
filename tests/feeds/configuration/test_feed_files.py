"""Feed files: their settings, their faults, and their digests."""

import json
import os
import pickle
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from lxml import etree

from syncd.domain import Catalogue, Policy, Threshold
from syncd.errors import ConfigError
from syncd.feeds.configuration import FeedDefaults, parse_feed, read_feed_files
from syncd.feeds.mapping.presets import load_preset, overridden, preset_names
from syncd.feeds.readers import Record

CATALOGUE = Catalogue.default()
EXAMPLES = Path(__file__).parents[3] / "config" / "feeds.d"


def feed(text, defaults=None):
    return parse_feed("acme", text, CATALOGUE, defaults or FeedDefaults())


def faults(text):
    with pytest.raises(ConfigError) as raised:
        feed(text)
    return raised.value.faults


def test_what_is_not_a_regular_file_or_has_no_name_in_utf_8_is_a_fault_of_that_feed_alone(tmp_path):
    os.mkfifo(tmp_path / "fifo.toml")
    (tmp_path / "endless.toml").symlink_to("/dev/zero")
    (tmp_path / "large.toml").write_bytes(b"#" * (5 << 20))
    (tmp_path / os.fsdecode(b"x\xff.toml")).write_text('employer = "A"')
    (tmp_path / "good.toml").write_text('employer = "A"')
    (tmp_path / "folder.toml").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    feeds = read_feed_files(tmp_path, CATALOGUE, FeedDefaults())
    reported = {name: file.faults[0] for name, file in feeds.items() if file.faults}
    assert reported == {
        "fifo": "fifo.toml: cannot be read: it is a FIFO, not a file",
        "folder": "folder.toml: cannot be read: Is a directory",
        "endless": "endless.toml: cannot be read: it is a device, not a file",
        "large": "large.toml: cannot be read: it is larger than 4194304 bytes",
        "x\\xff": reported["x\\xff"],
    }
    assert feeds["good"].usable().employer == "A"
    with pytest.raises(ConfigError, match=r"fifo\.toml: cannot be read"):
        feeds["fifo"].usable()
    json.dumps([*feeds]).encode()
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_employer_is_enough_and_gives_the_defaults():
    config = feed('employer = "Acme Ltd."')
    assert (config.name, config.employer, config.preset, config.marker) == ("acme", "Acme Ltd.", None, None)
    assert (config.policy, config.settle, config.keep_files) == (Policy(), 2.0, timedelta(days=30))
    assert config.expect_every is None
    assert config.read.format is None


def test_every_setting_can_be_overridden():
    config = feed(
        """
        employer = "Acme"
        mode = "delta"
        settle = "500ms"
        marker = ".done"
        keep_files = "12h"
        expect_every = "1d"
        max_archive = { percent = 60, jobs = 2 }
        max_rejected = { rows = 50 }
        max_rekeyed = 80
        max_retitled = { percent = 70 }
        max_shrunk = 90.5
        grace = 3
        expired = "ignore"
        on_api_edit = "keep"
        owns = "employer"
        take_over = true
        renew = false
        [read]
        format = "csv"
        encoding = "windows-1252"
        delimiter = "tab"
        """
    )
    assert config.policy == Policy(
        mode="delta",
        max_archive=Threshold(60, 2),
        max_rejected=Threshold(10, 50),
        max_rekeyed=Threshold(80, 5),
        max_retitled=Threshold(70, 5),
        max_shrunk=Threshold(90.5, 5),
        grace=3,
        expired="ignore",
        on_api_edit="keep",
        owns="employer",
        take_over=True,
        renew=False,
    )
    assert (config.settle, config.marker, config.keep_files) == (0.5, ".done", timedelta(hours=12))
    assert config.expect_every == timedelta(days=1)
    assert (config.read.format, config.read.encoding, config.read.delimiter) == ("csv", "windows-1252", "\t")


def test_the_services_defaults_reach_the_feed():
    config = feed('employer = "A"\ngrace = 2', FeedDefaults(Policy(expired="ignore"), 0.2, timedelta(days=1)))
    assert (config.policy.expired, config.policy.grace) == ("ignore", 2)
    assert (config.settle, config.keep_files) == (0.2, timedelta(days=1))


WRONG = [
    ("", "acme.toml: employer: is missing"),
    ('employr = "x"', "acme.toml: employr: unknown key; did you mean employer?"),
    ('employer = ""', "employer: must be text"),
    ('employer = "A"\npreset = "inded"', "preset: there is no preset 'inded'; did you mean indeed?"),
    ('employer = "A"\nmode = "snap"', "mode: must be snapshot or delta"),
    ('employer = "A"\nsettle = "2 moons"', "settle: must be a duration"),
    ('employer = "A"\nmarker = "done"', "marker: must be an ending"),
    ('employer = "A"\nmax_archive = { percent = 200 }', "max_archive.percent: must be a percentage"),
    ('employer = "A"\nmax_archive = { rows = 2 }', "max_archive.rows: unknown key"),
    ('employer = "A"\nmax_shrunk = true', "max_shrunk: must be a percentage"),
    ('employer = "A"\ngrace = 0', "grace: must be a whole number"),
    ('employer = "A"\ntake_over = "yes"', "take_over: must be true or false"),
    ('employer = "A"\n[read]\nfromat = "xml"', "read.fromat: unknown key; did you mean format?"),
    ('employer = "A"\n[read]\nformat = "yaml"', "read.format: must be csv or xml or json or jsonl"),
    ('employer = "A"\n[read]\nformat = "csv"\nrecords = "a"', "read.records: has no use in csv"),
    ('employer = "A"\n[read]\nformat = "xml"\nrecords = "a[1]"', "read.records: is not a path"),
    ('employer = "A"\n[read]\nencoding = "utf-9"', "read.encoding: there is no encoding"),
    ('employer = "A"\n[read]\nformat = "json"\ndelimiter = ";"', "read.delimiter: is for CSV only"),
    ('employer = "A"\n[read]\nformat = "csv"\nrecover = true', "read.recover: is for XML only"),
    ('employer = "A"\n[read]\nrepair_text = "yes"', "read.repair_text: must be true or false"),
    ('employer = "A"\n[feilds]\ntitle = "t"', "feilds: unknown key; did you mean fields?"),
    ('employer = "A"\nfields = 3', "fields: must be a table"),
    ('employer = "A"\n[fields]\ntitel = "t"', "fields.titel: unknown field; did you mean title?"),
    ('employer = "A"\n[lookup.c]\na = "b"', "lookup: has no use"),
    ('employer = "A"\n[fields]\ntitle = "t"\n[lookup]\nc = "b"', "lookup.c: must be a table"),
    (
        'employer = "A"\npreset = "csv"\n[lookup.categoy]\na = "Other"',
        'lookup.categoy: has no use: no field has lookup = "categoy"; did you mean category?',
    ),
    ('employer = "A"\n[fields]\ntitle = "t"\n[lookup.c]\na = "b"', "lookup.c: has no use: no field has"),
    ('employer = "A"\n[sync]\ngrace = 2', "sync: is a table of syncd.toml: in a feed's file its keys stand"),
    ('employer = "A"\n[drop]\nsettle = "3s"', "drop: is a table of syncd.toml"),
    ('employer = "A"\ntitle = "x"', "acme.toml: title: is a field of a job: it belongs below [fields]"),
    (
        'employer = "A"\n[fields]\nstatus = { value = "actve" }',
        "fields.status.value: must be active, archived or",
    ),
    (
        'employer = "A"\n[fields]\nconfidential = { from = "c", default = "ye" }',
        "default: must be true or false",
    ),
    (
        'employer = "A"\n[fields]\ncloseDate = { from = "c", default = "31/12/2099", date = ["mdy"] }',
        "fields.closeDate.default: must be a date (mdy), not '31/12/2099'",
    ),
    ('employer = "A', "acme.toml: is not TOML"),
    ('employer = "A"\nx = ' + "[" * 3000 + "]" * 3000, "is not TOML: Lists or tables are nested too deeply"),
    ('employer = "A"\ngrace = ' + "9" * 6000, "is not TOML: A number has too many digits"),
]


RIGHT = [
    'preset = "csv"\n[lookup.position]\na = "Contract"',
    '[fields]\nlocations = [{ all = [{ from = "a", lookup = "c" }] }, "b"]\n[lookup.c]\na = "Toronto, ON"',
    '[fields]\nstatus = { value = "live" }\nautoRefresh = { value = true }\nconfidential = { value = "non" }',
    '[fields]\nstatus = { value = "x", lookup = "s" }\n[lookup.s]\nx = "active"',
    "[fields]\ncloseDate = { value = 2099-12-31 }",
    '[fields]\ntitle = "t"\n[lookup.location]',
    "[lookup.location]",
]


@pytest.mark.parametrize("text", RIGHT)
def test_what_can_be_meant_is_not_a_fault(text):
    assert feed(f'employer = "A"\n{text}').employer == "A"


@pytest.mark.parametrize(("text", "said"), WRONG, ids=[said for _, said in WRONG])
def test_what_is_wrong_is_named_with_file_and_key(text, said):
    assert any(said in fault for fault in faults(text)), faults(text)


def test_all_faults_of_all_files_come_at_once(tmp_path):
    (tmp_path / "a.toml").write_text('employr = "x"\nmode = "no"')
    (tmp_path / "b.toml").write_text(
        'employer = "x"\n[fields]\ntitle = "a["\nsalary = { txt = "s" }\n[read]\nformat = "xml"'
    )
    (tmp_path / "c.toml").write_bytes(b'employer = "\xff"')
    (tmp_path / "d e.toml").write_text('employer = "x"')
    feeds = read_feed_files(tmp_path, CATALOGUE, FeedDefaults())
    assert list(feeds) == ["a", "b", "c", "d e"]
    files = [fault.split(":")[0] for file in feeds.values() for fault in file.faults]
    assert set(files) == {"a.toml", "b.toml", "c.toml", "d e.toml"}
    assert files.count("a.toml") == 3
    assert files.count("b.toml") >= 2


def test_feeds_are_named_after_their_files_and_only_toml_counts(tmp_path):
    (tmp_path / "zinc.toml").write_text('employer = "Z"')
    (tmp_path / "alum.toml").write_text('employer = "A"')
    (tmp_path / "x.toml.example").write_text("nonsense")
    (tmp_path / ".hidden.toml").write_text("nonsense")
    assert list(read_feed_files(tmp_path, CATALOGUE, FeedDefaults())) == ["alum", "zinc"]
    assert read_feed_files(tmp_path / "nowhere", CATALOGUE, FeedDefaults()) == {}


def test_a_folder_that_cannot_be_read_is_not_one_without_feeds(tmp_path):
    (tmp_path / "feeds.d").write_text("a file")
    with pytest.raises(ConfigError, match=r"feeds\.d: cannot be read: Not a directory"):
        read_feed_files(tmp_path / "feeds.d", CATALOGUE, FeedDefaults())


def test_two_feeds_that_differ_in_case_only_are_refused(tmp_path):
    for name in ("Acme", "acme"):
        (tmp_path / f"{name}.toml").write_text('employer = "A"')
    feeds = read_feed_files(tmp_path, CATALOGUE, FeedDefaults())
    assert feeds["Acme"].faults == ()
    with pytest.raises(ConfigError, match="in case only"):
        feeds["acme"].usable()


BASE = 'employer = "A"\npreset = "indeed"\n'


@pytest.mark.parametrize(
    ("more", "same"),
    [
        ('[fields]\ntitle = "name"', False),
        ("[fields]\nsalary = false", False),
        ('[lookup.category]\n"Foo" = "Sales"', False),
        ('[read]\nencoding = "latin-1"', False),
        ('grace = 4\nsettle = "9s" # x', True),  # only limits a run
    ],
)
def test_the_fingerprint_changes_with_all_that_decides_what_a_record_maps_to(more, same):
    assert (feed(BASE + more).fingerprint == feed(BASE).fingerprint) is same
    other = CATALOGUE.extended(categories={900: "Falconry"})
    assert parse_feed("acme", BASE, other, FeedDefaults()).fingerprint != feed(BASE).fingerprint
    assert len(feed(BASE).fingerprint) == 16


def test_the_settings_digest_sees_values_and_neither_comments_nor_order():
    one = feed('employer = "A"\ngrace = 2').settings_digest
    assert feed('# hello\ngrace = 2 # two\nemployer = "A"').settings_digest == one
    assert feed('employer = "A"\ngrace = 3').settings_digest != one


def test_a_feeds_own_fields_and_lookups_go_before_those_of_its_preset():
    mapping = feed(BASE + '[fields]\ntitle = { value = "Fixed" }\nsalary = false').mapping
    job = etree.fromstring("<job><title>t</title><salary>$5/h</salary></job>")
    body = mapping.row(Record(1, 1, b"", job)).body
    assert body["title"] == "Fixed"
    assert "salary" not in body
    assert "positionType" in body


def test_what_the_mapping_needs_of_the_file_reaches_the_reader():
    assert not feed(BASE).read.outside
    assert feed(BASE + '[fields]\ntitle = "../publisher"').read.outside


def test_what_extends_a_preset_says_only_what_is_different():
    base = {
        "about": "a",
        "read": {"format": "xml"},
        "fields": {"title": "t", "salary": "s"},
        "lookup": {"c": {"x": 1, "y": 2}},
    }
    own = {
        "about": "b",
        "fields": {"title": "name", "salary": False, "status": False},
        "lookup": {"c": {"y": 3}, "d": {}},
    }
    assert overridden(base, own) == {
        "about": "b",
        "read": {"format": "xml"},
        "fields": {"title": "name", "status": False},
        "lookup": {"c": {"x": 1, "y": 3}, "d": {}},
    }


def test_a_preset_starts_from_its_family():
    family, preset = load_preset("indeed"), load_preset("jooble")
    assert preset["fields"]["title"] == ["name", "title"]
    assert preset["fields"]["salary"] == family["fields"]["salary"]
    assert preset["lookup"]["status"]["active"] == ""
    assert preset["read"]["format"] == "xml"


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_is_one_line_of_words_and_the_tables_of_a_preset(name):
    preset = load_preset(name)
    assert set(preset) - {"board"} == {"about", "detect", "read", "fields", "lookup"}
    assert "\n" not in preset["about"]
    assert feed(f'employer = "A"\npreset = "{name}"').preset == name


def test_the_shipped_examples_are_right_and_not_active():
    examples = sorted(EXAMPLES.glob("*.toml.example"))
    names = [path.name.partition(".")[0] for path in examples]
    assert names == ["harbour-jsonld", "maple-indeed", "northern-csv"]
    for path in examples:
        parse_feed(path.name.partition(".")[0], path.read_text(), CATALOGUE, FeedDefaults())
    assert read_feed_files(EXAMPLES, CATALOGUE, FeedDefaults()) == {}


def test_the_zone_of_the_service_reaches_dates_also_in_another_process():
    source = 'employer = "A"\n[fields]\ncloseDate = "ends"'
    there = feed(source, FeedDefaults(zone=ZoneInfo("Pacific/Auckland")))
    record = Record(1, None, b"", {"ends": "2026-12-13T04:59:59Z"})
    for mapping in (there.mapping, pickle.loads(pickle.dumps(there.mapping))):
        assert mapping.row(record, "json").body == {"closeDate": "2026-12-13"}
    assert there.fingerprint != feed(source).fingerprint
