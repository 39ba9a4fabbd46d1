"""The bytes of a feed file as a stream of UTF-8 chunks, in whatever encoding they came.

The encoding is, the strongest first: the feed's setting, a byte order mark, the XML declaration, UTF-8 if the first
chunk that is not ASCII is valid, Windows-1252. UTF-8 is passed on unchecked: the parsers check what they parse."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from contextlib import closing

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.packed import Stream, Unpacked

#: How much of the file decides what it is, and how much is read at a time.
HEAD = 1 << 20
CHUNK = 1 << 18
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SPOKEN = {"charmap": "Windows-1252 (or the one-byte encoding that was named)"}
_DECLARED = re.compile(rb"""\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["']""")


class Utf8Source:
    """One pass or several over the same bytes. Raise FeedError ``empty_file``, ``bad_encoding``, ``limit_exceeded``.

    ``head`` is the first chunk in UTF-8, without a byte order mark; ``whole``: it is the whole file. ``encoding`` is a
    codec's name, "guess" while all bytes so far were ASCII. ``size`` counts the bytes of the content so far,
    ``bytes_read`` those of the file: fewer, if it is compressed."""

    def __init__(self, opener: Callable[[], Stream], encoding: str | None, limits: FeedLimits) -> None:
        self._open = opener
        self._limit = limits.file
        self.bytes_read = self.size = 0
        with closing(opener()) as stream:
            raw = stream.read(HEAD)
            self.whole = len(raw) < HEAD or not stream.read(1)
        if not raw.strip():
            raise FeedError("empty_file", "the file is empty")
        self.encoding, self._skip = _encoding(raw, encoding)
        decoder = None if self.encoding == "guess" else _transcoder(self.encoding)
        self.head = raw[self._skip :] if decoder is None else _decode(decoder, raw[self._skip :], self._skip)

    def chunks(self) -> Iterator[bytes]:
        """Yield the file from its start, in UTF-8. A chunk may end inside a character only if the file is UTF-8."""
        decoder = None if self.encoding == "guess" else _transcoder(self.encoding)
        guessing = self.encoding == "guess"
        self.bytes_read = self.size = 0
        with closing(self._open()) as stream:
            raw = stream.read(CHUNK)[self._skip :]
            start = self._skip
            while raw:
                self.size = start + len(raw)
                self.bytes_read = stream.consumed if isinstance(stream, Unpacked) else self.size
                self._check_size()
                if guessing and not raw.isascii():
                    guessing = False
                    decoder = _transcoder(_guess(raw, start))
                yield raw if decoder is None else _decode(decoder, raw, start)
                start = self.size
                raw = stream.read(CHUNK)
        if decoder is not None:
            yield _decode(decoder, b"", start, final=True)

    def _check_size(self) -> None:
        if self.size > self._limit:
            detail = f"the file is larger than {self._limit} bytes ([limits] file)"
            raise FeedError("limit_exceeded", detail)


def _encoding(raw: bytes, setting: str | None) -> tuple[str, int]:
    """The codec's name and the length of the byte order mark."""
    mark, marked = next(((len(bom), name) for bom, name in _BOMS if raw.startswith(bom)), (0, None))
    declared = _DECLARED.match(raw[:4096])
    name = setting or marked or _wide(raw) or (declared.group(1).decode() if declared else None)
    if name is None:
        return ("guess" if raw.isascii() else _guess(raw, 0)), 0
    try:
        codec = codecs.lookup(name).name
        b"".decode(codec)
    except (LookupError, TypeError):
        raise FeedError("bad_encoding", f"the encoding {name!r} is not known") from None
    if codec in ("utf-16", "utf-32") and (wide := marked or _wide(raw)):
        codec = wide
    return ("utf-8" if codec == "utf-8-sig" else codec), mark


def _wide(raw: bytes) -> str | None:
    """UTF-16 without a mark: the first two characters are ASCII in every feed, so one byte of each is NUL."""
    start = [byte == 0 for byte in raw[:4]]
    if start == [False, True, False, True]:
        return "utf-16-le"
    return "utf-16-be" if start == [True, False, True, False] else None


def _guess(raw: bytes, start: int) -> str:
    """UTF-8 if ``raw`` is (except for a character cut off at its end), else Windows-1252, unless it is broken UTF-8."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(raw)
    except UnicodeDecodeError as error:
        text = raw.decode("utf-8", "replace")
        wrong = text.count("\ufffd")
        if sum(map(text.count, "éèàçêôîû’–")) > wrong:
            raise FeedError(
                "bad_encoding",
                f"mostly UTF-8, but the byte 0x{raw[error.start]:02X} is not",
                offset=start + error.start,
            ) from None
        return "cp1252"
    return "utf-8"


def _transcoder(encoding: str) -> codecs.IncrementalDecoder | None:
    return None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)()


def _decode(decoder: codecs.IncrementalDecoder, raw: bytes, start: int, *, final: bool = False) -> bytes:
    try:
        return decoder.decode(raw, final).encode()
    except UnicodeError as error:
        offset, what = start, "not valid text"
        if isinstance(error, UnicodeDecodeError):
            offset, what = start + error.start, _not_text(error, final=final)
        raise FeedError("bad_encoding", what, offset=offset) from None


def _not_text(error: UnicodeDecodeError, *, final: bool) -> str:
    """The codec's complaint in plain words: codecs call Windows-1252 ``charmap``, and count from the start of a chunk."""
    name = _SPOKEN.get(error.encoding, error.encoding.upper())
    if final:
        return f"the file ends within a character of {name}"
    return f"the byte 0x{error.object[error.start]:02X} is not text in {name}"
