"""Feeds at an address of HTTP: conditional requests, redirects, and lists in pages. docs/sources.md "HTTP"."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from pathlib import Path

import aiohttp
from yarl import URL

from syncd.feeds.source import Pages, Request
from syncd.sources import results
from syncd.sources.guard import Guard
from syncd.sources.pages import Page, address_at, read_page, read_record
from syncd.sources.results import Fetched, IncomingFile, NotModified, Seen, SourceError, Terms, Times, placed
from syncd.web import retry_after

MAX_REDIRECTS = 5
#: Bytes of a page: it is in memory as a whole.
MAX_PAGE_BYTES = 16 << 20
#: Characters of a file's name.
_MAX_NAME = 100
_REDIRECTS = (301, 302, 303, 307, 308)
_HTML = re.compile(rb"(?is)\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*)*(?:<!doctype\s+html|<html[\s>])")
#: Content that many programs send as HTML, since that is the usual type of their server.
_NOT_HTML = re.compile(rb"\s*(?:<\?xml\s|[\[{])")


async def fetch(request: Request, seen: Seen, incoming: Path, terms: Terms) -> list[Fetched] | NotModified:
    """Fetch the file of ``request`` once, into the folder ``incoming``. Raise SourceError; no file is left then."""
    async with _client(request, terms) as client:
        with IncomingFile(incoming, terms.max_bytes) as file:
            etag = modified = linked = None
            if request.pages is not None:
                await _fetch_pages(client, request.pages, file)
            else:
                async with client.answer(client.url, request.method, _conditions(request, seen)) as answer:
                    if answer.status == HTTPStatus.NOT_MODIFIED:
                        return NotModified("304 Not Modified")
                    await file.save(answer.content.iter_any())
                    _refuse_html(answer, file.start)
                etag, modified = answer.headers.get("ETag"), answer.headers.get("Last-Modified")
                linked = _linked(answer)
            digest = await asyncio.to_thread(file.finish)
    name = file_name(client.url, paged=request.pages is not None)
    state = Seen(etag, modified, digest, file.size)
    return [Fetched(file.path, name, file.size, digest, state, linked is not None)]


async def look(request: Request, terms: Terms) -> None:
    """Ask for the file without its content. Raise SourceError if a fetch would fail for a reason that shows so."""
    async with _client(request, terms) as client:
        method = "HEAD" if request.method == "GET" else request.method
        try:
            async with client.answer(client.url, method):
                return
        except SourceError as error:
            if method != "HEAD" or error.status not in (405, 501):
                raise
        async with client.answer(client.url, request.method):
            return


def file_name(url: URL, *, paged: bool) -> str:
    """Return the name of the file at an address, as its path has it; ``feed`` if that has none."""
    name = re.sub(r"[\x00-\x1f\x7f/\\]", "_", url.name)[-_MAX_NAME:] or "feed"
    return f"{name.rpartition('.')[0] or name}.jsonl" if paged else name


def _conditions(request: Request, seen: Seen) -> Mapping[str, str]:
    if request.method != "GET":
        return {}
    if seen.etag is not None:
        return {"If-None-Match": seen.etag}
    return {} if seen.last_modified is None else {"If-Modified-Since": seen.last_modified}


# -- requests --------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _client(request: Request, terms: Terms) -> AsyncIterator["_Client"]:
    """Yield a client with connections of its own. The errors inside are raised as SourceError."""
    guard, times = Guard(request.insecure_hosts), terms.times
    with _failures(times):
        async with (
            asyncio.timeout(times.whole),
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(resolver=guard, use_dns_cache=False),
                timeout=aiohttp.ClientTimeout(total=None, connect=times.connect, sock_read=times.silence),
                headers={"User-Agent": terms.user_agent},
            ) as session,
        ):
            yield _Client(request, session, guard, terms)


class _Client:
    """The requests of one fetch. Headers, login and body of ``request`` are sent to the host and port of its ``url`` alone."""

    def __init__(self, request: Request, session: aiohttp.ClientSession, guard: Guard, terms: Terms) -> None:
        self.request, self.url = request, _parsed(request.url)
        self._session, self._guard, self._now = session, guard, terms.now
        self._credentials = {name.title(): _line(name, text) for name, text in request.headers.items()}
        if request.username is not None:
            if ":" in request.username:
                raise SourceError("username has a colon, which Basic authentication does not allow")
            login = aiohttp.encode_basic_auth(request.username, request.password or "")
            self._credentials["Authorization"] = login

    @asynccontextmanager
    async def answer(
        self, url: URL, method: str, conditions: Mapping[str, str] | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Yield the answer with status 200, or 304 if there are ``conditions``, after at most ``MAX_REDIRECTS`` redirects."""
        text, place = self.request.body, ""
        body = None if text is None else text.encode()
        for _ in range(MAX_REDIRECTS + 1):
            if body is not None and not self._is_own(url):
                raise SourceError(
                    f"a request with a body goes to the host of url alone, not to {_shown(url)}"
                )
            headers = {**(conditions or {}), **self._own_headers(url, body)}
            with placed(place):
                self._guard.check_literal(url.raw_host or "")
                answer = await self._session.request(
                    method, url, headers=headers, data=body, allow_redirects=False
                )
            async with answer:
                if answer.status not in _REDIRECTS or "Location" not in answer.headers:
                    self._check(answer, conditional=bool(conditions))
                    yield answer
                    return
            if answer.status == 303 or (answer.status in (301, 302) and method == "POST"):
                method, body = ("HEAD" if method == "HEAD" else "GET"), None
            place = f"the redirect of {_shown(url)} is refused: "
            with placed(place):
                url = self.next_address(url, answer.headers["Location"])
        raise SourceError(f"more than {MAX_REDIRECTS} redirects")

    @staticmethod
    def next_address(url: URL, address: str) -> URL:
        """Return the address that an answer of ``url`` names, without a user. Raise SourceError unless it may be asked."""
        target = url.join(_parsed(address)).with_fragment(None)
        if target.scheme not in ("http", "https"):
            raise SourceError(f"it leads to an address of {target.scheme}, not of https")
        if url.scheme == "https" and target.scheme == "http":
            raise SourceError(f"it leads from https to http, at {_shown(target)}")
        return target.with_user(None)

    def _is_own(self, url: URL) -> bool:
        host, own = url.raw_host or "", self.url.raw_host or ""
        return (host.casefold(), url.port) == (own.casefold(), self.url.port)

    def _own_headers(self, url: URL, body: bytes | None) -> Mapping[str, str]:
        if not self._is_own(url):
            return {}
        media = self.request.media
        kind = {"Content-Type": media} if body is not None and media is not None else {}
        return {**kind, **self._credentials}

    def _check(self, answer: aiohttp.ClientResponse, *, conditional: bool) -> None:
        status = answer.status
        if status == HTTPStatus.OK or (status == HTTPStatus.NOT_MODIFIED and conditional):
            return
        whence = ""
        if not self._is_own(answer.url):
            whence = f" from {_shown(answer.url)}, to which it was redirected"
            if status in (401, 403):
                whence += ": credentials go to the host and port of url alone, so name that address there"
        raise results.refused(status, whence, retry_after(answer.headers.get("Retry-After"), self._now))


def _parsed(address: str) -> URL:
    """Return an address, in the very letters that it has if they are ASCII: it may be signed. Raise SourceError."""
    try:
        url = URL(address, encoded=re.fullmatch("[!-~]+", address) is not None)
        is_usable = not re.search(r"[^\w.:%-]", url.raw_host or "") and url.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise SourceError("an address cannot be understood; write it like https://host/path")
    return url


def _line(name: str, value: str) -> str:
    if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", value):
        raise SourceError(f"the header {name} has a line end or another control character")
    return value


def _shown(url: URL) -> str:
    """Return the host of an address, with the port if it is not the usual one: the other parts may have secrets."""
    return f"{url.host}" if url.is_default_port() else f"{url.host}:{url.port}"


@contextmanager
def _failures(times: Times) -> Iterator[None]:
    """Raise the errors of aiohttp and of the system as SourceError. No text of theirs is shown: it may have the address."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError:
        raise results.unconnected(times) from None
    except aiohttp.SocketTimeoutError:
        raise results.silent(times) from None
    except TimeoutError:
        raise results.too_long(times) from None
    except aiohttp.ClientConnectorCertificateError as error:
        why = getattr(error.certificate_error, "verify_message", "")
        raise results.wrong_certificate(error.host, why) from None
    except aiohttp.ClientConnectorDNSError as error:
        raise results.no_address(error.host, error.os_error) from None
    except aiohttp.ClientSSLError as error:
        raise results.no_tls(error.host, error.os_error) from None
    except aiohttp.ClientConnectorError as error:
        raise results.no_connection(error.host, error.port, error.os_error) from None
    except aiohttp.ClientPayloadError:
        raise SourceError("the answer is cut off or damaged", temporary=True) from None
    except (aiohttp.ClientConnectionError, OSError):
        raise SourceError("the connection was lost before the answer", temporary=True) from None
    except aiohttp.ClientResponseError:
        raise SourceError("the answer is not HTTP", temporary=True) from None
    except aiohttp.InvalidURL:
        raise SourceError("an address cannot be understood; write it like https://host/path") from None


# -- answers ---------------------------------------------------------------------------------------------------


def _refuse_html(answer: aiohttp.ClientResponse, start: bytes) -> None:
    """Raise SourceError for a page that a person reads. Many programs name XML and JSON as HTML, so content counts too."""
    is_named = answer.content_type in ("text/html", "application/xhtml+xml")
    if _HTML.match(start) or (is_named and start and not _NOT_HTML.match(start)):
        raise SourceError(
            "the answer is an HTML page, not a feed: see the url and the credentials of [source]"
        )


async def _fetch_pages(client: _Client, pages: Pages, file: IncomingFile) -> None:
    request, visited, last = client.request, set[URL](), list[bytes]()
    number, count = 1, pages.first
    url: URL | None = client.url if pages.parameter is None else _numbered(client.url, pages, count)
    while url is not None:
        visited.add(url)
        with placed(f"page {number}: "):
            async with client.answer(url, request.method) as answer:
                body = await _page_body(answer)
            page = await asyncio.to_thread(read_page, body, request.records, pages.next)
            if pages.parameter is not None:
                count += len(page.lines) if pages.by_records else 1
                url = _numbered(client.url, pages, count) if page.lines else None
                if page.lines and page.lines == last:
                    raise SourceError(f"it is the page before once more: {pages.parameter} has no effect")
            else:
                address = _linked(answer) if pages.link else page.next
                url = None if address is None else client.next_address(answer.url, address)
            async for lines in _whole(client, answer.url, page, pages.details):
                await asyncio.to_thread(file.write, lines)
            if url in visited:
                raise SourceError("its next address was asked before: the list has no end")
        number, last = number + 1, page.lines
    if not file.size:
        raise SourceError("no page has a record")


async def _whole(client: _Client, url: URL, page: Page, details: str | None) -> AsyncIterator[bytes]:
    """Yield the lines of a page of ``url``; with ``details`` each record as the address in this member of it has it."""
    if details is None:
        yield b"".join(page.lines)
        return
    for line in page.lines:
        address = address_at(line, [details])
        if address is None:
            raise SourceError(f"a record has no {details}")
        try:
            async with client.answer(client.next_address(url, address), "GET") as answer:
                yield read_record(await _page_body(answer))
        except SourceError as error:
            gone = error.status in (404, 410)  # the list of the next try does not have it
            text = "a posting of the list has gone meanwhile" if gone else f"a posting of the list: {error}"
            raise SourceError(
                text, status=error.status, retry_after=error.retry_after, temporary=gone or error.temporary
            ) from None


def _numbered(url: URL, pages: Pages, number: int) -> URL:
    return url.update_query({pages.parameter or "": number})


def _linked(answer: aiohttp.ClientResponse) -> str | None:
    """Return the address of the relation ``next`` in the header Link (RFC 8288)."""
    relations = answer.links.items()
    return next((str(link["url"]) for name, link in relations if "next" in name.lower().split()), None)


async def _page_body(answer: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in answer.content.iter_any():
        body += chunk
        if len(body) > MAX_PAGE_BYTES:
            raise SourceError(f"a page is larger than {MAX_PAGE_BYTES >> 20} MiB: ask for smaller pages")
    _refuse_html(answer, bytes(body[:1024]))
    return bytes(body)
