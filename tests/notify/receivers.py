"""Receivers of notifications: an HTTP server and an SMTP server, which fail as a test wants them to."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller

SECRET = "0123456789abcdef-secret"


@dataclass
class Hook:
    """An HTTP server in a thread. ``answer(number)`` returns the status for the request with that number, from 0; None
    closes the connection. ``accepted`` has the bodies that were answered with 200, ``tried`` all of them. Each signature is
    checked."""

    answer: Callable[[int], int | None] = lambda number: 200
    headers: dict[str, str] = field(default_factory=dict)
    accepted: list[dict[str, Any]] = field(default_factory=list)
    tried: list[dict[str, Any]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    port: int = 0

    def __enter__(self) -> Hook:
        hook = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                hook.take(self)

            def log_message(self, *_: object) -> None:
                """Be silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?key=hidden-part"

    def take(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        signed = request.headers["Syncd-Timestamp"].encode() + b"." + body
        expected = "v1=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
        if request.headers["Syncd-Signature"] != expected:
            self.faults.append("wrong signature")
        found = json.loads(body)
        number = len(self.tried)
        self.tried.append(found)
        status = self.answer(number)
        if status is None:
            request.close_connection = True
            return
        if status == 200:
            self.accepted.append(found)
        request.send_response(status)
        for name, value in self.headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", "0")
        request.end_headers()


@dataclass
class Mailbox:
    """An SMTP server in a thread. ``answer(number)`` returns what it says to the message with that number, from 0: "250 OK"
    accepts it. ``accepted`` has what was."""

    answer: Callable[[int], str] = lambda number: "250 OK"
    accepted: list[EmailMessage] = field(default_factory=list)
    receivers: list[list[str]] = field(default_factory=list)
    tried: int = 0
    port: int = 0
    #: Options of the server: TLS, logins.
    options: dict[str, Any] = field(default_factory=dict)

    def __enter__(self) -> Mailbox:
        if not self.port:
            self.port = free_port()
        self._controller = Controller(self, hostname="127.0.0.1", port=self.port, **self.options)
        self._controller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._controller.stop()

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        answer = self.answer(self.tried)
        self.tried += 1
        if answer.startswith("250"):
            self.accepted.append(message_from_bytes(envelope.content, policy=default))
            self.receivers.append(envelope.rcpt_tos)
        return answer


def free_port() -> int:
    """Return a port that nobody listens on: the controller cannot choose one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def texts(mail: EmailMessage) -> tuple[str, str]:
    """Return the plain text and the HTML of an e-mail."""
    plain, page = mail.get_body(("plain",)), mail.get_body(("html",))
    assert plain is not None
    assert page is not None
    return plain.get_content(), page.get_content()
