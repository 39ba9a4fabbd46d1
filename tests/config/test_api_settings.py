"""The settings of the API's limits: what is accepted, refused, and how it reaches the application."""

from dataclasses import fields

import pytest

from syncd.config import Api, load_settings
from syncd.errors import ConfigError


def load(tmp_path, toml):
    path = tmp_path / "syncd.toml"
    path.write_text(f"[api]\n{toml}\n")
    return load_settings(path, {})


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("cors_origins = ['*']", "api.cors_origins has \"*\", which is not an origin such as https://app.example.ca"),
        ("cors_origins = ['https://app.example.ca/']", "not an origin"),
        ("cors_origins = ['https://app.example.ca/path']", "not an origin"),
        ("cors_origins = ['https://App.example.ca']", "not an origin"),
        ("cors_origins = ['https://app.example.ca:443']", "not an origin"),
        ("cors_origins = ['http://app.example.ca:80']", "not an origin"),
        ("cors_origins = ['https://app.example.ca:70000']", "not an origin"),
        ("cors_origins = ['app.example.ca']", "not an origin"),
        ("cors_origins = ['null']", "not an origin"),
        ("cors_origins = [1]", "not an origin"),
        ("cors_origins = true", "list of origins"),
        ("keepalive = '0s'", "must be more than"),
        ("rate_limit = -1", "from 0 to"),
        ("failed_keys = 'many'", "whole number"),
        ("max_connections = -1", "from 0 to"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_what_it_must_be(tmp_path, toml, words):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, toml)
    assert len(caught.value.faults) == 1
    assert words in caught.value.faults[0]


@pytest.mark.parametrize(
    "origin",
    ["https://app.example.ca", "http://localhost:3000", "https://[::1]:8443", "http://10.0.0.1", "https://a_b.example"],
)  # fmt: skip
def test_origins_are_as_browsers_write_them(tmp_path, origin):
    assert load(tmp_path, f"cors_origins = ['{origin}']").api.cors_origins == (origin,)


def test_origins_from_the_environment_are_a_list():
    settings = load_settings(None, {"SYNCD_API__CORS_ORIGINS": "https://a.example, https://b.example"})
    assert settings.api.cors_origins == ("https://a.example", "https://b.example")


def test_every_setting_of_the_application_comes_from_the_file(tmp_path):
    settings = load(
        tmp_path,
        'base_path = "/x"\npublic_url = "https://x.example"\ntrusted_proxies = ["10.0.0.1"]\nmax_body = "4KiB"\n'
        'keepalive = "9s"\nmax_connections = 10\nrate_limit = 13\nfailed_keys = 15\n'
        'cors_origins = ["https://y.example"]',
    )
    given = settings.api
    for field in fields(Api):
        if field.name != "listen":
            assert getattr(given, field.name) != getattr(Api(), field.name), field.name
