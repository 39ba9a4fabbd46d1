"""The address that a connection or a request counts for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.web.addresses import Proxies, address_in, neighbourhood

PROXIES = Proxies(["10.0.0.0/8", "192.0.2.1", "fd00::/8"])


@pytest.mark.parametrize(
    ("remote", "forwarded", "client"),
    [
        ("203.0.113.9", [], "203.0.113.9"),
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),  # not a trusted proxy: its header does not count
        ("10.1.1.1", [], "10.1.1.1"),
        ("10.1.1.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.1.1.1", ["1.1.1.1, 198.51.100.1"], "198.51.100.1"),  # the client wrote the first one
        ("10.1.1.1", ["1.1.1.1", "198.51.100.1, 192.0.2.1"], "198.51.100.1"),
        ("10.1.1.1", ["10.2.2.2, 10.3.3.3"], "10.2.2.2"),
        ("10.1.1.1", ["198.51.100.1, unknown"], "10.1.1.1"),
        ("10.1.1.1", ["198.51.100.1, unknown, 10.9.9.9"], "10.9.9.9"),
        ("10.1.1.1", [""], "10.1.1.1"),
        ("10.1.1.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("10.1.1.1", ["[2001:db8:1:2:3::4]:4711"], "2001:db8:1:2::/64"),
        ("10.1.1.1", ["2001:db8:1:2:3::4"], "2001:db8:1:2::/64"),
        ("::ffff:10.1.1.1", ["::ffff:198.51.100.1"], "198.51.100.1"),
        ("fd00::1", ["198.51.100.1"], "198.51.100.1"),
        ("fe80::1%eth0", ["198.51.100.1"], "fe80::/64"),
        ("", ["198.51.100.1"], ""),
        (None, [], ""),
    ],
)
def test_the_client_is_the_last_address_that_no_proxy_of_ours_has(remote, forwarded, client):
    assert PROXIES.client(remote, forwarded) == client


@given(st.text(max_size=200))
def test_whatever_a_client_writes_in_front_changes_nothing(made_up):
    assert PROXIES.client("10.1.1.1", [made_up, "198.51.100.1, 10.2.2.2"]) == "198.51.100.1"


def test_without_proxies_no_address_is_trusted():
    assert not Proxies([]).trusts("127.0.0.1")
    assert Proxies([]).client("127.0.0.1", ["1.1.1.1"]) == "127.0.0.1"
    assert not Proxies(["0.0.0.0/0"]).trusts(None)


def test_one_site_is_one_address():
    texts = ("2001:db8::1", "2001:db8::ffff", "2001:db9::1", "::ffff:198.51.100.1", "/run/api.sock")
    sites = [neighbourhood(address_in(text)) for text in texts]
    assert sites == ["2001:db8::/64", "2001:db8::/64", "2001:db9::/64", "198.51.100.1", ""]
