"""``syncd reload``: the daemon reads the files of feeds again, and the command says what came of it."""

import pytest

from tests.e2e.conftest import free_port


@pytest.fixture
def reload(installation, monkeypatch):
    """``reload(daemon)``: the result of the command, which finds the daemon by its settings."""

    def run(daemon, *options, which="operator"):
        monkeypatch.setenv(f"SYNCD_{which.upper()}__LISTEN", daemon.address(which))
        return installation.run("reload", *options)

    return run


def test_good_feeds_are_renewed_and_a_bad_one_is_named(installation, start, reload):
    installation.employer_with_key()
    daemon = start()
    assert reload(daemon).code == 0
    installation.feed("second")
    installation.feed("broken", 'employer = "Acme Ltd."\nmodus = "delta"\n')
    found = reload(daemon)
    assert (found.code, found.out) == (1, "2 feeds: acme, second\n")
    assert found.err.startswith("syncd: broken: ")
    assert "did you mean mode?" in found.err
    found = reload(daemon, "--json").json
    assert (found["feeds"], list(found["degraded"]), found["faults"]) == (["acme", "second"], ["broken"], [])
    installation.feeds.rename(installation.base / "gone")
    installation.feeds.write_text("a file, not a folder")
    found = reload(daemon)
    assert (found.code, found.out) == (1, "nothing was reloaded\n")
    assert "feeds.d" in found.err
    assert daemon.request("GET", "/readyz")[0] == 200


def test_a_wrong_source_is_named_and_degrades_nothing(installation, start, reload):
    installation.employer_with_key()
    installation.feed("acme", 'employer = "Acme Ltd."\n')
    daemon = start()
    assert reload(daemon).code == 0
    installation.feed("acme", 'employer = "Acme Ltd."\n[source]\nurl = "ftp://h/"\n')
    found = reload(daemon)
    assert (found.code, found.out) == (1, "1 feed: acme\n")
    assert found.err.startswith("syncd: acme: acme.toml: source.url: must be an address that begins with")
    found = reload(daemon, "--json").json
    assert (found["degraded"], list(found["sources"])) == ({}, ["acme"])


def test_while_the_folder_of_feed_files_is_missing_each_feed_keeps_its_jobs(
    installation, start, reload, until, make_row
):
    key = installation.employer_with_key()
    daemon = start()
    installation.drop("jobs.csv", [make_row(f"A-{n}") for n in range(1, 6)])
    until(installation.done(1, "jobs.csv").exists)
    installation.feeds.rename(installation.base / "gone")
    found = reload(daemon)
    assert (found.code, found.out) == (1, "nothing was reloaded\n")
    assert "feeds.d: the folder is missing" in found.err
    daemon.close()
    daemon = start()  # without feeds, until the folder is back
    assert daemon.events("feed.released") == []
    (installation.base / "gone").rename(installation.feeds)
    assert reload(daemon, "--json").json["feeds"] == ["acme"]
    installation.drop("jobs.csv", [make_row(f"A-{n}") for n in range(2, 6)])
    until(installation.done(2, "jobs.csv").exists)
    listed = daemon.request("GET", "/api/v1.1/jobs?status=archived", key)[1]
    assert [job["referenceId"] for job in listed["data"]] == ["A-1"]  # its feed still owns it
    (installation.feeds / "acme.toml").unlink()
    found = reload(daemon)
    gone = "acme: its file is gone; 4 jobs stay live; syncd feed remove acme --archive"
    assert (found.code, gone in found.err) == (1, True)
    assert daemon.events("feed.released") == []


def test_on_the_address_of_the_api_it_needs_the_operators_token(installation, start, reload, monkeypatch):
    text = installation.config.read_text().replace('[operator]\nlisten = "127.0.0.1:0"', "[operator]")
    installation.config.write_text(text.replace("[operator]", '[operator]\nlisten = ""\ntoken = "hush-hush"'))
    installation.employer_with_key()
    daemon = start()
    assert daemon.request("POST", "/reload")[0] == 401
    assert reload(daemon, which="api").code == 0
    monkeypatch.setenv("SYNCD_OPERATOR__TOKEN", "wrong")
    found = reload(daemon, which="api")
    assert (found.code, "401" in found.err, "wrong" in found.err) == (1, True, False)


def test_without_a_daemon_it_says_where_it_asked(installation, monkeypatch):
    installation.employer_with_key()
    address = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("SYNCD_OPERATOR__LISTEN", address)
    found = installation.run("reload")
    assert found.code == 1
    assert found.err == f"syncd: no daemon answers at {address} (Connection refused); is it running?\n"
