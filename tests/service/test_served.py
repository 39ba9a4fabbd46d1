"""One store: what a daemon notes about the store that it serves, and commands whose settings name another one."""

import json

import pytest

from syncd.config import load_settings
from syncd.errors import StoreError
from syncd.service.served import name_of, refuse_other, served_store, serving


@pytest.fixture
def settings_with(tmp_path):
    """``settings_with(url)``: the settings of one installation with this store."""
    config = tmp_path / "config" / "syncd.toml"
    config.parent.mkdir()
    config.write_text("")
    return lambda url: load_settings(config, {"SYNCD_STORE__URL": url})


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://syncd:hush@DB.example.ca:5432/syncd", "postgresql://db.example.ca/syncd"),
        ("postgres://db.example.ca:5433/syncd?sslmode=require", "postgresql://db.example.ca:5433/syncd"),
        ("postgresql://syncd@/syncd?host=/run/postgresql", "postgresql:///syncd?host=/run/postgresql"),
        ("postgresql://one,two/syncd?password=hush&port=5433", "postgresql://one,two/syncd?port=5433"),
        ("sqlite:////srv/a/../syncd.db", "/srv/syncd.db"),
    ],
)
def test_the_name_of_a_store_has_no_user_and_no_password(settings_with, url, name):
    assert name_of(settings_with(url)) == name


def test_while_a_daemon_runs_another_store_is_refused_with_both_names(settings_with, tmp_path):
    one, other = settings_with("sqlite:////srv/one.db"), settings_with("postgresql://u:hush@db/two")
    refuse_other(one)
    with serving(one):
        note = tmp_path / "daemon.json"
        assert json.loads(note.read_text()) == {"store": "/srv/one.db"}
        assert note.stat().st_mode & 0o777 == 0o600
        refuse_other(one)
        with pytest.raises(StoreError) as caught:
            refuse_other(other)
        assert "serves /srv/one.db, and these settings name postgresql://db/two (environment)" in str(
            caught.value
        )
        assert "hush" not in str(caught.value)
        with pytest.raises(StoreError), serving(other):
            pass
    assert served_store(other) == ("/srv/one.db", False)
    refuse_other(other)  # none runs
    with serving(other):
        assert json.loads(note.read_text()) == {"store": "postgresql://db/two"}


def test_several_daemons_may_serve_one_store(settings_with):
    one, other = settings_with("postgresql://a@db/one"), settings_with("postgresql://db/other")
    with serving(one), serving(settings_with("postgresql://b:x@db/one")), pytest.raises(StoreError):
        refuse_other(other)
    assert served_store(other) == ("postgresql://db/one", False)


@pytest.mark.parametrize("note", ["", "{", "[]", '{"store": 5}', "\x00"])
def test_a_note_that_cannot_be_read_says_nothing(settings_with, tmp_path, note):
    settings = settings_with("sqlite:////srv/one.db")
    (tmp_path / "daemon.json").write_text(note)
    assert served_store(settings) is None
    refuse_other(settings)
    with serving(settings):
        assert served_store(settings) == ("/srv/one.db", True)


def test_where_no_note_can_be_written_the_daemon_runs(settings_with, tmp_path):
    settings = settings_with("sqlite:////srv/one.db")
    (tmp_path / "daemon.json").mkdir()
    with serving(settings):
        assert served_store(settings) is None
