"""Zip archives: their members, in the archive's order, are one feed.

Members are read as they come out of the archive. Their names are for messages only and never used as paths."""

import errno
import os
import zipfile
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import BinaryIO

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.records import FeedReader, ReadOptions, Record
from syncd.feeds.readers.source import Opener, Stream, Unpacked, over_limit, unpacking
from syncd.plain_files import is_litter

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_OTHERS = {9: "deflate64", 12: "bzip2", 14: "LZMA", 93: "zstd", 95: "xz"}
_END = b"PK\x05\x06"
_END_SIZE = 22
#: The list of members takes up to 20 times its size in memory.
_MAX_LIST = 4 << 20
ZIP = (b"PK\x03\x04", _END)

#: Makes the reader of one member.
Member = Callable[[Callable[[], Stream], ReadOptions], FeedReader]


class ZipArchive:
    """An open zip file of ``size`` bytes. Raise FeedError ``truncated``, ``bad_archive``, ``limit_exceeded``."""

    def __init__(self, raw: BinaryIO, limits: FeedLimits) -> None:
        self._raw, self._limits = raw, limits
        bounded = _Bounded(raw, min(limits.text, _MAX_LIST))
        try:
            with unpacking():
                self.zip = _open(bounded)
            bounded.listed = True
            self.size = raw.seek(0, 2)
            #: The members that were opened, by their offsets, and their size as they are packed.
            self._opened, self._packed = set[int](), 0
            raw.seek(max(0, self.size - _END_SIZE - len(self.zip.comment)))
            if raw.read(len(_END)) != _END:
                why = "the file has more data after the end of the zip archive"
                raise FeedError("bad_archive", why)  # noqa: TRY301 - closes the file like all others
        except BaseException:
            raw.close()
            raise

    @property
    def place(self) -> int:
        return self._raw.tell()

    def members(self) -> list[zipfile.ZipInfo]:
        """Return the files in it, without those that other systems add unasked."""
        listed = self.zip.infolist()  # whose is_dir() fails for an empty name
        infos = [i for i in listed if not i.filename.endswith("/") and not _is_litter(i.filename)]
        for info in infos:
            self.check(info)
        if not infos:
            raise FeedError("empty_file", "the archive has no file")
        return infos

    def check(self, info: zipfile.ZipInfo) -> None:
        """Raise FeedError ``bad_archive`` for a member that cannot be read."""
        if info.flag_bits & 0x41:
            raise FeedError("bad_archive", f"{shown(info)} is encrypted; send it without a password")
        if info.compress_type not in _METHODS:
            method = _OTHERS.get(info.compress_type, f"method {info.compress_type}")
            raise FeedError("bad_archive", f"{shown(info)} is compressed by {method}; only deflate is read")

    def open(self, info: zipfile.ZipInfo, before: int = 0) -> Unpacked:
        """Return the content of one member. ``before`` is the size of those before it."""
        with unpacking():
            content = self.zip.open(info)
        others = self._packed - (info.compress_size if info.header_offset in self._opened else 0)
        self._packed = others + info.compress_size
        self._opened.add(info.header_offset)
        # members are read in any order, and their sizes as the archive names them may be wrong
        packed = lambda: min(self.size, others + max(0, self._raw.tell() - info.header_offset))  # noqa: E731
        return Unpacked(content, self._raw, self._limits, before, packed=packed)

    def close(self) -> None:
        self.zip.close()
        self._raw.close()


class ZipReader(FeedReader):
    """See FeedReader. The first member decides the format; CSV members have one and the same header.

    The total is the sum of the numbers that the members announce, or that number itself where all have the same: then they
    are pages of one list. Raise FeedError ``bad_archive``, ``bad_header``, and the errors of the members' readers, with their
    names."""

    def __init__(self, opener: Opener, options: ReadOptions, member: Member, archive: ZipArchive) -> None:
        self._opener, self._member = opener, member
        self._options = options._replace(slicing=False)  # ``again`` does not know the member of a Slice
        info, *others = archive.members()
        self._several = bool(others)
        self._first, self._first_name = self._reader(archive, info, 0, self._options), shown(info)
        super().__init__(self._first.source, options)
        self.format, self.records_path = self._first.format, self._first.records_path
        self._declared: list[int] = []
        self._begins: list[int] = []
        self._names: list[str] = []

    def member_of(self, number: int) -> str | None:
        """Return the name of the member, as far as the archive was read."""
        if not self._several:
            return None
        return self._names[bisect_right(self._begins, number) - 1]

    def __iter__(self) -> Iterator[Record]:
        with closing(ZipArchive(self._opener(), self._limits)) as archive:
            expanded = 0
            for info in archive.members():
                options = self._options._replace(before=self.number, like=self.format)
                reader = self._reader(archive, info, expanded, options)
                self._begins.append(self.number + 1)
                self._names.append(shown(info))
                try:
                    yield from self._records(reader)
                except FeedError as error:
                    raise _within(info, error) from None
                self.number = reader.number
                expanded += reader.source.size

    def _reader(
        self, archive: ZipArchive, info: zipfile.ZipInfo, expanded: int, options: ReadOptions
    ) -> FeedReader:
        try:
            return self._member(lambda: archive.open(info, expanded), options)
        except FeedError as error:
            raise _within(info, error) from None

    def _records(self, reader: FeedReader) -> Iterator[Record]:
        if reader.format != self.format:
            detail = f"this is {reader.format}, but {self._first_name} is {self.format}"
            raise FeedError("bad_archive", detail)
        first = reader.number
        for record in reader:
            self._follow(reader)
            yield record
        self._follow(reader)
        self.line_end = reader.line_end if self.line_end is None else self.line_end and reader.line_end
        self.source.guessed |= reader.source.guessed
        self.controls += reader.controls
        said, here = self.announced, reader.announced
        said.follow, said.pages, said.parts = here.follow, here.pages, len(self._names)  # each may be a page
        said.fault = said.fault or here.fault
        if here.total is not None:
            self._declared.append(here.total)
            same = len(set(self._declared)) == 1
            said.total = self._declared[0] if same else sum(self._declared)
        elif self._declared:
            self._declared.append(reader.number - first)
            said.total = sum(self._declared)

    def _follow(self, reader: FeedReader) -> None:
        self.bytes_read = reader.bytes_read
        self.mended = self.mended or reader.mended
        self.withheld = self.withheld or reader.withheld
        self.nameless |= reader.nameless
        if self.header is None:
            self.header = reader.header
        elif reader.header != self.header:
            raise FeedError("bad_header", f"its header differs from that of {self._first_name}", line=1)


class _Bounded:
    """The file under an archive. The list of its members is the only part that is read at once, and is limited in size.
    ``fault``: the error of the last read that failed, which ``zipfile`` does not always pass on."""

    def __init__(self, raw: BinaryIO, most: int) -> None:
        self._raw, self._most, self.listed = raw, most, False
        self.fault: OSError | None = None
        self.tell, self.seekable = raw.tell, raw.seekable

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        try:
            return self._raw.seek(offset, whence)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            raise zipfile.BadZipFile("it points outside of itself") from None

    def read(self, size: int = -1) -> bytes:
        if not self.listed and size > self._most:
            raise over_limit("text", f"the list of what is in the archive takes more than {self._most} bytes")
        try:
            return self._raw.read(size)
        except OSError as error:
            self.fault = error
            raise


def _open(raw: _Bounded) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(raw)
    except zipfile.BadZipFile as error:
        if raw.fault is not None:
            raise raw.fault from None
        raise FeedError("truncated", f"a zip archive that is cut off or damaged: {error}") from None


def shown(info: zipfile.ZipInfo) -> str:
    name = "".join(char if char.isprintable() else "?" for char in info.filename)
    return name if len(name) <= 80 else f"{name[:40]}…{name[-39:]}"


def _is_litter(name: str) -> bool:
    base = name.rpartition("/")[2]
    return name.startswith("__MACOSX/") or base.startswith(".") or is_litter(base)


def _within(info: zipfile.ZipInfo, error: FeedError) -> FeedError:
    detail = f"{shown(info)}: {error.detail}"
    return FeedError(error.code, detail, line=error.line, column=error.column, offset=error.offset)
