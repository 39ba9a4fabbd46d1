"""``[notify]``: values that are refused, and secrets, which are shown nowhere."""

from datetime import time

import pytest

from syncd.config import load_settings
from syncd.errors import ConfigError

SECRET = "0123456789abcdef-secret"
WHOLE = {
    "WEBHOOK": "https://hooks.example.ca/syncd?key=hidden-part",
    "WEBHOOK_SECRET": SECRET,
    "SMTP": "smtp://user%40example.ca@mail.example.ca",
    "SMTP_PASSWORD": "pass-word-hidden",
    "EMAIL_FROM": "syncd@example.ca",
    "EMAIL_TO": "one@example.ca, two@example.ca",
    "QUIET": "22:00-06:00",
    "DIGEST": "08:00",
}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """An installation folder that is also the current one, without a settings file."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def loaded(**values):
    environ = {f"SYNCD_NOTIFY__{name.upper()}": value for name, value in values.items()}
    return load_settings(None, environ).notify


def faults(**values):
    with pytest.raises(ConfigError) as caught:
        loaded(**values)
    return "\n".join(caught.value.faults)


def test_what_is_written_is_what_is_used():
    found = loaded(**WHOLE)
    assert found.email_to == ("one@example.ca", "two@example.ca")
    assert (found.smtp.host, found.smtp.port, found.smtp.user) == ("mail.example.ca", 587, "user@example.ca")
    assert found.events == (
        "held",
        "failed",
        "overdue",
        "degraded",
        "poison",
        "recovered",
        "source.failed",
        "source.recovered",
        "clock",
        "disk",
        "store",
    )
    assert found.digest is not None


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"webhook": "ftp://x.example"}, "must be an address such as https://hooks"),
        ({"webhook": "https://u:p@x.example"}, "must have neither a user"),
        ({"webhook": "https://x.example/\r\nHost: y"}, "must be an address"),
        ({"webhook": "https://x.example:99999"}, "must be an address"),
        ({"webhook": "https://x.example"}, "notify.webhook: set notify.webhook_secret"),
        ({"webhook": "https://x.example", "webhook_secret": "short"}, "at least 16 characters"),
        ({"smtp": "mail.example.ca:25"}, "must be an address such as smtp://"),
        ({"smtp": "smtp://u:secret-pw@mail.example.ca"}, "must not hold a password"),
        ({"smtp": "smtp://u@mail.example.ca"}, "set notify.smtp_password, too"),
        ({"smtp": "smtp://mail.example.ca", "smtp_password": "x"}, "set the user in notify.smtp, too"),
        ({"smtp_password": "x"}, "set notify.smtp, too"),
        ({"email_to": "a@b.example"}, "notify.email_to: set notify.smtp, too"),
        ({"email_to": "a@b.example"}, "notify.email_to: set notify.email_from, too"),
        ({"email_to": "a@b.example\r\nBcc: c@d.example"}, "which is not an e-mail address"),
        ({"email_to": "a@b.example,a@b.example"}, "has an entry twice"),
        ({"email_from": "Acme <a@b.example>"}, "must be an e-mail address"),
        ({"events": "held,exploded"}, 'has "exploded", which is not one of held, failed'),
        ({"quiet": "22-6"}, "must be two times of day"),
        ({"quiet": "06:00-06:00"}, "must be two times of day"),
        ({"quiet": "25:00-06:00"}, "must be two times of day"),
        ({"digest": "8"}, "must be a time of day"),
        ({"digest": "08:00"}, "notify.digest: set notify.email_to or notify.webhook"),
        ({**WHOLE, "digest": "23:00"}, "notify.digest: is a time within notify.quiet"),
    ],
)
def test_a_value_that_cannot_be_used_is_a_fault(values, words):
    assert words in faults(**values)


def test_secrets_are_neither_in_faults_nor_where_settings_are_shown():
    assert "secret-pw" not in faults(smtp="smtp://u:secret-pw@mail.example.ca")
    assert "hidden" not in faults(webhook="gopher://hooks.example.ca/hidden")
    shown = repr(loaded(**WHOLE))
    assert SECRET not in shown
    assert "hidden" not in shown


def test_a_secret_that_is_not_text_is_not_shown(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "syncd.toml").write_text("[notify]\nwebhook_secret = 1234567890123456\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(None, {})
    assert "notify.webhook_secret must be text" in str(caught.value)
    assert "123456" not in str(caught.value)


def test_secrets_may_be_in_files_of_their_own(tmp_path):
    (tmp_path / "hook").write_text(f"{SECRET}\n")
    (tmp_path / "mail").write_text("pass\n")
    values = {name: value for name, value in WHOLE.items() if name not in ("WEBHOOK_SECRET", "SMTP_PASSWORD")}
    found = loaded(**values, webhook_secret_file="hook", smtp_password_file="mail")
    assert (found.webhook_secret, found.smtp_password) == (SECRET, "pass")
    assert "give only one of them" in faults(**WHOLE, smtp_password_file="mail")
    assert "notify.webhook_secret_file: " in faults(**values, smtp_password="x", webhook_secret_file="gone")


@pytest.mark.parametrize(
    ("quiet", "included", "free"),
    [
        ("22:00-06:00", ("22:00", "23:59", "00:00", "05:59"), ("06:00", "12:00", "21:59")),
        ("12:00-13:00", ("12:00", "12:59"), ("11:59", "13:00", "00:00")),
    ],
)
def test_quiet_hours_may_pass_midnight(quiet, included, free):
    hours = loaded(quiet=quiet).quiet
    assert all(hours.include(time.fromisoformat(hour)) for hour in included)
    assert not any(hours.include(time.fromisoformat(hour)) for hour in free)
