"""One fetch, from the state in the store to the file in the feed's folder.

The file is written into ``.incoming/``, which no partner can enter, and renamed when it is whole; then the state is written.
Killed between the two, the file is fetched again, and its run ends ``unchanged``."""

import asyncio
import hashlib
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import msgspec
import structlog
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, stop_before_delay
from tenacity import wait_exponential_jitter as exponential

from syncd import __version__
from syncd.config import Settings
from syncd.errors import Conflict, UnusableFolder
from syncd.feeds.source import CONTENTS, Request, Secret, Source, has_lines
from syncd.logs import Event
from syncd.plain_files import MAX_SECRET, read_settings
from syncd.sources import http, servers
from syncd.sources.results import Fetched, NotModified, Seen, SourceError, Terms
from syncd.sources.turns import next_turn, pause_until_next
from syncd.store import Store, sources
from syncd.store.sources import SourceState
from syncd.sync import files, folders
from syncd.sync.run import Feed
from syncd.values import ValueFault

log = structlog.get_logger("syncd.sources")

#: Tries of one turn, the seconds that they may take, and the longest pause between two that no server asks for.
TRIES, TRYING, MAX_PAUSE = 6, 120.0, 30.0
#: Bytes that are left of a file's name at its source, and how often a name is tried that is taken.
NAME_BYTES, MAX_COPIES = 120, 100
_UNSAFE = re.compile(r"[^\w.()+=,@-]+")
_encode, _decode = msgspec.json.encode, msgspec.json.Decoder(Seen).decode


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a turn. ``result``: fetched, not_modified or failed. ``files``: the names that the files have now, or would
    have; ``size`` in bytes; ``reason``: why nothing was fetched; ``warning``: why files could not be deleted at their server;
    ``state``: the one after the turn."""

    result: str
    state: SourceState
    files: tuple[str, ...] = ()
    size: int = 0
    seconds: float = 0.0
    reason: str | None = None
    status: int | None = None
    warning: str | None = None


class Fetcher:
    """Makes fetches as the settings say. ``counted`` is called with the feed and the result of each turn; ``retried`` with the
    reason of each try that another one follows."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        counted: Callable[[str, str], object] = lambda feed, result: None,
        retried: Callable[[str], object] = lambda reason: None,
    ) -> None:
        self._store, self._settings, self._counted, self._retried = store, settings, counted, retried

    async def turn(self, feed: Feed, source: Source, *, dry: bool = False) -> Outcome:
        """Fetch once, with its tries, and return the end. ``dry``: nothing is kept, no file and no state. Raises Conflict while
        another process fetches for the feed, StoreError."""
        began = time.monotonic()
        with ExitStack() as stack:
            try:
                opened = await asyncio.to_thread(lambda: stack.enter_context(_incoming(feed.folder)))
            except (UnusableFolder, OSError) as failure:
                fetched: _Fetch | SourceError = SourceError(f"the file cannot be kept: {failure}")
                opened = None
            # the lock of the folder is held from here until the state is written
            before = await self._store.read_async(lambda tx: sources.state(tx, feed.name))
            if opened is not None:
                fetched = await self._fetch(source, before, opened, dry)
            state = self._after(source, before, fetched)
            if isinstance(fetched, SourceError):
                outcome = Outcome("failed", state, reason=str(fetched), status=fetched.status)
            else:
                result = "fetched" if fetched.files else "not_modified"
                outcome = Outcome(result, state, fetched.files, fetched.size, reason=fetched.reason)
            outcome = replace(outcome, seconds=time.monotonic() - began)
            if not dry:
                await self._store.write_async(
                    lambda tx: sources.remember(tx, feed.name, state, self._settings.timezone)
                )
                if source.delete and state.seen != before.seen:
                    outcome = replace(outcome, warning=await self._delete(source, state))
                self._counted(feed.name, outcome.result)
                _tell(feed.name, before, outcome)
        return outcome

    async def _fetch(
        self, source: Source, before: SourceState, opened: tuple[int, int], dry: bool
    ) -> "_Fetch | SourceError":
        """Return the files, in their place, or why there are none. ``opened``: the folders of the feed and of incoming files."""
        known = before.seen if before.address == address_digest(source) else ""
        seen = _decode(known) if known else Seen()
        try:
            got = await self._tries(source, seen, folders.OPEN_FILES / str(opened[1]))
            if isinstance(got, NotModified):
                return _Fetch(known, reason=got.reason)
            new = await asyncio.to_thread(_place, got, seen, opened, self._store.now().instant, dry)
        except SourceError as failure:
            return failure
        except OSError as failure:
            return SourceError(f"the file cannot be kept: {failure.strerror or failure}")
        reason = None if new else "the file has the bytes of the last one"
        names, size = tuple(name for name, _ in new), sum(size for _, size in new)
        return _Fetch(_encode(got[-1].seen).decode(), names, size, reason)

    async def _delete(self, source: Source, state: SourceState) -> str | None:
        """Delete the files at their server that are here; return why that failed, if it did."""
        try:
            await servers.delete(request_of(source, self._settings), _decode(state.seen))
        except SourceError as failure:
            return str(failure)
        return None

    async def _tries(self, source: Source, seen: Seen, incoming: Path) -> list[Fetched] | NotModified:
        """Return the result of the try that succeeds. Raises the SourceError of the last one."""
        settings, now = self._settings, self._store.now().instant
        usual = pause_until_next(source, now, settings.timezone)
        most = TRYING if usual is None else min(TRYING, usual.total_seconds())
        backoff = exponential(initial=1, max=MAX_PAUSE, jitter=1)

        def pause(state: RetryCallState) -> float:
            retry_after = getattr(_error(state), "retry_after", None)
            return backoff(state) if retry_after is None else float(retry_after.total_seconds())

        def tell(state: RetryCallState) -> None:
            self._retried(str(_error(state)))

        tries = AsyncRetrying(
            stop=stop_after_attempt(TRIES) | stop_before_delay(most),
            wait=pause,
            retry=retry_if_exception(lambda error: isinstance(error, SourceError) and error.temporary),
            before_sleep=tell,
            reraise=True,
        )
        request = request_of(source, settings)
        fetch = http.fetch if request.by_http else servers.fetch
        return await tries(fetch, request, seen, incoming, terms_of(settings, now))

    def _after(self, source: Source, before: SourceState, fetched: "_Fetch | SourceError") -> SourceState:
        """Return the state after a turn that ends now."""
        now, zone, address = self._store.now().instant, self._settings.timezone, address_digest(source)
        chance = random.random()  # noqa: S311 - to spread turns
        if isinstance(fetched, _Fetch):
            turn = next_turn(source, now, 0, zone, chance)
            return SourceState(address, fetched.seen, succeeded_at=now, next_at=turn)
        if before.address != address:
            before = SourceState(address)
        failures = before.failures + 1
        turn = next_turn(source, now, failures, zone, chance)
        if turn is not None and fetched.retry_after is not None:
            turn = max(turn, now + fetched.retry_after)
        since, reason = before.failing_since or now, str(fetched)
        return before._replace(failures=failures, failing_since=since, reason=reason, next_at=turn)


@dataclass(frozen=True, slots=True)
class _Fetch:
    """A fetch that did not fail. ``seen``: JSON for the next one."""

    seen: str
    files: tuple[str, ...] = ()
    size: int = 0
    reason: str | None = None


def request_of(source: Source, settings: Settings) -> Request:
    """Return the request of a source with its secrets. Raises SourceError."""
    try:
        return source.request(lambda key, secret: text_of(key, secret, settings))
    except ValueFault as fault:
        raise SourceError(f"url {fault}") from None


def terms_of(settings: Settings, now: datetime) -> Terms:
    public = settings.api.public_url
    return Terms(f"syncd/{__version__}" + (f" (+{public})" if public else ""), now, settings.limits.file)


def address_digest(source: Source) -> str:
    """Return a digest (hex) of the request: the state of another address says nothing about it."""
    request = (str(source.url), source.method, source.body, source.pages, source.records)
    return hashlib.sha256(repr(request).encode()).hexdigest()


def _error(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome is not None else None


def _tell(feed: str, before: SourceState, outcome: Outcome) -> None:
    seconds, state = round(outcome.seconds, 3), outcome.state
    if outcome.result == "failed":
        log.warning(
            Event.SOURCE_FAILED,
            feed=feed,
            status=outcome.status,
            reason=outcome.reason,
            failures=state.failures,
            next=state.next_at,
            seconds=seconds,
        )
        return
    if outcome.result == "fetched":
        log.info(Event.SOURCE_FETCHED, feed=feed, files=outcome.files, bytes=outcome.size, seconds=seconds)
    else:
        log.info(Event.SOURCE_NOT_MODIFIED, feed=feed, reason=outcome.reason, seconds=seconds)
    if outcome.warning is not None:
        log.warning(Event.SOURCE_NOT_DELETED, feed=feed, reason=outcome.warning)
    if before.failures:
        log.info(Event.SOURCE_RECOVERED, feed=feed, failures=before.failures)


# -- the folders -------------------------------------------------------------------------------------------------


@contextmanager
def _incoming(folder: Path) -> Iterator[tuple[int, int]]:
    """Yield the open folder of the feed, and that of incoming files in it, emptied; both are made where they are missing. Raises
    Conflict while another process has it, OSError, UnusableFolder."""
    folders.make_feed_folder(folder)
    with (
        folders.open_folder(folder) as outer,
        folders.ensure_subfolder(folder, folders.INCOMING) as incoming,
    ):
        if not folders.try_lock(incoming):
            raise Conflict("another process fetches for this feed at this moment; try again")
        for name in os.listdir(incoming):  # of a process that died
            files.discard(incoming, name)
        yield outer, incoming


def _place(
    got: list[Fetched], seen: Seen, opened: tuple[int, int], now: datetime, dry: bool
) -> list[tuple[str, int]]:
    """Rename each file that differs from the one before it into the folder of the feed, and remove the others, in a ``dry``
    turn all. Return the names there and the sizes of the new ones. ``opened``: the folders of the feed and of incoming files.
    Raises OSError."""
    folder, incoming = opened
    names, last = [], seen.sha256
    for fetched in got:
        new, wanted, last = fetched.sha256 != last, final_name(fetched.name, now), fetched.sha256
        if new and not dry:
            wanted = _move(incoming, fetched.path.name, folder, wanted)
        else:
            files.discard(incoming, fetched.path.name)
        names += [(wanted, fetched.size)] if new else []
    if names and not dry:
        os.fsync(folder)
    return names


def _move(incoming: int, name: str, folder: int, wanted: str) -> str:
    """Rename never over anything; return the name that was free."""
    stamp, _, rest = wanted.partition("-")
    for copy in range(1, MAX_COPIES + 1):
        free = wanted if copy == 1 else f"{stamp}.{copy}-{rest}"
        try:
            files.move(incoming, name, folder, free)
        except FileExistsError:
            if copy == MAX_COPIES:
                raise
            continue
        break
    return free


def final_name(name: str, now: datetime) -> str:
    """Return ``YYYYMMDDTHHMMSSZ-NAME`` with a name that the inbox takes."""
    safe = _UNSAFE.sub("_", name).encode()[-NAME_BYTES:].decode("utf-8", "ignore").strip("_") or "feed"
    final = f"{now:%Y%m%dT%H%M%SZ}-{safe}"
    return f"{final}.feed" if files.never_taken(final) else final


# -- secrets -----------------------------------------------------------------------------------------------------


def text_of(key: str, secret: Secret, settings: Settings) -> str:
    """Return the text of the secret of ``key``; a credential loses its last line end. Raises SourceError."""
    if secret.kind == "env":
        text, where = os.environ.get(secret.name), f"set the environment variable {secret.name}"
    else:
        text, where = _credential(secret.name, settings)
    if text is None:
        raise SourceError(f"{secret} is missing: {where}")
    if not text or not (has_lines(text) if key in CONTENTS else text.isprintable()):
        raise SourceError(f"{secret} must be {'text' if key in CONTENTS else 'one line of text'}")
    return text


def _credential(name: str, settings: Settings) -> tuple[str | None, str]:
    """Return the text of a credential, None if there is none, and how to give it. Raises SourceError for one that cannot be
    read."""
    passed = os.environ.get("CREDENTIALS_DIRECTORY")
    places = [*([Path(passed)] if passed else []), settings.feeds.parent / "credentials"]
    for place in places:
        try:
            text = read_settings(place / name, MAX_SECRET)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise SourceError(f"{{ credential = {name} }}: {place / name}: {error.strerror}") from None
        return text.removesuffix("\n").removesuffix("\r"), ""
    return None, f"write it to {places[-1] / name}, which only syncd's user can read (chmod 600)"
