"""The claimed files of a feed. A complete file is renamed into ``.claimed/``, so that one run alone has it; a file that is
imported from elsewhere is copied there."""

import errno
import os
import secrets
import stat
from contextlib import ExitStack, suppress
from pathlib import Path

from syncd.errors import FeedError
from syncd.plain_files import kind_of
from syncd.sync import files, folders
from syncd.sync.arrival.inbox import UnexpectedFile
from syncd.sync.drop_file import FILE_CHANGED, DropFile

#: The beginning of the name of a copy while it is made.
COPY = ".copy-"


class Claims:
    """The claimed files of one feed. ``folder`` is DROP/FEED, ``marker`` the ending of marker files or None. Raises OSError,
    UnusableFolder."""

    def __init__(self, folder: Path, marker: str | None) -> None:
        self.folder, self._marker = folder, marker

    def claim(self, file: DropFile) -> DropFile | None:
        """Rename the complete file into ``.claimed/`` and return it, open. Return None if it is gone, or if another file had
        replaced it by then: that stays in ``.claimed/`` and has to settle there, and so does a file whose claim failed."""
        place = self.folder / folders.CLAIMED
        with folders.open_folder(self.folder) as folder, folders.open_folder_in(folder, place) as claims:
            name = files.claim_name(_unused_token(claims), file.name)
            note = self._note_marker(folder, claims, name, file.entry)
            try:
                os.rename(file.entry, name, src_dir_fd=folder, dst_dir_fd=claims)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise folders.other_file_system(place) if error.errno == errno.EXDEV else error from None
            with ExitStack() as opened:
                claimed = DropFile.opened(claims, place, name, file.name)
                if claimed is not None:
                    opened.callback(claimed.close)
                replaced = claimed is None or claimed.signature != file.signature
                self._drop_marker(folder, claims, file.entry, note)
                for fd in (claims, folder) if claimed is None else (claimed.fd, claims, folder):
                    os.fsync(fd)
                if replaced:
                    return None
                opened.pop_all()
            return claimed

    def claimed(self) -> list[DropFile]:
        """Return the claimed files, the oldest first, those of processes that died among them."""
        place = self.folder / folders.CLAIMED
        there = []
        with folders.open_folder(self.folder) as folder, folders.open_folder_in(folder, place) as claims:
            names = os.listdir(claims)
            notes = {name[1:9]: name for name in names if is_marker_note(name)}
            for name in names:
                parsed = files.parse_claim(name)
                if parsed is None:
                    continue
                with suppress(FileNotFoundError):
                    status = os.stat(name, dir_fd=claims, follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        self._drop_marker(folder, claims, parsed[1], notes.get(parsed[0]))
                        there.append(DropFile(place, name, parsed[1], folders.Signature.of(status)))
        return sorted(there, key=lambda file: file.age)

    def open(self, file: DropFile) -> DropFile | None:
        """Open a claimed file; None if it is gone or is not a regular file any more."""
        with folders.open_subfolder(self.folder, folders.CLAIMED) as claims:
            return DropFile.opened(claims, file.folder, file.entry, file.name)

    def names(self) -> list[str]:
        """Return the names of all that has the name of a claimed file, sorted."""
        with folders.open_subfolder(self.folder, folders.CLAIMED) as claims:
            return sorted(filter(files.parse_claim, os.listdir(claims)))

    def unexpected(self) -> list[UnexpectedFile]:
        """Return the things that replaced a file in the moment of its claim, and files that cannot be opened."""
        unexpected = []
        with folders.open_subfolder(self.folder, folders.CLAIMED) as claims:
            for name in self.names():
                fd = folders.open_partners(name, claims)
                if isinstance(fd, int):
                    os.close(fd)
                elif fd is not None:
                    shown = f"{folders.CLAIMED}/{files.display_name(name)}"
                    unexpected.append(UnexpectedFile(shown, why=fd))
        return unexpected

    def _note_marker(self, folder: int, claims: int, claim: str, name: str) -> str | None:
        """Note, before a file is claimed, its marker; return the name of the note. If this process dies, the marker of the next
        file of that name is not taken for it, even if the clock was set."""
        if (marker := self._marker_of(folder, name)) is None:
            return None
        note = _marker_note(claim[:8], marker)
        os.close(os.open(note, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=claims))
        return note

    def _drop_marker(self, folder: int, claims: int, name: str, note: str | None) -> None:
        """Remove the marker of a file that was claimed, or it would mark the next file of that name as complete. ``note``: that
        of the marker; it goes, too."""
        if note is not None:
            marker = self._marker_of(folder, name)
            if marker is not None and note == _marker_note(note[1:9], marker):
                files.discard(folder, f"{name}{self._marker}")
            files.discard(claims, note)

    def _marker_of(self, folder: int, name: str) -> os.stat_result | None:
        if self._marker:
            with suppress(FileNotFoundError):
                return os.stat(name + self._marker, dir_fd=folder, follow_symlinks=False)
        return None


#: The part of the name of a note behind the digits of the claimed file.
_NOTE = ".marker-"


def _marker_note(token: str, marker: os.stat_result) -> str:
    """Return the name of the note that the file that is claimed with this token had this marker. Each change of a marker
    changes its ``st_ctime``."""
    return f".{token}{_NOTE}{marker.st_ino}-{marker.st_ctime_ns}"


def is_marker_note(name: str) -> bool:
    """Return whether something in ``.claimed/`` has the name of a note of a marker."""
    return name.startswith(_NOTE, 9)


def copy_in(feed: Path, path: Path, *, name: str | None = None) -> DropFile:
    """Return a claimed copy of the regular file ``path``, open, which is durable before it gets its name. Call it under the
    feed's lock. ``feed`` is the feed's folder; ``name``: the file's, if it is not that of ``path``.

    Raises OSError, and FeedError ``not_a_feed`` (not a regular file) or ``file_changed`` (it changed meanwhile)."""
    with (  # without waiting for the other end of a FIFO
        open(
            path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK), buffering=0
        ) as source,
        folders.open_subfolder(feed, folders.CLAIMED) as claims,
    ):
        status = os.fstat(source.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise FeedError("not_a_feed", f"{path} is {kind_of(status.st_mode)}")
        token = _unused_token(claims)
        name = name or path.name
        copy, claim = f"{COPY}{token}", files.claim_name(token, name)
        files.copy_into(source, copy, claims)
        if folders.Signature.of(os.fstat(source.fileno())) != folders.Signature.of(status):
            os.unlink(copy, dir_fd=claims)
            raise FeedError(FILE_CHANGED, f"{path} changed while it was copied")
        os.utime(copy, ns=(status.st_mtime_ns, status.st_mtime_ns), dir_fd=claims)
        os.rename(copy, claim, src_dir_fd=claims, dst_dir_fd=claims)
        os.fsync(claims)
        claimed = DropFile.opened(claims, feed / folders.CLAIMED, claim, files.display_name(name))
    assert claimed is not None, "no partner can change what lies in .claimed/"
    return claimed


def _unused_token(claims: int) -> str:
    """Return 8 random hex digits that no claimed file has."""
    taken = {name[:8] for name in os.listdir(claims)}
    return next(token for token in iter(lambda: secrets.token_hex(4), None) if token not in taken)
