"""Hostile contents of notices, and receivers that hang, redirect, send without end or refuse."""

import asyncio
import contextlib
import json
import ssl
import subprocess
import time
import warnings
from datetime import timedelta
from html.parser import HTMLParser

import pytest
from aiosmtpd.smtp import AuthResult

from syncd.domain import HoldScope, NoticeEvent
from syncd.notify.ways import Email, NotSent, Webhook, body_of, mail_of
from syncd.store import runs
from tests.clock import START, ZONE
from tests.notify.conftest import PAGES
from tests.notify.receivers import Hook, Mailbox, free_port, texts

HOSTILE = [
    "acme\r\nBcc: victim@example.org\r\n\r\nbody",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}{% raw %}",
    "{run.__class__} {0} %s",
    "a\u202eb\u200bc\x00d\x1b[31me\u2028f\x85g",
    "=?utf-8?q?Bcc=3A_victim=40example=2Eorg?=",
    "\r\n.\r\nMAIL FROM:<x@example.org>\r\n",
    "…" * 5000,
    "x" * 100_000,
    "\ud800",
    "é" * 998,
]


class Tags(HTMLParser):
    """The names of all elements of a page, and of their attributes."""

    def __init__(self, page):
        super().__init__()
        self.found = set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found |= {tag, *(name for name, _ in attrs)}


FEED_EVENTS = [event for event in NoticeEvent if event.startswith("feed.")]


@pytest.mark.parametrize("text", HOSTILE)
async def test_hostile_text_is_text_in_e_mail_and_webhook(office, text):
    with Hook() as hook, Mailbox() as mailbox:
        notifier = office.notifier(office.settings(hook, mailbox), burst=timedelta(0))
        for event in FEED_EVENTS:
            office.write(text[:255], event, reason=text, run=None if event is NoticeEvent.OVERDUE else 7)
        await office.work(notifier)
    clean = text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    assert hook.faults == []
    assert [(body["feed"], body["reason"]) for body in hook.accepted] == [(clean[:255], clean)] * len(
        FEED_EVENTS
    )
    (mail,) = mailbox.accepted
    assert mailbox.receivers == [["ops@example.ca"]]
    assert {*mail.keys()} - {"X-Peer", "X-MailFrom", "X-RcptTo"} == {
        "From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version", "Content-Type", "References",
    }  # fmt: skip
    assert mail.defects == []
    assert len(mail["Subject"]) <= 160
    plain, page = texts(mail)
    assert Tags(page).found <= {"html", "lang", "body", "h2", "p", "b", "ul", "li", "a", "href"}
    assert not {"\u202e", "\u200b", "\x00", "\x1b", "\u2028", "\x85"} & {*plain, *page, *mail["Subject"]}
    assert len(plain) < 20_000


async def test_an_e_mail_says_what_happened_what_is_the_case_and_what_to_do(office):
    with Mailbox() as mailbox:
        notifier = office.notifier(office.settings(None, mailbox), burst=timedelta(0))
        reason = "312 of 400 active jobs would be archived"
        office.write("acme", NoticeEvent.HELD, run=42, reason=reason, holds=HoldScope.ARCHIVE)
        await office.work(notifier)
    (mail,) = mailbox.accepted
    assert mail["Subject"] == "held: feed acme: 312 of 400 would be archived"
    assert mail["Auto-Submitted"] == "auto-generated"
    for words in texts(mail):
        for part in (
            "312 of 400 active jobs would be archived",
            "2026-11-16 12:00 EST",
            "The rows of the file were applied; only the archiving of jobs waits.",
            "syncd runs approve 42",
            f"{PAGES}/runs/42",
        ):
            assert part in words


async def test_the_subject_of_a_feed_that_has_run_names_employer_and_file(office, board):
    with Hook() as hook, Mailbox() as mailbox:
        notifier = office.notifier(office.settings(hook, mailbox), burst=timedelta(0))
        board.deliver(board.feed(), board.rows(1, 20))
        board.deliver(board.feed(), board.rows(1, 2))
        await office.work(notifier)
        board.deliver(board.feed(), board.rows(1, 20))
        office.write(
            "acme", NoticeEvent.OVERDUE, run=None, reason="a file is expected every 7 days; none has come yet"
        )
        await office.work(notifier, turns=2)
    held, *later = mailbox.accepted
    name = board.store.read(lambda tx: runs.get(tx, 2)).file
    assert held["Subject"] == f"held: {board.employer.name}, feed acme, {name}: 18 of 20 would be archived"
    assert hook.accepted[0]["text"].startswith(held["Subject"])
    plain = texts(later[0])[0]
    assert f"recovered: {board.employer.name}, feed acme, " in plain
    assert f"overdue: {board.employer.name}, feed acme: a file is expected every 7 days" in plain
    assert held["References"] == later[0]["References"] != held["Message-ID"]


def test_a_text_for_chat_programs_calls_nobody(office):
    notice = office.write("acme", NoticeEvent.HELD, reason="@here <!channel> [a](https://example.org)")
    text = json.loads(body_of(notice, PAGES))["text"]
    assert not {*"@<>["} & {*text}


def test_the_same_notices_make_the_same_e_mail(office):
    notice, who = office.write(), ("syncd@example.ca", "ops@example.ca")
    ids = {mail_of([notice], *who, pages=PAGES, now=START, zone=ZONE)["Message-ID"] for _ in range(2)}
    assert [notice.key in each for each in ids] == [True]


# -- receivers -------------------------------------------------------------------------------------------------


OPENSSL = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost")
NAMES = "subjectAltName=IP:0.0.0.0,IP:127.0.0.1"


@contextlib.asynccontextmanager
async def wire(talk):
    """The port of a server that calls ``talk(reader, writer)`` for each connection."""

    talks: set[asyncio.Task[None]] = set()

    async def serve(reader, writer):
        if (task := asyncio.current_task()) is not None:
            talks.add(task)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await talk(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in talks:
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


def webhook(office, port, answer=10.0):
    return Webhook(office.settings(f"http://127.0.0.1:{port}/hook").notify, answer)


def email(office, url, whole=30.0, **more):
    return Email(office.settings(None, url, **more).notify, "ops@example.ca", ZONE, whole)


async def hang(reader, writer):
    await asyncio.sleep(5)


async def drip(reader, writer):
    for _ in range(500):
        writer.write(b"H")
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("talk", [hang, drip])
async def test_a_receiver_that_hangs_or_sends_a_byte_at_a_time(office, talk):
    async with wire(talk) as port:
        for way in (webhook(office, port, 0.2), email(office, f"smtp://127.0.0.1:{port}", 0.2)):
            with pytest.raises(NotSent, match=r"no answer|imed out"):
                await way.send([office.write()], PAGES, START)


@pytest.mark.parametrize(
    "head", [b"Content-Length: 500000000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"]
)
async def test_the_body_of_an_answer_is_not_read(office, head):
    sent = 0

    async def talk(reader, writer):
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n" + head)
        while sent < 500_000_000:
            writer.write(b"x" * 65_536)
            await writer.drain()
            sent += 65_536

    async with wire(talk) as port:
        start = time.monotonic()
        with contextlib.suppress(NotSent):  # garbage in place of a chunk
            assert await webhook(office, port).send([office.write()], PAGES, START) == "status 200"
        assert time.monotonic() - start < 30
        await asyncio.sleep(0.05)
    assert sent < 50_000_000


LONG_HEAD = b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n"


@pytest.mark.parametrize("answer", [b"\x00" * 1000, b"HTTP/1.1 2 0 0\r\n\r\n", LONG_HEAD, b""])
async def test_an_answer_that_is_not_http(office, answer):
    async def talk(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()

    async with wire(talk) as port:
        with pytest.raises(NotSent) as caught:
            await webhook(office, port, 2.0).send([office.write()], PAGES, START)
    assert "hook" not in str(caught.value)


async def test_a_redirect_is_not_followed(office):
    with Hook() as other, Hook(answer=lambda number: 307, headers={"Location": other.url}) as hook:
        way = Webhook(office.settings(hook).notify)
        with pytest.raises(NotSent, match="status 307; redirects are not followed"):
            await way.send([office.write()], PAGES, START)
    assert other.tried == []


async def test_a_receiver_that_refuses_connections(office):
    port = free_port()
    with pytest.raises(NotSent, match=r"^cannot connect: Connection refused$"):
        await webhook(office, port).send([office.write()], PAGES, START)
    with pytest.raises(NotSent, match=rf"^127.0.0.1:{port}: cannot connect: Connection refused$"):
        await email(office, f"smtp://127.0.0.1:{port}").send([office.write()], PAGES, START)


async def test_a_receiver_that_does_not_speak_tls(office):
    async def talk(reader, writer):
        writer.write(b"220 smtp.example.ca\r\n")
        await writer.drain()

    async with wire(talk) as port:
        for way in (
            email(office, f"smtps://127.0.0.1:{port}"),
            Webhook(office.settings(f"https://127.0.0.1:{port}/hook").notify, 5.0),
        ):
            with pytest.raises(NotSent, match=r"cannot connect: TLS failed \(WRONG_VERSION_NUMBER\)$"):
                await way.send([office.write()], PAGES, START)


async def test_a_mail_server_that_repeats_the_password_does_not_bring_it_into_the_log(office):
    async def talk(reader, writer):
        writer.write(b"220 hello\r\n")
        await reader.readline()
        writer.write(b"250-me\r\n250 AUTH PLAIN LOGIN\r\n")
        while await reader.readline():
            writer.write(b"535 user pass-word-hidden is wrong " + b"x" * 400 + b"\r\n")

    async with wire(talk) as port:
        way = email(office, f"smtp://user@127.0.0.1:{port}", smtp_password="pass-word-hidden")
        with pytest.raises(NotSent) as caught:
            await way.send([office.write()], PAGES, START)
    assert str(caught.value).startswith("answered 535 user … is wrong")
    assert len(str(caught.value)) < 300


async def test_a_login_needs_tls_unless_the_server_is_this_machine(office):
    said = []

    async def talk(reader, writer):
        writer.write(b"220 hello\r\n")
        while line := await reader.readline():
            said.append(line)
            writer.write(b"250-me\r\n250 AUTH PLAIN LOGIN\r\n" if line.startswith(b"EHLO") else b"502 no\r\n")

    async with wire(talk) as port:
        way = email(office, f"smtp://user@0.0.0.0:{port}", smtp_password="pass-word-hidden")
        with pytest.raises(NotSent):
            await way.send([office.write()], PAGES, START)
    assert said
    assert not any(line.startswith(b"AUTH") for line in said)


@pytest.fixture
def certificate(tmp_path, program, monkeypatch):
    """The certificate of localhost, which is trusted in this test, and its key."""
    key, crt = tmp_path / "key.pem", tmp_path / "crt.pem"
    subprocess.run(
        [program("openssl"), *OPENSSL, "-addext", NAMES, "-keyout", key, "-out", crt],
        check=True,
        capture_output=True,
    )
    monkeypatch.setenv("SSL_CERT_FILE", str(crt))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(crt, key)
    return context


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
async def test_login_and_tls(office, certificate, scheme):
    logins = []

    def authenticator(server, session, envelope, mechanism, data):
        logins.append((data.login, data.password))
        return AuthResult(success=data.password == b"pass-word", handled=False)

    options = {"authenticator": authenticator, "auth_required": True}
    if scheme == "smtps":
        options |= {"ssl_context": certificate, "auth_require_tls": False}
        warnings.simplefilter("ignore")  # aiosmtpd knows only the TLS of STARTTLS
    else:
        options |= {"tls_context": certificate, "require_starttls": True}
    with Mailbox(options=options) as mailbox:
        url = f"{scheme}://user%40x@0.0.0.0:{mailbox.port}"
        await email(office, url, smtp_password="pass-word").send([office.write()], PAGES, START)
        with pytest.raises(NotSent, match="answered 535"):
            await email(office, url, smtp_password="wrong").send([office.write()], PAGES, START)
    assert len(mailbox.accepted) == 1
    assert logins[0] == (b"user@x", b"pass-word")


async def test_a_certificate_that_is_not_trusted_is_refused(office, certificate, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE")
    with (
        Mailbox(options={"ssl_context": certificate}) as mailbox,
        pytest.raises(NotSent, match=r"(?i)certificate"),
    ):
        await email(office, f"smtps://127.0.0.1:{mailbox.port}").send([office.write()], PAGES, START)
    assert mailbox.tried == 0
