"""Files on servers and on this machine, by any protocol but HTTP: ``fetch`` and ``look`` as HTTP has them, and ``delete`` for
files that are here. docs/sources.md "Files on servers"."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from ftplib import Error as FtpError
from pathlib import Path
from ssl import SSLCertVerificationError, SSLError
from typing import Any, TypeVar

from syncd.feeds.source import Request
from syncd.sources import results
from syncd.sources.connections import Entry, Place, Server, connect
from syncd.sources.results import Fetched, IncomingFile, NotModified, Seen, SourceError, Terms, Times, placed
from syncd.sources.threads import apart

T = TypeVar("T")

#: Files that a pattern may match, and those that a turn fetches: the oldest.
MAX_FILES, MAX_NEW = 10_000, 100


# -- the face --------------------------------------------------------------------------------------------------


async def fetch(request: Request, seen: Seen, incoming: Path, terms: Terms) -> list[Fetched] | NotModified:
    """Fetch the files that are new or have changed, the oldest first, into ``incoming``. Raise SourceError; no file is left
    then."""
    return await apart(_fetch(request, seen, incoming, terms))


async def look(request: Request, terms: Terms) -> None:
    """Ask for the list of files. Raise SourceError if a fetch would fail for a reason that shows so."""

    async def ask() -> None:
        async with _opened(request, terms.times) as (server, place):
            await server.matching(place)

    await apart(ask())


async def delete(request: Request, seen: Seen) -> None:
    """Delete the files at the server that ``seen`` has, unless they have changed. Raise SourceError for the first one that
    cannot be deleted."""

    async def remove() -> None:
        async with _opened(request, times := Times()) as (server, place):
            for each in await server.matching(place):
                if seen.names.get(each.name) == each.stamp:
                    with placed(f"{each.name} cannot be deleted: "), _failures(place, times):
                        await server.remove(place.path(each.name))

    await apart(remove())


async def _fetch(request: Request, seen: Seen, incoming: Path, terms: Terms) -> list[Fetched] | NotModified:
    fetched, times = list[Fetched](), terms.times
    try:
        async with _opened(request, times) as (server, place):
            entries = await server.matching(place)
            names = {each.name: each.stamp for each in entries if seen.names.get(each.name) == each.stamp}
            new = [each for each in entries if each.name not in names][:MAX_NEW]
            if not new:
                count = f"none of {len(entries)} files that match {place.name} is new"
                reason = count if entries else f"nothing matches {place.name}"
                return NotModified(reason if place.is_pattern else "the file has not changed")
            for each in new:
                where = f"{each.name}: " if place.is_pattern else ""
                with placed(where), IncomingFile(incoming, terms.max_bytes) as kept, _failures(place, times):
                    await _save(server, place, each, kept)
                    digest = await asyncio.to_thread(kept.finish)
                names = {**names, each.name: each.stamp}
                state = Seen(sha256=digest, size=kept.size, names=names)
                fetched.append(Fetched(kept.path, each.name, kept.size, digest, state))
    except BaseException:
        for file in fetched:
            file.path.unlink(missing_ok=True)
        raise
    return fetched


# -- the list of files -----------------------------------------------------------------------------------------


@asynccontextmanager
async def _opened(request: Request, times: Times) -> AsyncIterator[tuple["_Timely", Place]]:
    """Yield the connection and the place of the files. The errors inside are raised as SourceError."""
    place = Place.of(request, os.environ)
    with _failures(place, times):
        async with asyncio.timeout(times.whole), AsyncExitStack() as stack:
            server = await _soon(stack.enter_async_context(connect(request, place, times)), times)
            yield _Timely(server, times), place


async def _soon(answer: Awaitable[T], times: Times) -> T:
    """Return the answer, within the time that a server may be silent."""
    try:
        async with asyncio.timeout(times.silence):
            return await answer
    except TimeoutError:
        raise results.silent(times) from None


class _Timely:
    """A connection whose answers may not be silent for too long."""

    def __init__(self, server: Server, times: Times) -> None:
        self._server, self._times = server, times

    async def matching(self, place: Place) -> list[Entry]:
        """Return the files that the address names, the oldest first: one, or those that match its pattern."""
        if not place.is_pattern:
            return [await self.entry(place, place.name)]
        entries = await _soon(self._server.entries(place.folder, place.matches), self._times)
        if len(entries) > MAX_FILES:
            remedy = 'say after = "delete", or move old ones'
            raise SourceError(f"{place.name} matches {len(entries)} files, more than {MAX_FILES}: {remedy}")
        return sorted(entries, key=lambda each: (each.date, each.name))

    async def entry(self, place: Place, name: str) -> Entry:
        return await _soon(self._server.entry(place.folder, name), self._times)

    async def read(self, path: str, size: int) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._server.read(path, size)) as chunks:
            while True:
                try:
                    chunk = await _soon(anext(chunks), self._times)
                except StopAsyncIteration:
                    return
                yield chunk

    async def remove(self, path: str) -> None:
        await _soon(self._server.remove(path), self._times)


async def _save(server: _Timely, place: Place, entry: Entry, file: IncomingFile) -> None:
    """Save a file that stays as it is meanwhile. Raise SourceError."""
    async with aclosing(server.read(place.path(entry.name), entry.size)) as chunks:
        await file.save(chunks)
    after = await server.entry(place, entry.name)
    if file.size != entry.size or after.stamp != entry.stamp:
        raise SourceError("the file changed while it was fetched, or its end is missing", temporary=True)


# -- errors ----------------------------------------------------------------------------------------------------

_LOGIN = "{} refuses the login: see username, password and key of [source]"
_RIGHTS = "{} does not let this login do that: ask its owner for the rights"
_MISSING = "there is no such file at {}: see the address of [source]"
#: The names of errors (of packages that may not be there), with their texts.
_WORDS = {
    "PermissionDenied": _LOGIN,
    "SFTPPermissionDenied": _RIGHTS,
    "PermissionError": _RIGHTS,
    "SFTPNoSuchFile": _MISSING,
    "SFTPNoSuchPath": _MISSING,
    "SFTPNotADirectory": _MISSING,
    "FileNotFoundError": _MISSING,
    "NotADirectoryError": _MISSING,
    "ResourceNotFoundError": _MISSING,
    "KeyExchangeFailed": "{} offers no encryption that this machine accepts",
    "AzureSigningError": "password is not a key of a storage account",
    "ParamValidationError": "the url of [source] has no bucket that there can be at {}",
}
#: Errors after which another try may succeed.
_LOST = frozenset(
    "OSError EOFError DisconnectError SFTPConnectionLost SFTPNoConnection ClientError HTTPClientError"
    " ServiceRequestError ServiceResponseError".split()
)
#: Answers of FTP.
_FTP = {"530": _LOGIN, "532": _LOGIN, "550": _MISSING, "553": _RIGHTS}


@contextmanager
def _failures(place: Place, times: Times) -> Iterator[None]:
    """Raise errors of the system and of packages as SourceError. No text of theirs is shown: it may have a secret."""
    try:
        yield
    except SourceError:
        raise
    except TimeoutError:
        raise results.too_long(times) from None
    except Exception as error:
        raise _explained(error, place.host) from None


def _explained(error: BaseException, host: str) -> SourceError:
    causes = [*_chain(error)]
    if refusal := next((cause for cause in causes if isinstance(cause, SourceError)), None):
        return refusal
    if (status := next(filter(None, map(_status, causes)), None)) is not None:
        return results.refused(status)
    for cause in causes:
        names = [kind.__name__ for kind in type(cause).__mro__]
        why = getattr(cause, "verify_message", None)  # aiohttp's error of this kind has none, but its cause
        if isinstance(cause, SSLCertVerificationError) and why is not None:
            return results.wrong_certificate(host, why)
        if isinstance(cause, FtpError):
            code = str(cause)[:3]
            text = _FTP.get(
                code, f"{{}} answers with {code if code.isdigit() else 'a text that is not of FTP'}"
            )
            return SourceError(text.format(host), temporary=code.startswith("4"))
        if text := next((_WORDS[name] for name in names if name in _WORDS), ""):
            return SourceError(text.format(host))
    if isinstance(error, SSLError):
        return results.no_tls(host, error)
    if any(kind.__name__ in _LOST for cause in causes for kind in type(cause).__mro__):
        return SourceError(f"the connection to {host} was lost", temporary=True)
    return SourceError(f"the answer of {host} cannot be understood ({type(error).__name__})")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _status(error: Any) -> int | None:
    """Return the status of an answer of HTTP, as each of the packages has it."""
    answer = getattr(error, "response", None)
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(answer, dict) else None
    status = status or getattr(error, "status_code", None) or getattr(error, "code", None)
    return status if isinstance(status, int) and 400 <= status < 600 else None
