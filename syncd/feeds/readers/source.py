"""The bytes of a feed file, unpacked on the way to their reader, as a stream of UTF-8.

Compressed files are never unpacked to disk, but little at a time, and within limits.

The encoding is, the strongest first: the feed's setting, a byte order mark, the XML declaration, UTF-8 if the first
chunk that is not ASCII is valid, Windows-1252. UTF-8 is passed on unchecked: the parsers check their data."""

import codecs
import gzip
import re
import struct
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from typing import BinaryIO, Protocol
from zipfile import BadZipFile

from syncd.domain import FeedLimits
from syncd.errors import FeedError

#: Opens the file from its start, as a stream that can seek.
Opener = Callable[[], BinaryIO]

GZIP = b"\x1f\x8b"
#: Up to this size the ratio does not count: it does no harm, and the smallest files shrink the most.
_HARMLESS = 1 << 20
#: The bytes of the content that are read at a time.
_STEP = 1 << 14
#: The bytes of the file that decide its format and encoding, and those that are read at a time.
HEAD, CHUNK = 1 << 20, 1 << 19
#: The characters that no XML may have, each one byte of UTF-8 that is part of no other character.
_CONTROLS = bytes({*range(0x20)} - {*b"\t\n\r"})
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
#: Codec → its name in messages.
_SPOKEN = {"charmap": "Windows-1252 (or the one-byte encoding that was named)"}
_DECLARED = re.compile(rb"""\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["']""")
#: Encodings that a declaration of single bytes cannot mean: .NET's writer of strings names UTF-16 for any bytes.
_IMPOSSIBLE = re.compile(r"(?:utf|ucs)[-_]?(?:16|32|2|4)(?:[-_]?[lb]e)?\Z", re.IGNORECASE)


class Stream(Protocol):
    """The part of a file object that a reader needs. ``read`` returns as much as is asked for, except at the end."""

    def read(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


class Unpacked:
    """The content of a compressed stream as a Stream.

    ``file`` is the compressed file, which is closed too if ``owns``. ``before`` is the size of the other members of the
    same archive so far, ``expanded`` that of all. ``packed`` returns the packed bytes that have become these; None: those of the
    file so far. Raise FeedError ``limit_exceeded``, ``truncated``, ``bad_archive``."""

    def __init__(
        self,
        content: Stream,
        file: BinaryIO,
        limits: FeedLimits,
        before: int = 0,
        *,
        packed: Callable[[], int] | None = None,
        owns: bool = False,
    ) -> None:
        self._content, self._file, self._limits, self._owns = content, file, limits, owns
        self._packed = packed or file.tell
        self.expanded = before

    @property
    def consumed(self) -> int:
        return self._file.tell()

    def read(self, size: int, /) -> bytes:
        parts: list[bytes] = []
        while size > 0:
            # a little at a time: a library reads as much of the file as is asked for of the content
            with unpacking():
                data = self._content.read(min(size, _STEP))
            if not data:
                break
            self.expanded += len(data)
            check_expansion(self.expanded, self._packed(), self._limits)
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    def close(self) -> None:
        self._content.close()
        if self._owns:
            self._file.close()


def over_limit(limit: str, detail: str, *, line: int | None = None, offset: int | None = None) -> FeedError:
    """Return the error of a file that exceeds a ``limit`` of FeedLimits; ``detail`` names the excess."""
    setting = f" ([limits] {limit})" if limit in ("file", "record", "rows") else ""
    return FeedError("limit_exceeded", detail + setting, line=line, offset=offset)


def not_a_feed(what: str) -> FeedError:
    """Return the error of a file that is ``what``; advice may stand behind a colon."""
    kind, colon, advice = what.partition(":")
    return FeedError("not_a_feed", f"this is {kind}, not a feed{colon}{advice}")


def check_expansion(expanded: int, packed: int, limits: FeedLimits) -> None:
    """Raise FeedError ``limit_exceeded`` if ``packed`` bytes have become more than they may."""
    if expanded > limits.file:
        raise over_limit("file", f"the archive expands to more than {limits.file} bytes")
    if expanded > _HARMLESS and expanded > limits.ratio * packed:
        raise over_limit("ratio", f"the archive expands to more than {limits.ratio} times its size")


def gunzip(file: BinaryIO, limits: FeedLimits) -> Unpacked:
    return Unpacked(gzip.GzipFile(fileobj=file), file, limits, owns=True)


@contextmanager
def unpacking() -> Iterator[None]:
    """Raise the libraries' errors for a damaged archive as FeedError ``truncated`` or ``bad_archive``."""
    try:
        yield
    except EOFError:
        raise FeedError("truncated", "the archive ends before its content does") from None
    except gzip.BadGzipFile as error:
        junk = str(error).startswith("Not a gzipped file")  # it began as one
        detail = (
            "the file has more data after the end of the gzip data"
            if junk
            else f"the gzip data is damaged: {error}"
        )
        raise FeedError("bad_archive", detail) from None
    except (BadZipFile, zlib.error, struct.error, NotImplementedError, OverflowError, ValueError) as error:
        raise FeedError("bad_archive", f"a damaged archive: {error}") from None


class Utf8Source:
    """One pass or several over the same bytes. Raise FeedError ``empty_file``, ``bad_encoding``, ``limit_exceeded``.

    ``head`` is the first chunk in UTF-8, without a byte order mark; ``whole``: it is the whole file. ``encoding`` is a
    codec's name, "guess" while all bytes so far were ASCII. ``guessed``: the bytes are not UTF-8, and were read as Windows-1252
    although nothing names it. ``size`` counts the bytes of the content so far, ``bytes_read`` those of the file: fewer, if it is
    compressed. ``controls`` counts the characters that were left out (``leave_out_controls``)."""

    def __init__(self, opener: Callable[[], Stream], encoding: str | None, limits: FeedLimits) -> None:
        self._open = opener
        self._limit = limits.file
        self.bytes_read = self.size = self.controls = 0
        self._without: bytes | None = None
        with closing(opener()) as stream:
            raw = stream.read(HEAD)
            self.whole = len(raw) < HEAD or not stream.read(1)
        if not raw.strip():
            raise FeedError("empty_file", "the file is empty")
        self.encoding, self._skip, self.guessed = _encoding(raw, encoding)
        self.head = _decode(_transcoder(self.encoding), raw[self._skip :], self._skip)

    def leave_out_controls(self) -> None:
        """Leave control characters other than tab, LF and CR out of ``head``, and of the chunks from now on."""
        self._without = _CONTROLS
        self.head = self.head.translate(None, _CONTROLS)

    def chunks(self) -> Generator[bytes, None, None]:
        """Yield the file from its start, in UTF-8. A chunk may end inside a character only if the file is UTF-8."""
        self.controls = 0
        with closing(self._decoded()) as chunks:
            for data in chunks:
                kept = data if self._without is None else data.translate(None, self._without)
                self.controls += len(data) - len(kept)
                yield kept

    def _decoded(self) -> Generator[bytes, None, None]:
        decoder = _transcoder(self.encoding)
        guessing = self.encoding == "guess"
        self.bytes_read = self.size = 0
        with closing(self._open()) as stream:
            raw = stream.read(CHUNK)[self._skip :]
            start = self._skip
            while raw:
                self.size = start + len(raw)
                self.bytes_read = stream.consumed if isinstance(stream, Unpacked) else self.size
                if self.size > self._limit:
                    raise over_limit("file", f"the file is larger than {self._limit} bytes")
                if guessing and not raw.isascii():
                    guessing = False
                    decoder = _transcoder(_guess(raw, start))
                    self.guessed = decoder is not None
                yield _decode(decoder, raw, start)
                start = self.size
                raw = stream.read(CHUNK)
        if decoder is not None:
            yield _decode(decoder, b"", start, final=True)


def _encoding(raw: bytes, setting: str | None) -> tuple[str, int, bool]:
    """Return the codec's name, the length of the byte order mark, and whether Windows-1252 is only a guess."""
    mark, marked = next(((len(bom), name) for bom, name in _BOMS if raw.startswith(bom)), (0, None))
    declared = _DECLARED.match(raw[:4096])
    named = declared.group(1).decode() if declared else None
    name = setting or marked or _wide(raw) or (named if named and not _IMPOSSIBLE.match(named) else None)
    if name is None:
        guess = "guess" if raw.isascii() else _guess(raw, 0)
        return guess, 0, guess == "cp1252"
    try:
        codec = codecs.lookup(name).name
        with suppress(UnicodeError):  # whether the bytes are text in it shows later
            b" ".decode(codec)  # "rot13", "hex" and others of Python's codecs are refused: they give no text
    except (LookupError, TypeError):
        raise FeedError("bad_encoding", f"the encoding {name!r} is not known") from None
    if codec in ("utf-16", "utf-32") and (wide := marked or _wide(raw)):
        codec = wide
    return ("utf-8" if codec == "utf-8-sig" else codec), mark, False


def _wide(raw: bytes) -> str | None:
    """Return UTF-16 without a mark: the first two characters are ASCII in every feed, so one byte of each is NUL."""
    start = [byte == 0 for byte in raw[:4]]
    if start == [False, True, False, True]:
        return "utf-16-le"
    return "utf-16-be" if start == [True, False, True, False] else None


def _guess(raw: bytes, start: int) -> str:
    """Return UTF-8 if ``raw`` is (except for a character cut off at its end), else Windows-1252. Raise for broken UTF-8."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(raw)
    except UnicodeDecodeError as error:
        text = raw.decode("utf-8", "replace")
        if sum(map(text.count, "éèàçêôîû’–")) > text.count("\ufffd"):
            detail = f"mostly UTF-8, but the byte 0x{raw[error.start]:02X} is not"
            raise FeedError("bad_encoding", detail, offset=start + error.start) from None
        return "cp1252"
    return "utf-8"


def _transcoder(encoding: str) -> codecs.IncrementalDecoder | None:
    """Return the decoder of text that is not UTF-8 already, nor ASCII so far."""
    return None if encoding in ("utf-8", "guess") else codecs.getincrementaldecoder(encoding)()


def _decode(
    decoder: codecs.IncrementalDecoder | None, raw: bytes, start: int, *, final: bool = False
) -> bytes:
    if decoder is None:
        return raw
    try:
        return decoder.decode(raw, final).encode()
    except UnicodeDecodeError as error:
        name = _SPOKEN.get(error.encoding, error.encoding.upper())
        byte = f"the byte 0x{error.object[error.start]:02X} is not text in {name}"
        what = f"the file ends within a character of {name}" if final else byte
        raise FeedError("bad_encoding", what, offset=start + error.start) from None
    except UnicodeError:
        raise FeedError("bad_encoding", "not valid text", offset=start) from None
