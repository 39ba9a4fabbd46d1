"""The layer between the engine and the system: every system call of a simulated process goes through it, and can fail there,
or be the call before which the process dies.

What goes through it, for the one thread that simulates: the functions of ``os`` (Python's ``pathlib`` and ``tempfile`` use
them too), ``open``, ``renameat2``, and the connections of ``sqlite3`` (opening one, the beginning and the end of a
transaction, each statement that writes), in the same way those of psycopg. The files are real files in a temporary folder.

What it cannot show: what the kernel and SQLite do inside one call. A process that dies leaves what its calls have written, as
after SIGKILL; a power cut, which loses what was not flushed, is not simulated (tests/e2e/power_cuts.py makes some), and a dead
process's transaction is rolled back by SQLite itself. Of a PostgreSQL server only the errors that it reports are simulated, not
its own files, its end, or the loss of a connection. Locks and leases never fail. Worker processes and threads are not
simulated: the store's writer runs in the thread of its caller.

What differs from run to run on a real system is made the same: the order of ``os.listdir``, random names, the times of files
(a clock of the simulation), the pauses between tries."""

import builtins
import ctypes
import errno
import gc
import io
import os
import random
import secrets
import sqlite3
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from weakref import WeakSet

import psycopg

#: The calls on names and on descriptors that are steps. What is not here never fails.
_BY_NAME = (
    "stat",
    "lstat",
    "listdir",
    "scandir",
    "mkdir",
    "rmdir",
    "rename",
    "replace",
    "unlink",
    "remove",
    "link",
    "utime",
)
_BY_DESCRIPTOR = ("read", "pread", "write", "fstat", "fsync", "fchmod", "dup", "copy_file_range")
_OTHER = ("chmod", "chown")
_STEPS = (*_BY_NAME, *_BY_DESCRIPTOR, *_OTHER)
_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")


class Died(BaseException):
    """The process ends here: no handler of ``Exception`` sees it."""


class Process:
    """What a simulated process has open: the system closes it when the process dies."""

    def __init__(self, name: str) -> None:
        self.name, self.dead = name, False
        self.descriptors: set[int] = set()
        self.files: WeakSet[LayerFile] = WeakSet()
        self.connections: WeakSet[LayerConnection] = WeakSet()
        #: Its connections to a PostgreSQL server, by the number of the server's process.
        self.backends: dict[int, psycopg.Connection[Any]] = {}
        self.writing = 0


Call = tuple[str, tuple[Any, ...], dict[str, Any]]


class Layer:
    """``wall`` returns the time of the simulated clock in nanoseconds. ``before`` is called before each call of a process; it
    may raise Died, or an error of the system. ``calls`` counts them."""

    def __init__(self, seed: object, wall: Callable[[], int]) -> None:
        self.process: Process | None = None
        self.calls = 0
        self.before: Callable[[Call], None] = lambda call: None
        #: Ends processes of the PostgreSQL server, with their locks and transactions.
        self.end_backends: Callable[[set[int]], None] = lambda backends: None
        self._wall, self._salt = wall, str(seed).encode()
        self._random = random.Random(f"names {seed}")
        self._count = 0
        self._changed: dict[int, int] = {}
        self._modified: dict[int, int] = {}
        self._burying = False

    # -- processes -------------------------------------------------------------------------------------------

    @contextmanager
    def running(self, process: Process | None) -> Iterator[None]:
        """What happens in the block is done by ``process``; None: by the test, past the layer."""
        before, self.process = self.process, process
        try:
            yield
        finally:
            self.process = before

    def bury(self, process: Process) -> None:
        """Close what a process has open, as the system does: what it had not written yet is lost."""
        process.dead = True
        for connection in list(process.connections):
            with suppress(sqlite3.ProgrammingError):  # it is closed
                sqlite3.Connection.rollback(connection)
            sqlite3.Connection.close(connection)
        for connected in process.backends.values():
            connected.close()
        if process.backends:
            self.end_backends(set(process.backends))
        for file in list(process.files):
            io.FileIO.close(file)
            process.descriptors.discard(file.number)
        with self.running(process):
            self._burying, hook = True, sys.unraisablehook
            sys.unraisablehook = lambda unraisable: None  # of what the dead process would still have done
            try:
                gc.collect()
            finally:
                self._burying, sys.unraisablehook = False, hook
        for descriptor in process.descriptors:
            _real["close"](descriptor)
        process.descriptors.clear()

    def step(self, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        """A call of the present process, before it is made."""
        process = self.process
        if process is None:
            return
        if process.dead:
            raise Died
        self.calls += 1
        self.before((name, args, options))
        if process.dead:
            raise Died

    # -- the times of files ------------------------------------------------------------------------------------

    def touched(self, inode: int, *, modified: bool) -> None:
        """Note that the file was changed now."""
        self._changed[inode] = self.time()
        if modified:
            self._modified[inode] = self._changed[inode]

    def time(self) -> int:
        """Return the time in nanoseconds, another one at each call."""
        self._count += 1
        return self._wall() + self._count

    def _after(self, call: Call, result: Any) -> None:
        name, args, options = call
        match name:
            case "open" if args[1] & (os.O_CREAT | os.O_TRUNC):
                found = _real["fstat"](result)
                if args[1] & os.O_EXCL or not found.st_size:
                    self.touched(found.st_ino, modified=True)
            case "write" | "copy_file_range":
                self.touched(_real["fstat"](args[name != "write"]).st_ino, modified=True)
            case "rename" | "replace":
                self._touch_name(args[1], options.get("dst_dir_fd"))
            case "utime":
                self._touch_name(args[0], options.get("dir_fd"), modified=None)

    def _touch_name(self, name: Any, folder: int | None, modified: bool | None = False) -> None:
        inode = _real["stat"](name, dir_fd=folder, follow_symlinks=False).st_ino
        self.touched(inode, modified=False)
        if modified is None:
            self._modified.pop(inode, None)

    # -- functions -----------------------------------------------------------------------------------------------

    def wrapped(self, name: str) -> Callable[..., Any]:
        """Return the function of ``os`` as simulated processes see it."""
        real = _real[name]

        def call(*args: Any, **options: Any) -> Any:
            self.step(name, args, options)
            result = real(*args, **options)
            self._after((name, args, options), result)
            if name == "dup" and self.process is not None:
                self.process.descriptors.add(result)
            if name in ("stat", "lstat", "fstat"):
                return _Stat(result, self._modified, self._changed)
            if name == "listdir":  # a file system may give them in any order
                return sorted(result, key=lambda entry: zlib.crc32(os.fsencode(entry) + self._salt))
            return result

        return call

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        self.step("open", (path, flags), {"dir_fd": dir_fd})
        descriptor: int = _real["open"](path, flags, mode, dir_fd=dir_fd)
        self._after(("open", (path, flags), {}), descriptor)
        if self.process is not None:
            self.process.descriptors.add(descriptor)
        return descriptor

    def close(self, descriptor: int) -> None:
        """``os.close``, which never fails, also in a process that is dying."""
        process = self.process
        if process is not None:
            if descriptor not in process.descriptors:
                if self._burying:
                    return
                raise OSError(errno.EBADF, f"{process.name} has no descriptor {descriptor}")
            process.descriptors.discard(descriptor)
        _real["close"](descriptor)

    def open_file(self, file: Any, mode: str = "r", buffering: int = -1, *args: Any, **options: Any) -> Any:
        if self.process is None:
            return _real["io.open"](file, mode, buffering, *args, **options)
        text = dict(zip(("encoding", "errors", "newline", "closefd", "opener"), args, strict=False)) | options
        raw = LayerFile(
            self,
            file,
            mode.replace("b", "").replace("t", ""),
            text.pop("closefd", True),
            text.pop("opener", None),
        )
        if buffering == 0:
            return raw
        kind: Any = (
            io.BufferedRandom if "+" in mode else io.BufferedReader if "r" in mode else io.BufferedWriter
        )
        buffer = kind(raw, buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE)
        return buffer if "b" in mode else io.TextIOWrapper(buffer, **text)

    def rename_without_replacing(
        self, source: int, name: bytes, target: int, wanted: bytes, flags: int
    ) -> int:
        """``renameat2`` of the C library."""
        try:
            self.step("rename", (name, wanted), {"src_dir_fd": source, "dst_dir_fd": target})
        except OSError as error:
            ctypes.set_errno(error.errno or errno.EIO)
            return -1
        result: int = _real["renameat2"](source, name, target, wanted, flags)
        if result == 0:
            self._touch_name(wanted, target)
        return result

    def connect(self, database: Any, *args: Any, **options: Any) -> sqlite3.Connection:
        if self.process is None:
            plain: sqlite3.Connection = _real["connect"](database, *args, **options)
            return plain
        self.step("sql connect", (os.fspath(database),), {})
        connection: LayerConnection = _real["connect"](database, *args, factory=LayerConnection, **options)
        connection.belong(self, self.process)
        return connection

    def connect_server(self, *args: Any, **options: Any) -> Any:
        if self.process is None:
            return _real["psycopg"](*args, **options)
        self.step("sql connect", (), {"server": True})
        connection = _real["psycopg"](*args, **{**options, "cursor_factory": ServerCursor})
        connection.layer, connection.process = self, self.process
        self.process.backends[connection.info.backend_pid] = connection
        return connection

    def token(self, size: int) -> str:
        return self._random.randbytes(size).hex()

    def now(self) -> float:
        return _real["time"]() if self.process is None else self._wall() / 1e9


class LayerFile(io.FileIO):
    """An open file of a simulated process."""

    def __init__(
        self, layer: Layer, file: Any, mode: str, closefd: bool, opener: Callable[[str, int], int] | None
    ) -> None:
        self._layer, self._process = layer, layer.process
        super().__init__(file, mode, closefd, None if isinstance(file, int) else opener or layer.open)
        self.number = self.fileno()
        assert self._process is not None
        self._process.files.add(self)

    def readinto(self, buffer: Any, /) -> int:
        self._layer.step("read", (self.number,), {})
        return super().readinto(buffer)

    def read(self, size: int | None = -1, /) -> bytes:
        self._layer.step("read", (self.number,), {})
        return super().read(-1 if size is None else size)

    def readall(self) -> bytes:
        self._layer.step("read", (self.number,), {})
        return super().readall()

    def write(self, data: Any, /) -> int:
        view = memoryview(data)
        try:
            self._layer.step("write", (self.number, view), {})
        finally:
            self._layer.touched(_real["fstat"](self.number).st_ino, modified=True)
        return super().write(view)

    def close(self) -> None:
        if not self.closed:
            super().close()
            if self._process is not None:
                self._process.descriptors.discard(self.number)


class LayerConnection(sqlite3.Connection):
    """A connection of a simulated process."""

    def belong(self, layer: Layer, process: Process) -> None:
        self._layer, self._process = layer, process
        process.connections.add(self)

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if self._process.dead:
            raise Died
        verb = sql.lstrip()[:16].upper()
        if verb.startswith("COMMIT"):
            self._call("sql commit")
        elif verb.startswith("BEGIN"):
            self._call("sql begin" if "IMMEDIATE" in verb else "sql read")
        elif verb.startswith(_WRITES):
            self._call("sql write")
        cursor = super().execute(sql, parameters)
        self._process.writing = self.in_transaction and (
            verb.startswith("BEGIN IMM") or self._process.writing
        )
        return cursor

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        self._call("sql write")
        return super().executemany(sql, parameters)

    def _call(self, name: str) -> None:
        try:
            self._layer.step(name, (), {})
        except sqlite3.Error:
            if self._layer.calls % 2:  # SQLite ends the transaction by itself after some errors
                self.rollback()
            raise


class ServerCursor(psycopg.RawCursor[Any]):
    """A cursor of a simulated process on a connection to a PostgreSQL server."""

    def execute(self, query: Any, *args: Any, **options: Any) -> Any:
        if query.endswith("COMMIT"):
            self._call("sql commit")
        elif query.startswith("BEGIN"):
            self._call("sql read" if "READ ONLY" in query else "sql begin")
        elif query.startswith(_WRITES):
            self._call("sql write")
        elif self._process.dead:
            raise Died
        found = super().execute(query, *args, **options)
        if query.endswith("COMMIT") or query.startswith(("BEGIN", "ROLLBACK")):
            self._process.writing = query.startswith("BEGIN") and "READ ONLY" not in query
        return found

    def executemany(self, *args: Any, **options: Any) -> None:
        self._call("sql write")
        super().executemany(*args, **options)

    @property
    def _process(self) -> Process:
        process: Process = self.connection.process  # type: ignore[attr-defined]
        return process

    def _call(self, name: str) -> None:
        if self._process.dead:
            raise Died
        self.connection.layer.step(name, (), {"server": True})  # type: ignore[attr-defined]


class _Stat:
    """What ``os.stat`` returns, with the times of the simulated clock."""

    def __init__(self, real: os.stat_result, modified: dict[int, int], changed: dict[int, int]) -> None:
        self._real = real
        self.st_mtime_ns = modified.get(real.st_ino, real.st_mtime_ns)
        self.st_ctime_ns = changed.get(real.st_ino, real.st_ctime_ns)
        self.st_mtime, self.st_ctime = self.st_mtime_ns / 1e9, self.st_ctime_ns / 1e9

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


_real: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in (*_STEPS, "open", "close")}
_real |= {"io.open": io.open, "connect": sqlite3.connect, "time": time.time, "token_hex": secrets.token_hex}
_real |= {"psycopg": psycopg.connect}


@contextmanager
def installed(layer: Layer) -> Iterator[None]:
    """In the block the layer is between this thread and the system; automatic garbage collection is off, since what it
    finds may be closed."""
    thread = threading.get_ident()

    def here(function: Callable[..., Any], real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            return (function if threading.get_ident() == thread else real)(*args, **options)

        return call

    patched: list[tuple[Any, str, Callable[..., Any]]] = [(os, name, layer.wrapped(name)) for name in _STEPS]
    patched += [
        (os, "open", layer.open),
        (os, "close", layer.close),
        (io, "open", layer.open_file),
        (builtins, "open", layer.open_file),
        (sqlite3, "connect", layer.connect),
        (psycopg, "connect", layer.connect_server),
        (time, "time", layer.now),
        (secrets, "token_hex", layer.token),
    ]
    for module in [
        m for name, m in sys.modules.items() if name.startswith("syncd.") and hasattr(m, "_renameat2")
    ]:
        _real["renameat2"] = module._renameat2
        patched.append((module, "_renameat2", layer.rename_without_replacing))
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in patched]
    collecting = gc.isenabled()
    gc.disable()
    gc.freeze()  # only what a simulated process leaves has to be looked through
    try:
        for owner, name, function in patched:
            setattr(owner, name, here(function, getattr(owner, name)))
        yield
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)
        gc.unfreeze()
        if collecting:
            gc.enable()
