"""E-mail addresses and web addresses."""

import pytest

from tests.domain.bodies import faults, sent


@pytest.mark.parametrize(
    "address",
    ["jobs@example.com", "a.b+c@sub.example.ca", "x@y.co", "hr@acme.test", "rené@example.ca", "é@exämple.ca"],
)
def test_email_addresses(address):
    assert sent(applicationEmail=address)["applicationEmail"] == address


@pytest.mark.parametrize(
    "address",
    [
        "jobs",
        "jobs@",
        "@example.com",
        "a@b",
        "a@test",
        "a@@example.com",
        "a b@example.com",
        "a@example.com, b@example.com",
        "a@example.com;b@example.com",
        "Jobs <a@example.com>",
        "mailto:a@example.com",
        '"a b"@example.com',
        "a@[127.0.0.1]",
        "a@1.2.3.4",
        ".a@example.com",
        "a.@example.com",
        "a@-example.com",
        "a@example..com",
        "a@example.com.",
        "a@localhost",
    ],
)
def test_what_is_not_an_email_address(address):
    assert faults({"applicationEmail": address}) == [("/applicationEmail", "invalid_email")]


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "HTTPS://Example.COM/Jobs?id=1&x=%20#top",
        "https://example.com:8443/",
        "https://example.com.",
        "http://localhost/apply",
        "http://192.0.2.1/x",
        "http://[2001:db8::1]:8080/x",
        "https://exämple.ca/é",
        "https://example.com/a@b",
        "https://example.com?x=http://other.example",
        "https://my_host.example.com/~x/(1),2;3",
    ],
)
def test_web_addresses(url):
    assert sent(applicationUrl=url)["applicationUrl"] == url


@pytest.mark.parametrize(
    "url",
    [
        "www.example.com",
        "example.com/jobs",
        "//example.com",
        "ftp://example.com",
        "javascript:alert(1)",
        "mailto:a@example.com",
        "http:/example.com",
        "http:example.com",
        "http://",
        "https:///path",
        "https://?q",
        "https://#x",
        "https://:8080/",
        "https://user@example.com/",
        "https://user:pw@example.com/",
        "https://@example.com/",
        "https://example.com:99999/",
        "https://example.com:0/",
        "https://example.com:/",
        "https://example.com:80a/",
        "https://exa mple.com/",
        "https://example.com/a b",
        "https://example.com\\@evil.example",
        "https://exam<ple.com",
        'https://example.com/"x"',
        "https://a..b.com/",
        "https://-a.com/",
        "https://.com/",
        "https://[::1/",
        "https://[zz]/",
        "https://%65xample.com/",
        "https://exa&mple.com/",
    ],
)
def test_what_is_not_a_web_address(url):
    assert faults({"applicationUrl": url}) == [("/applicationUrl", "invalid_url")]
