"""The addresses that sources may reach."""

import asyncio
import socket
import time

import pytest
from aiohttp import web

from syncd.feeds.source import Pages
from syncd.sources.guard import Guard, is_public
from syncd.sources.http import Times

NEXT = Pages(next=("next",))


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
    ],
)  # fmt: skip
def test_a_public_address(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "127.0.0.1", "127.1.2.3", "169.254.169.254", "172.16.0.1", "192.168.1.1", "100.64.0.1",
        "100.100.100.200", "168.63.129.16", "192.0.0.192", "192.0.2.1", "198.18.0.1", "203.0.113.9", "224.0.0.1", "240.0.0.1",
        "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1",
        "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2002:7f00:1::1",
        "2002:a00:1::", "::ffff:169.254.169.254", "4000::1", "2001:db8::1",
    ],
)  # fmt: skip
def test_an_address_that_is_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1", "0.0.0.0", "0", "2130706433", "017700000001", "0177.0.0.1", "0x7f.1", "0x7f000001", "127.0.0.1.",
        "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[0:0:0:0:0:0:0:1]",
        "localhost", "LOCALHOST", "localhost.", "１２７.0.0.1", "127。0。0。1", "169.254.169.254", "[fe80::1%25lo]",
    ],
)  # fmt: skip
async def test_no_spelling_of_an_address_gets_past(host, site, incoming):
    site["/jobs.xml"] = {"text": "secret"}
    error = await incoming.refusal(f"http://{host}:{site.port}/jobs.xml", insecure_hosts=frozenset())
    assert site.asked == []
    words = ("not a public address", "not a usual way", "the name localhost. cannot be looked up")
    assert any(word in str(error) for word in words), str(error)


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["169.254.169.254"],
        ["::ffff:127.0.0.1"],
        ["::1"],
        ["8.8.8.8", "127.0.0.1"],
        ["fd00::1"],
    ],
)
async def test_a_name_of_an_address_that_is_not_public(addresses, names, site, incoming):
    names["jobs.test"] = [addresses]
    error = await incoming.refusal(site.url("/jobs.xml", "jobs.test"), insecure_hosts=frozenset())
    assert site.asked == []
    assert str(error) == (
        f"jobs.test has the address {addresses[-1]}, not a public address:"
        ' if that is meant, say insecure_hosts = ["jobs.test"]'
    )


async def test_a_redirect_to_an_address_that_is_not_public(names, public, site, other, incoming):
    names["jobs.test"], names["inner.test"] = [["127.0.0.1"]], [["127.0.0.2"]]
    other["/x"] = {"text": "secret"}
    for target in (
        other.url("/x"),
        other.url("/x", "inner.test"),
        "http://169.254.169.254/",
        "http://[::ffff:a00:1]/",
    ):
        site["/jobs.xml"] = {"status": 302, "headers": {"Location": target}}
        error = await incoming.refusal(
            site.url("/jobs.xml", "jobs.test"), insecure_hosts=frozenset(["jobs.test"])
        )
        assert str(error).startswith(f"the redirect of jobs.test:{site.port} is refused: ")
        assert "not a public address" in str(error)
    assert other.asked == []


async def test_a_page_that_names_an_address_that_is_not_public(names, public, site, other, incoming):
    site["/jobs"] = {"text": f'{{"jobs": [1], "next": "{other.url("/x")}"}}'}
    error = await incoming.refusal(site.url("/jobs"), insecure_hosts=frozenset(), pages=NEXT)
    assert str(error).startswith("page 2: 127.0.0.2 is not a public address")
    assert other.asked == []


async def test_the_connection_goes_to_the_address_that_was_checked(names, public, site, incoming):
    """The second look-up of the name differs: there is none for the first connection, and the next one is refused."""
    names["jobs.test"] = [["127.0.0.1"], ["127.0.0.2"]]

    def redirect(request):
        answer = web.Response(status=302, headers={"Location": "/jobs.xml"})
        answer.force_close()
        return answer

    site["/jobs.xml"], site["/moved"] = {"text": "<jobs/>"}, redirect
    file = await incoming.fetch(site.url("/jobs.xml", "jobs.test"), insecure_hosts=frozenset())
    assert names.asked == ["jobs.test"]
    file.path.unlink()
    names["jobs.test"] = [["127.0.0.1"], ["127.0.0.2"]]
    error = await incoming.refusal(site.url("/moved", "jobs.test"), insecure_hosts=frozenset())
    assert "jobs.test has the address 127.0.0.2" in str(error)
    assert len(site.asked) == 2


async def test_a_host_that_is_named_may_have_any_address(names, site, incoming):
    names["jobs.test"] = names["xn--bcher-kva.test"] = [["127.0.0.1"]]
    site["/jobs.xml"] = {"text": "<jobs/>"}
    for host, named in (
        ("jobs.test", "jobs.test"), ("JOBS.test", "jobs.test"), ("bücher.test", "bücher.test"), ("127.0.0.1", "127.0.0.1"),
    ):  # fmt: skip
        file = await incoming.fetch(site.url("/jobs.xml", host), insecure_hosts=frozenset([named]))
        file.path.unlink()
    error = await incoming.refusal(
        site.url("/jobs.xml", "jobs.test"), insecure_hosts=frozenset(["127.0.0.1"])
    )
    assert "jobs.test has the address" in str(error)


async def test_a_name_that_is_not_known(names, incoming):
    names["jobs.test"] = [[]]
    error = await incoming.refusal("http://jobs.test/jobs.xml")
    assert str(error) == "the name jobs.test cannot be looked up: Name or service not known"
    assert error.temporary
    for label in ("a" * 70, "a..b"):
        error = await incoming.refusal(f"http://{label}.test/jobs.xml")
        assert error.temporary or "cannot be understood" in str(error)


async def test_a_name_server_that_does_not_answer_delays_nothing(monkeypatch, incoming):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(5))
    began = time.monotonic()
    errors = await asyncio.gather(
        *(incoming.fetch(f"http://{number}.test/", times=Times(connect=0.2)) for number in range(40)),
        asyncio.to_thread(time.sleep, 0.1),
        return_exceptions=True,
    )
    assert {str(error) for error in errors if error} == {"no connection within 0.2 s"}
    assert time.monotonic() - began < 4


async def test_all_addresses_of_a_host_are_checked(names):
    names["jobs.test"] = [["8.8.8.8", "2606:4700:4700::1111"]]
    assert await Guard(()).addresses("jobs.test", 22) == ["8.8.8.8", "2606:4700:4700::1111"]
