"""Sources at an FTP server with TLS, whose certificate is that of an authority of the test."""

import os
import socket
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from syncd.feeds.source import Request
from syncd.sources import ftps, servers
from syncd.sources.results import NotModified, SourceError, Times
from tests.certificates import make_certificate
from tests.sources.conftest import LOOPBACK, example

handlers = pytest.importorskip("pyftpdlib.handlers", reason="pyftpdlib is not installed")
pytest.importorskip("OpenSSL", reason="pyOpenSSL is not installed")
authorizers = pytest.importorskip("pyftpdlib.authorizers")
pyftpd = pytest.importorskip("pyftpdlib.servers")
PASSWORD = "pa:ss"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Certificates, each with its key in one file."""
    made = {}
    for name, host in {"right": "IP:127.0.0.1", "of_another": "DNS:files.example"}.items():
        certificate, key = make_certificate(tmp_path_factory.mktemp(name), host)
        certificate.write_bytes(key.read_bytes() + certificate.read_bytes())
        made[name] = certificate
    return made


@dataclass
class Ftp:
    """A server, and its folder."""

    port: int
    out: Path

    def request(self, path, **values):
        usual = {"username": "acme", "password": PASSWORD, "insecure_hosts": LOOPBACK}
        return Request(f"ftps://127.0.0.1:{self.port}/out/{path}", **usual | values)

    def put(self, name, text, when=1_700_000_000):
        (self.out / name).write_text(text)
        os.utime(self.out / name, (when, when))


@pytest.fixture
def serve(tmp_path, certificates):
    """Start a server with a certificate and with attributes of its handler."""
    started = []

    def start(certificate="right", permissions="elrd", **attributes):
        out = tmp_path / "home" / "out"
        out.mkdir(parents=True)
        authorizer = authorizers.DummyAuthorizer()
        authorizer.add_user("acme", PASSWORD, str(out.parent), perm=permissions)
        usual = {
            "certfile": str(certificates[certificate]), "tls_control_required": True, "tls_data_required": True,
            "authorizer": authorizer,
        }  # fmt: skip
        handler = type("Handler", (handlers.TLS_FTPHandler,), usual | attributes)
        server = pyftpd.FTPServer(("127.0.0.1", 0), handler)
        stop = threading.Event()

        def run():
            while not stop.is_set():
                server.serve_forever(timeout=0.02, blocking=False)
            server.close_all()

        thread = threading.Thread(target=run)
        thread.start()
        started.append((stop, thread))
        ftp = Ftp(server.address[1], out)
        ftp.put("jobs.xml", "<jobs/>")
        return ftp

    yield start
    for stop, thread in started:
        stop.set()
        thread.join()


@pytest.fixture
def trusted(monkeypatch, certificates):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates["right"]))


async def test_a_file_and_a_pattern(serve, trusted, incoming):
    ftp = serve()
    (file,) = await incoming.take(ftp.request("jobs.xml"))
    assert (file.name, file.size) == ("jobs.xml", 7)
    assert await incoming.take(ftp.request("jobs.xml"), file.seen) == NotModified("the file has not changed")
    ftp.put("b.xml", "x" * 700_000, 20)
    ftp.put("a.xml", "<a/>", 30)
    files = await incoming.take(ftp.request("[ab].xml"))
    assert [(file.name, file.size) for file in files] == [("b.xml", 700_000), ("a.xml", 4)]
    await servers.delete(ftp.request("[ab].xml"), files[-1].seen)
    assert [path.name for path in ftp.out.iterdir()] == ["jobs.xml"]
    assert await incoming.take(ftp.request("[ab].xml")) == NotModified("nothing matches [ab].xml")


def begin_with_tls(handler):
    handler.secure_connection(handler.ssl_context)


async def test_at_port_990_tls_begins_with_the_connection(serve, trusted, incoming, monkeypatch):
    usual = handlers.TLS_FTPHandler.handle
    ftp = serve(handle=begin_with_tls, handle_ssl_established=usual)
    text = ("the server sent nothing for 0.5 s", True)
    assert await incoming.refused(ftp.request("jobs.xml"), times=Times(silence=0.5)) == text
    monkeypatch.setattr(ftps, "IMPLICIT", ftp.port)
    ftp.put("b.xml", "x" * 700_000, 20)
    files = await incoming.take(ftp.request("*.xml"))
    assert [(file.name, file.size) for file in files] == [("b.xml", 700_000), ("jobs.xml", 7)]


async def test_a_server_at_port_990_that_waits_for_a_command(serve, trusted, incoming, monkeypatch):
    ftp = serve()
    monkeypatch.setattr(ftps, "IMPLICIT", ftp.port)
    advice = "the server does not speak TLS there: see the scheme and the port of the address"
    text = f"127.0.0.1: TLS failed (WRONG_VERSION_NUMBER): {advice}"
    assert await incoming.refused(ftp.request("jobs.xml")) == (text, False)


async def test_a_server_that_lists_names_alone(serve, trusted, incoming):
    usual = handlers.TLS_FTPHandler.proto_cmds
    ftp = serve(proto_cmds={name: usual[name] for name in usual if name not in ("MLSD", "MLST")})
    ftp.put("b.xml", "<b/>", 20)
    files = await incoming.take(ftp.request("*.xml"))
    assert [file.name for file in files] == ["b.xml", "jobs.xml"]
    assert await incoming.take(ftp.request("jobs.xml"), files[-1].seen) == NotModified(
        "the file has not changed"
    )


async def test_what_is_refused_says_why(serve, trusted, incoming):
    ftp = serve(permissions="elr")
    login = "127.0.0.1 refuses the login: see username, password and key of [source]"
    missing = "there is no such file at 127.0.0.1: see the address of [source]"
    guarded = '127.0.0.1 is not a public address: if that is meant, say insecure_hosts = ["127.0.0.1"]'
    assert await incoming.refused(ftp.request("jobs.xml", password="wrong")) == (login, False)
    assert await incoming.refused(ftp.request("none.xml")) == (missing, False)
    assert await incoming.refused(ftp.request("jobs.xml", insecure_hosts=())) == (guarded, False)
    (file,) = await incoming.take(ftp.request("jobs.xml"))
    with pytest.raises(SourceError) as caught:
        await servers.delete(ftp.request("jobs.xml"), file.seen)
    assert str(caught.value).startswith("jobs.xml cannot be deleted: ")


async def test_a_certificate_of_an_authority_that_nobody_knows(serve, incoming):
    refused = await incoming.refused(serve().request("jobs.xml"))
    advice = "ask its owner, or name its authority in SSL_CERT_FILE"
    assert refused == (f"the certificate of 127.0.0.1 is wrong: self-signed certificate; {advice}", False)


async def test_a_certificate_for_another_host(serve, certificates, monkeypatch, incoming):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates["of_another"]))
    text, temporary = await incoming.refused(serve("of_another").request("jobs.xml"))
    assert text.startswith("the certificate of 127.0.0.1 is wrong: IP address mismatch")
    assert not temporary


async def test_a_server_that_says_nothing_or_is_gone(incoming):
    silent = socket.create_server(("127.0.0.1", 0))
    with silent:
        port = silent.getsockname()[1]
        request = Request(f"ftps://127.0.0.1:{port}/jobs.xml", insecure_hosts=LOOPBACK)
        text = await incoming.refused(request, times=Times(silence=0.2))
    assert text == ("the server sent nothing for 0.2 s", True)
    refused = await incoming.refused(request)
    assert refused == (f"cannot connect to 127.0.0.1:{port}: Connection refused", True)


async def test_a_server_of_ftp_without_tls_gets_no_password(incoming):
    got = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            connection, _ = listener.accept()
            with connection, connection.makefile("rwb") as lines:
                lines.write(b"220 ready\r\n")
                lines.flush()
                for line in lines:
                    got.append(line)
                    lines.write(b"502 not here\r\n")
                    lines.flush()

        thread = threading.Thread(target=answer)
        thread.start()
        port = listener.getsockname()[1]
        request = Request(
            f"ftps://127.0.0.1:{port}/jobs.xml", username="a", password="b", insecure_hosts=LOOPBACK
        )
        assert await incoming.refused(request) == ("127.0.0.1 answers with 502", False)
        thread.join()
    assert got == [b"AUTH TLS\r\n"]


async def test_the_example_of_the_guide(serve, trusted, incoming):
    ftp = serve()
    ftp.put("jobs.csv", "id\n")
    texts = {"acme.password": PASSWORD}
    request = example("ftps", "files.acme.example", f"127.0.0.1:{ftp.port}", texts)
    (file,) = await incoming.take(replace(request, username="acme"))
    assert file.name == "jobs.csv"
