"""The service's settings: their declarations, the file that ships, and the faults of values."""

import re
import tomllib
from pathlib import Path

import pytest

from syncd.config import SETTINGS, load, load_settings, retired_in
from syncd.errors import ConfigError

SHIPPED = Path(__file__).parents[2] / "config" / "syncd.toml"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An installation folder that is also the current one."""
    (tmp_path / "config").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(home, text):
    path = home / "config" / "syncd.toml"
    path.write_text(text)
    return path


def faults(path=None, environ=None):
    with pytest.raises(ConfigError) as caught:
        load_settings(path, environ or {})
    return caught.value.faults


def leaves(table, above=""):
    for name, value in table.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{above}{name}.")
        else:
            yield above + name, value


def test_the_shipped_file_has_every_setting_with_its_default_and_nothing_else():
    text = re.sub(r"^#(?=\w+ = )", "", SHIPPED.read_text(), flags=re.MULTILINE)
    assert dict(leaves(tomllib.loads(text))) == {s.key: s.default for s in SETTINGS}


def test_the_shipped_file_sets_what_an_operator_decides_alone():
    """So a later default arrives, and a setting that is said to be from the file was decided by somebody."""
    keys = "timezone api.listen operator.listen store.url drop.folder"
    keys += " notify.webhook notify.smtp notify.email_from notify.email_to"
    values = dict(leaves(tomllib.loads(SHIPPED.read_text())))
    assert {key for key, value in values.items() if value != {}} == set(keys.split())


def test_the_shipped_file_explains_every_setting():
    lines = SHIPPED.read_text().splitlines()
    for number, line in enumerate(lines):
        if re.match(r"#?\w+ = ", line):
            assert lines[number - 1].startswith("#"), line


def test_every_setting_says_what_it_does_and_has_a_name_in_the_environment():
    names = [s.environment for s in SETTINGS]
    assert len(set(names)) == len(names)
    assert all(s.doc and "." not in s.environment for s in SETTINGS)


def test_all_faults_are_reported_at_once_with_file_and_key(home):
    path = write(
        home,
        '[api]\nlisten = "nowhere"\nlissten = "x"\n[drop]\nsettle = "2 fortnights"\n[refesh]\nevery = "7d"\n',
    )
    found = faults(path, {"SYNCD_SYNC__GRACE": "many"})
    assert len(found) == 5
    assert all(line.startswith((str(path), "environment: ")) for line in found)
    text = "\n".join(found)
    for words in (
        "api.listen must be HOST:PORT",
        "unknown setting api.lissten; did you mean api.listen?",
        "drop.settle must be a duration such as 2s",
        "unknown setting refesh",
        "environment: SYNCD_SYNC__GRACE must be a whole number from 1 to 100",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("[sync]\nmax_archve = { percent = 1 }", "did you mean sync.max_archive"),
        ("[sync]\nmax_archive = 5", "sync.max_archive is a table, not a value"),
        ("[sync]\nmax_archive = { percent = 101 }", "percentage from 0 to 100, not 101"),
        ("[sync]\nexpired = 'delete'", 'archive or ignore, not "delete"'),
        ("grace = 2", "did you mean sync.grace"),
        ('timezon = "America/Toronto"', "unknown setting timezon; did you mean timezone?"),
        ("[snyc]\ngrace = 2", "unknown setting snyc; did you mean sync?"),
        ('[drp]\nfolder = "x"', "unknown setting drp; did you mean drop?"),
        ('[stor]\nurl = "x"', "unknown setting stor; did you mean store?"),
        ("[sync]\nmax_archiv = 3", "unknown setting sync.max_archiv; did you mean sync.max_archive?"),
        ("max_archive = 3", "unknown setting max_archive; did you mean sync.max_archive?"),
        (
            "[sync]\nmax_rejected = { rows = 100000000 }",
            "must be a whole number from 0 to 10000000, not 100000000",
        ),
        ("timezone = 'Toronto'", "time zone such as America/Toronto"),
        ("[api]\nlisten = '[::zz]:80'", "HOST:PORT"),
        ("[api]\nlisten = '127.0.0.1:70000'", "HOST:PORT"),
        (
            "[api]\nlisten = ':80'",
            "must have a host in front of the port: 127.0.0.1, or 0.0.0.0:80 for all who",
        ),
        ("[api]\nbase_path = 'api'", "path such as /api/v1.1"),
        ("[api]\nbase_path = '/healthz'", "/healthz is an address of syncd itself"),
        ("[api]\nbase_path = '/./docs'", "path such as /api/v1.1"),
        ("[api]\nbase_path = '/api/..'", "path such as /api/v1.1"),
        ("[api]\nbase_path = '/docs/v1'", "/docs is an address of syncd itself"),
        ('[operator]\ntoken = "caf\\u00e9"', "characters that no client can send"),
        ('[operator]\ntoken = "a\\nb"', "characters that no client can send"),
        ("[operator]\ntoken = ' a'", "characters that no client can send"),
        ("[api]\npublic_url = 'ftp://x'", "address such as https://"),
        ("[api]\npublic_url = 'http://['", "address such as https://"),
        ("[operator]\npublic_url = 'https://x:99999'", "address such as https://"),
        ("[api]\nmax_body = 0", "must be more than 0"),
        (
            "[api]\ncors_origins = ['*']",
            'api.cors_origins has "*", which is not an origin such as https://app.example.ca',
        ),
        ("[api]\ncors_origins = ['https://app.example.ca/']", "not an origin"),
        ("[api]\ncors_origins = ['https://app.example.ca/path']", "not an origin"),
        ("[api]\ncors_origins = ['https://App.example.ca']", "not an origin"),
        ("[api]\ncors_origins = ['https://app.example.ca:443']", "not an origin"),
        ("[api]\ncors_origins = ['http://app.example.ca:80']", "not an origin"),
        ("[api]\ncors_origins = ['https://app.example.ca:70000']", "not an origin"),
        ("[api]\ncors_origins = ['app.example.ca']", "not an origin"),
        ("[api]\ncors_origins = ['null']", "not an origin"),
        ("[api]\ncors_origins = [1]", "not an origin"),
        ("[api]\ncors_origins = true", "list of origins"),
        ("[api]\nkeepalive = '0s'", "must be more than"),
        ("[api]\nrate_limit = -1", "from 0 to"),
        ("[api]\nfailed_keys = 'many'", "whole number"),
        ("[api]\nmax_connections = -1", "from 0 to"),
        ("[api]\nmax_body = '1MB!'", "a size such as"),
        ("[api]\ntrusted_proxies = ['me']", "not an address or network"),
        ("[api]\ntrusted_proxies = 5", "list of addresses"),
        ("[store]\nurl = 'mysql://x'", "sqlite:///PATH"),
        ("[store]\nurl = 'postgresql://u@h'", "store.url must name one database"),
        ("[store]\nurl = 'postgresql://u:a/b@h/d'", "write a / in a password as %2F"),
        ("[store]\nurl = 'postgresql://u@h:70000/d'", "has a port that is not a number from 1 to 65535"),
        ("[store]\nurl = 'postgresql://u@[::1]:x/d'", "has a port that is not a number"),
        ("[store]\nlock_url = 'sqlite:///x'", "must be postgresql://USER:PASSWORD@HOST:PORT/DATABASE"),
        ("[store]\nlock_url = 'postgresql://h/d'", "store.lock_url: is for a store.url on PostgreSQL"),
        ("[drop]\npoll = 'yes'", "true or false"),
        ("[drop]\nsettle = 2", "duration such as 2s"),
        ("[drop]\nsettle = '2S'", 'not "2S"; write "2s"'),
        ("[sync]\ngrace = '2'", 'a whole number from 1 to 100, not "2"'),
        ("[drop]\npoll = 'true'", 'true or false, not "true"'),
        ("[refresh]\nevery = '0s'", "must be more than"),
        ("[refresh]\nevery = '40000d'", "at most"),
        ("[limits]\nrows = true", "whole number"),
        ("[operator]\nlisten = '0.0.0.0:8081'", "set operator.token or operator.token_file"),
        ("[operator]\nlisten = '127.0.0.1:8080'", 'operator.listen = ""'),
        (
            "[api]\ntrusted_proxies = ['10.0.0.1']\n[operator]\nlisten = ''",
            "api.trusted_proxies: a proxy lets",
        ),
        (
            "[api]\npublic_url = 'https://x.ca'\n[operator]\nlisten = ''",
            "api.public_url: a proxy lets others",
        ),
        ("[operator]\npublic_url = 'https://x.ca'", "set operator.token or operator.token_file"),
        ("[operator]\ntoken = 'a'\ntoken_file = 'b'", "only one of them"),
        ("[operator]\nlisten = '[::]:8080'", "[::]:8080 and the API's 127.0.0.1:8080 cannot both be used"),
        ("[api]\nlisten = '0.0.0.0:8081'", "127.0.0.1:8081 and the API's 0.0.0.0:8081 cannot both be used"),
        ("[operator]\ntoken_file = 'none'", "No such file"),
        (
            "[operator]\ntoken_file = '/dev/zero'",
            "operator.token_file: /dev/zero: it is a device, not a file",
        ),
        ("x = " + "[" * 3000 + "]" * 3000, "is not TOML: Lists or tables are nested too deeply"),
        ("[limits]\nrows = " + "9" * 6000, "is not TOML: A number has too many digits"),
        ("api = [", "syncd.toml"),
    ],
)
def test_a_wrong_value_is_refused_with_what_it_must_be(home, toml, words):
    assert words in "\n".join(faults(write(home, toml)))


@pytest.mark.parametrize(
    "toml",
    [
        "[api]\ntrusted_proxies = ['10.0.0.1']\npublic_url = 'https://x.ca'",  # the pages have an address of their own
        "[api]\ntrusted_proxies = ['10.0.0.1']\n[operator]\nlisten = ''\ntoken = 'hush'",
        "[operator]\npublic_url = 'https://x.ca'\ntoken = 'hush'",
        "[operator]\npublic_url = 'http://localhost:9000'",  # the end of a tunnel: still this machine alone
        "[operator]\npublic_url = 'http://[::1]:9000'",
        "[operator]\nlisten = ''",
    ],
)
def test_pages_behind_a_proxy_need_a_token_and_others_on_loopback_none(home, toml):
    load_settings(write(home, toml), {})


def test_the_environment_wins_over_the_file(home):
    path = write(home, '[api]\nlisten = "127.0.0.1:1"\n[sync]\nmax_archive = { percent = 50 }\n')
    settings = load_settings(path, {"SYNCD_API__LISTEN": "[::1]:2", "SYNCD_SYNC__MAX_ARCHIVE__JOBS": "9"})
    assert str(settings.api.listen) == "[::1]:2"
    assert (settings.sync.max_archive.percent, settings.sync.max_archive.count) == (50, 9)
    assert settings.sources == {
        "api.listen": "environment",
        "sync.max_archive.percent": str(path),
        "sync.max_archive.jobs": "environment",
    }


def test_values_from_the_environment_are_text_of_their_kind(home):
    settings = load_settings(
        None,
        {
            "SYNCD_DROP__POLL": "true",
            "SYNCD_SYNC__MAX_RETITLED": "12.5",
            "SYNCD_API__MAX_BODY": "2048",
            "SYNCD_API__TRUSTED_PROXIES": "10.0.0.0/8, ::1",
        },
    )
    assert settings.drop.poll is True
    assert settings.sync.max_retitled.percent == 12.5
    assert settings.api.max_body == 2048
    assert settings.api.trusted_proxies == ("10.0.0.0/8", "::1")


def test_an_unknown_name_in_the_environment_is_a_fault_but_other_programs_names_are_not(home):
    assert faults(environ={"SYNCD_API__LISTN": "x", "PATH": "/bin"}) == (
        "environment: unknown setting SYNCD_API__LISTN; did you mean SYNCD_API__LISTEN?",
    )


#: The variables that Kubernetes sets in every pod for a Service named syncd with a port named http.
KUBERNETES = {
    "SYNCD_SERVICE_HOST": "10.96.0.7",
    "SYNCD_SERVICE_PORT": "8080",
    "SYNCD_SERVICE_PORT_HTTP": "8080",
    "SYNCD_PORT": "tcp://10.96.0.7:8080",
    "SYNCD_PORT_8080_TCP": "tcp://10.96.0.7:8080",
    "SYNCD_PORT_8080_TCP_PROTO": "tcp",
    "SYNCD_PORT_8080_TCP_PORT": "8080",
    "SYNCD_PORT_8080_TCP_ADDR": "10.96.0.7",
}


@pytest.mark.parametrize(("record", "text"), [("16MiB", 16 << 20), ("1MiB", 8 << 20)])
def test_a_reader_holds_at_least_a_record(home, record, text):
    assert load_settings(write(home, f"[limits]\nrecord = '{record}'")).limits.text == text


def test_names_without_two_underscores_are_not_settings(home):
    settings = load_settings(None, {**KUBERNETES, "SYNCD_TIMEZONE": "UTC", "SYNCD_API__LISTEN": "[::1]:2"})
    assert settings.sources == {"api.listen": "environment"}
    assert settings.timezone.key == "America/Toronto"


def test_the_file_that_is_named_wins_and_must_exist(home):
    write(home, 'timezone = "UTC"')
    other = home / "other.toml"
    other.write_text('timezone = "Europe/Paris"')
    assert load_settings(other, {}).timezone.key == "Europe/Paris"
    assert load_settings(None, {"SYNCD_CONFIG": str(other)}).timezone.key == "Europe/Paris"
    assert load_settings(None, {}).timezone.key == "UTC"
    assert "no such file (named by --config)" in faults(home / "none.toml")[0]
    assert "no such file (named by SYNCD_CONFIG)" in faults(None, {"SYNCD_CONFIG": "none.toml"})[0]


def test_relative_paths_start_above_config_else_in_the_state_folder(home, tmp_path_factory):
    settings = load_settings(write(home, ""), {})
    assert settings.drop.folder == home / "feeds" / "drop"
    assert settings.store.url == f"sqlite:///{home}/var/syncd.db"
    assert settings.store.path == home / "var" / "syncd.db"
    assert settings.feeds == home / "config" / "feeds.d"
    elsewhere = tmp_path_factory.mktemp("etc") / "syncd.toml"
    elsewhere.write_text('[drop]\nfolder = "/srv/drop"')
    settings = load_settings(elsewhere, {})
    assert settings.drop.folder == Path("/srv/drop")
    assert settings.store.path == Path("/var/lib/syncd/var/syncd.db")
    assert settings.feeds == elsewhere.parent / "feeds.d"


def test_secrets_come_from_credentials_and_are_never_shown(home, tmp_path):
    (tmp_path / "operator.token").write_text("hush-hush\n")
    settings = load_settings(
        None, {"CREDENTIALS_DIRECTORY": str(tmp_path), "SYNCD_OPERATOR__LISTEN": "0.0.0.0:1"}
    )
    assert settings.operator.token == "hush-hush"
    assert "hush-hush" not in repr(settings)


def test_catalogues_can_be_extended_renamed_and_retired(home):
    path = write(
        home,
        '[catalogues]\nposition_types = { 6 = "Seasonal" }\n'
        '[catalogues.categories]\n33 = "Film & Television"\n1 = "Books"\n7 = ""\n',
    )
    catalogue = load_settings(path, {}).catalogue
    assert catalogue.position_types[6].name == "Seasonal"
    assert (catalogue.categories[33].name, catalogue.categories[1].name) == ("Film & Television", "Books")
    assert catalogue.categories[7].retired
    named = {"SYNCD_CATALOGUES__CATEGORIES": '{"34": "Mining, Oil"}'}
    assert load_settings(None, named).catalogue.categories[34].name == "Mining, Oil"


RETIRED = """\
[api]
compress = false
[store]
prepare = false
[sync]
helpers = 0
[catalogues]
position_types = { 6 = "Seasonal" }
retired_position_types = [6, 99]
"""


def test_a_file_with_settings_of_earlier_versions_works_and_they_are_named(home):
    path = write(home, RETIRED)
    settings = load_settings(
        path, {"SYNCD_LOG__SENTRY": "http://secret@x/1", "SYNCD_CATALOGUES__RETIRED_CATEGORIES": "[7]"}
    )
    assert settings.catalogue.position_types[6].retired
    assert settings.catalogue.categories[7].retired
    lines = list(retired_in(settings))
    assert f"{path}: sync.helpers is not a setting any more: remove it, it has no effect" in lines
    assert "environment: log.sentry is not a setting any more: remove it, it has no effect" in lines
    instead = "an entry of catalogues.position_types with an empty name is retired"
    assert f"{path}: catalogues.retired_position_types is not a setting any more: {instead}" in lines
    assert len(lines) == 6
    assert "did you mean" in faults(write(home, RETIRED + "retired_categoriez = []"))[0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            'position_types = { 6 = "Seasonal work" }',
            "catalogues.position_types.6: 'Seasonal work' has 13 characters",
        ),
        ('categories = { 0 = "Zero" }', "an id must be 1 to 2147483647"),
        ('categories = { 40 = "Retail" }', "'Retail' is the name of both 24 and 40"),
        ('categories = { 99 = "" }', "an empty name retires an entry that ships, and this is none"),
        ('categories = { a = "A" }', 'must have whole numbers and names, not "a" = "A"'),
        ('categories = { 01 = "A", 1 = "B" }', "has 1 twice"),
        ("categories = [1]", "must be like"),
    ],
)
def test_a_wrong_catalogue_entry_is_refused_by_its_key(home, line, said):
    assert any(said in fault for fault in faults(write(home, f"[catalogues]\n{line}\n"))), line


def test_a_file_that_is_not_utf_8_is_one_fault(home):
    path = write(home, "")
    path.write_bytes(b"timezone = '\xff'")
    assert faults(path) == (f"{path}: it is not UTF-8 (byte 12)",)


def test_a_folder_is_not_a_settings_file(home):
    assert faults(home)[0] == f"{home}: is a folder, not a file (named by --config)"


@pytest.mark.parametrize(
    "origin",
    ["https://app.example.ca", "http://localhost:3000", "https://[::1]:8443", "http://10.0.0.1", "https://a_b.example"],
)  # fmt: skip
def test_origins_are_as_browsers_write_them(home, origin):
    assert load_settings(write(home, f"[api]\ncors_origins = ['{origin}']"), {}).api.cors_origins == (origin,)


@pytest.fixture
def system(tmp_path, monkeypatch):
    """``system(**files)``: /etc/syncd, and the files of systemd's folder; returns the settings of a command there."""
    etc, units = tmp_path / "etc", tmp_path / "systemd"
    monkeypatch.setattr(load, "SYSTEM", etc / "syncd.toml")
    monkeypatch.setattr(load, "UNITS", (units,))
    (units / "syncd.service.d").mkdir(parents=True)
    etc.mkdir()
    (etc / "syncd.toml").write_text("")
    (etc / "url").write_text("postgresql://db/one\n")
    (etc / "old").write_text("postgresql://db/old\n")

    def make(environ=None, **drop_ins):
        for name, text in drop_ins.items():
            (units / "syncd.service.d" / f"{name}.conf").write_text(text.replace("ETC", str(etc)))
        return load_settings(etc / "syncd.toml", environ or {})

    return make


def test_a_command_finds_the_credentials_of_the_daemons_unit(system, tmp_path):
    (tmp_path / "systemd" / "syncd.service").write_text(
        f"[Service]\nLoadCredential=store.url:{tmp_path}/etc/old\n"
    )
    settings = system()
    assert (settings.store.url, settings.sources["store.url"]) == ("postgresql://db/old", "credential")
    assert system(a="LoadCredential = store.url:ETC/url\n").store.url == "postgresql://db/one"
    assert system({"SYNCD_STORE__URL": "postgresql://db/env"}).store.url == "postgresql://db/env"
    (tmp_path / "store.url").write_text("postgresql://db/passed")
    assert system({"CREDENTIALS_DIRECTORY": str(tmp_path)}).store.url == "postgresql://db/passed"
    assert system(b="LoadCredential=\n").store.path is not None
    assert system(c=f"LoadCredential=store.url:{tmp_path}/store.url\n").store.path is not None  # elsewhere
    assert (
        system(c="LoadCredential=sync.grace:ETC/url\nLoadCredential=x\n").store.path is not None
    )  # no secret


def test_an_address_of_the_store_that_cannot_be_read_is_a_fault_and_another_secret_is_not(system):
    with pytest.raises(ConfigError) as caught:
        system(a="LoadCredential=store.url:ETC/none\nLoadCredential=operator.token:ETC/none\n")
    [fault] = caught.value.faults
    assert "No such file or directory: syncd.service reads store.url there; run the command as root" in fault


def test_another_installation_does_not_read_the_unit(system, home):
    system(a="LoadCredential=store.url:ETC/url\n")
    assert load_settings(write(home, ""), {}).store.path is not None


def test_an_empty_credential_is_not_set(home, tmp_path):
    (tmp_path / "store.url").write_text("\n")
    assert load_settings(None, {"CREDENTIALS_DIRECTORY": str(tmp_path)}).store.path is not None
