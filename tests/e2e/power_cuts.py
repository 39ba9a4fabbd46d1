"""Power cuts while a daemon takes PUTs and files: what was acknowledged before a cut is there after it, and the daemon goes on.

``strace`` writes down what the daemon asks of the disk, in order: each write to the store with its bytes, each rename, and when
each flush began and returned. It writes down the answers to clients as well, and the lines of the log, so it is known what was
acknowledged before each moment. A disk after a power cut at a moment of this list is then made from the state before the start:

- The writes to a file that were done before a flush of this file began that had returned are there.
- Of each later write there is all, nothing, or some of its sectors of 512 bytes, at random and in any combination.
- New files, renames and removed files are there up to the last flush of anything that had returned, and from there on up to
  one at random: file systems with a journal (ext4, XFS, btrfs) keep their order.

The cuts are at random moments: near flushes of the store, near answers, and near any write to the store. For each, SQLite
checks the store; all PUTs that were answered and all runs that were reported must be in it. Then a daemon is started on the
copy, and must take all files to their ends.

A cut is not made in the middle of the daemon's start, and what the disk itself does wrong is not simulated. The files that
partners send are on the disk before the start."""

from __future__ import annotations

import http.client
import json
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

from syncd.domain import RunState
from syncd.store import Store, employers, jobs, runs
from tests.e2e.conftest import BASE, EMPLOYER, Daemon, Installation, Result, clean_environ, row, wait_until

#: Cuts of one daemon's life, clients, files of the feed that runs all of them, and rows in each file.
CUTS, CLIENTS, FILES, ROWS = 25, 3, 12, 120
SECTOR = 512
#: The lines of the list between what a cut is near to and the cut.
NEAR = -6, 6
_CALLS = (
    "pwrite64,write,fsync,fdatasync,ftruncate,openat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,"
    "link,linkat,sendto,sendmsg"
)
_STRACE = ["strace", "-f", "-qq", "-y", "-xx", "-s", "1000000", "--seccomp-bpf", "-e", "signal=none"]
_CALL = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+).*")
_BEGUN = re.compile(r"(\d+) +(\w+)\((.*) <unfinished \.\.\.>")
_ENDED = re.compile(r"(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (-?\d+).*")
_ARGUMENT = re.compile(r'(?:AT_FDCWD|-?\d+)<([^>]*)>|"([^"]*)"|([^,\s]+)')
_JOB = {"locations": [{"description": "Halifax, NS"}], "categories": [{"id": 1}], "description": "<p>x</p>"}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the system. ``begun`` and ``ended``: its place among all that happened."""

    name: str
    arguments: tuple[bytes, ...]
    begun: int
    ended: int

    @property
    def path(self) -> str:
        """The file that a call on a descriptor concerns."""
        return self.arguments[0].decode()

    @property
    def names(self) -> list[str]:
        """The files that a call on names concerns."""
        texts = [argument.decode(errors="surrogateescape") for argument in self.arguments]
        pairs = zip(texts[::2], texts[1::2], strict=False)
        return (
            [str(Path(folder, name)) for folder, name in pairs]
            if self.name.endswith(("at", "at2"))
            else texts
        )


def calls_of(trace: Path) -> list[Call]:
    """Return what was called with success, by when it ended."""
    found, begun = [], {}
    for number, line in enumerate(trace.read_text().splitlines()):
        if (match := _BEGUN.match(line)) is not None:
            begun[match[1]] = number, match[3]
        elif (match := _ENDED.match(line)) is not None:
            start, arguments = begun.pop(match[1], (number, ""))
            if int(match[4]) >= 0:
                found.append(Call(match[2], _arguments(arguments + match[3]), start, number))
        elif (match := _CALL.match(line)) is not None and int(match[4]) >= 0:
            found.append(Call(match[2], _arguments(match[3]), number, number))
    return found


def _arguments(text: str) -> tuple[bytes, ...]:
    found = []
    for match in _ARGUMENT.finditer(text):
        value = next(group for group in match.groups() if group is not None)
        found.append(bytes.fromhex(value.replace("\\x", "")) if match[3] is None else value.encode())
    return tuple(found)


# -- what happened -----------------------------------------------------------------------------------------------------


@dataclass
class Acknowledged:
    """What was acknowledged before a moment: the number in the title of each job by its referenceId, and the states of runs."""

    titles: dict[str, int] = field(default_factory=dict)
    runs: dict[int, str] = field(default_factory=dict)

    @classmethod
    def before(cls, moment: int, calls: list[Call]) -> Acknowledged:
        found = cls()
        for call in calls:
            if call.begun < moment and call.name in ("write", "sendto", "sendmsg"):
                found._take(call.arguments)
        return found

    def _take(self, arguments: tuple[bytes, ...]) -> None:
        for data in arguments[1:]:
            if data.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")) and b'"referenceId"' in data:
                job = json.loads(data.partition(b"\r\n\r\n")[2])
                self.titles[job["referenceId"]] = int(job["title"].split()[1])
            for line in data.splitlines() if b'"feed.reconciled"' in data else ():
                with suppress(ValueError):
                    event = json.loads(line)
                    if event.get("event") == "feed.reconciled":
                        self.runs[event["run"]] = event["state"]


class Client(threading.Thread):
    """Puts jobs of its own again and again, each time with a higher number in the title. ``sent``: the last number by job."""

    def __init__(self, number: int, address: str, key: str, stop: threading.Event) -> None:
        super().__init__()
        self.sent: dict[str, int] = {}
        self._number, self._address, self._key, self._stop_asked = number, address, key, stop

    def run(self) -> None:
        headers = {"API-Key": self._key, "Content-Type": "application/json"}
        with closing(http.client.HTTPConnection(self._address, timeout=60)) as connection:
            for count in range(1, 100_000):
                if self._stop_asked.is_set():
                    return
                reference = f"P-{self._number}-{count % 7}"
                self.sent[reference] = count
                body = json.dumps({**_JOB, "referenceId": reference, "title": f"Title {count}"})
                connection.request("PUT", f"{BASE}/jobs", body, headers)
                answer = connection.getresponse()
                answer.read()
                assert answer.status in (200, 201)


def command(*arguments: object) -> Result:
    """Run a command of syncd."""
    done = subprocess.run(
        [sys.executable, "-m", "syncd", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=clean_environ(),
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def _content(version: int) -> str:
    rows = [row(f"F-{n}", f"Job {n}", f"<p>Version {version} of the job.</p>") for n in range(ROWS)]
    text: str = Installation.csv_text(rows)
    return text


def _installed(base: Path) -> tuple[Installation, str]:
    """Make an installation with files for two feeds, of which one runs all; return it with an API key."""
    base.mkdir()
    installation = Installation(base, command)
    key = installation.employer_with_key()
    # Requests are answered by the time the first file is taken.
    late = f'employer = "{EMPLOYER}"\nsettle = "2s"\n'
    installation.feed("acme", late)
    installation.feed("all", f'{late}mode = "delta"\n')
    for name, count in (("all", FILES), ("acme", 3)):
        (folder := installation.drop_folder / name).mkdir(parents=True)
        for number in range(count):
            text = _content(number)
            (folder / f"{number:02}.csv").write_text(text if name == "all" else text.replace("F-", "S-"))
    return installation, key


def _traced(installation: Installation, key: str) -> tuple[list[Call], dict[str, int]]:
    """Let a daemon work until all files are done, and kill it. Return what it did, and what the clients sent last."""
    trace, stop = installation.base.parent / "trace", threading.Event()
    daemon = Daemon(installation, wrapper=[*_STRACE, "-e", f"trace={_CALLS}", "-o", str(trace)])
    try:
        daemon.wait_for("READY=1")
        clients = [Client(number, daemon.address(), key, stop) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        wait_until(lambda: _is_done(installation.drop_folder), "the end of all files")
        stop.set()
        for client in clients:
            client.join()
        [child] = Path(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children").read_text().split()
        subprocess.run(["kill", "-KILL", child], check=True)
        daemon.process.wait(60)
    finally:
        stop.set()
        daemon.close()
    return calls_of(trace), {ref: number for client in clients for ref, number in client.sent.items()}


def _is_done(drop: Path) -> bool:
    return all(_filed(drop / name) == count for name, count in (("all", FILES), ("acme", 3)))


def _filed(folder: Path) -> int:
    return len(list((folder / "done").glob("*.csv")))


# -- the disk after a cut -----------------------------------------------------------------------------------------------


class Disk:
    """The disk as it may be after a cut at ``moment``, made in ``copy`` from the state ``before`` all calls."""

    def __init__(self, before: Path, base: Path, copy: Path, moment: int, chance: random.Random) -> None:
        self._base, self._copy, self._moment, self._chance = base, copy, moment, chance
        shutil.copytree(before, copy)
        self.lost = 0

    def make(self, calls: list[Call]) -> None:
        flushes = [c for c in calls if c.name in ("fsync", "fdatasync") and c.ended < self._moment]
        flushed: dict[str, int] = {}
        for call in flushes:  # two threads may flush a file at once
            flushed[call.path] = max(call.begun, flushed.get(call.path, -1))
        changes = [call for call in calls if call.begun < self._moment and self._place(call) is not None]
        # What concerns names is in order: sure up to the last flush, and from there on up to any of the others.
        sure = max((call.begun for call in flushes), default=-1)
        named = [call.ended for call in changes if call.name not in ("pwrite64", "write", "ftruncate")]
        last = self._chance.choice([sure, *[ended for ended in named if ended > sure]])
        for call in changes:
            if call.name in ("pwrite64", "ftruncate"):
                self._write(call, sure=call.ended < flushed.get(call.path, -1))
            elif call.name != "write" and call.ended <= last:
                self._rename(call)
        for shared in (self._copy / "var").glob("*-shm"):  # it is memory
            shared.unlink()

    def _place(self, call: Call) -> Path | None:
        """Return where the copy has what the call changes; None for what is not part of the installation or not changed."""
        if call.name in ("fsync", "fdatasync", "sendto", "sendmsg"):
            return None
        if call.name == "openat" and b"O_CREAT" not in call.arguments[2]:
            return None
        return self._copied(call.path if call.name in ("pwrite64", "write", "ftruncate") else call.names[0])

    def _copied(self, name: str) -> Path | None:
        path = Path(name)
        return self._copy / path.relative_to(self._base) if path.is_relative_to(self._base) else None

    def _write(self, call: Call, *, sure: bool) -> None:
        place = self._copied(call.path)
        if place is None or not place.exists():
            return
        with place.open("r+b") as file:
            if call.name == "ftruncate":
                if sure or self._chance.random() < 0.5:
                    file.truncate(int(call.arguments[1]))
                return
            data, offset = call.arguments[1], int(call.arguments[3])
            for start, part in self._surviving(data, sure=sure):
                file.seek(offset + start)
                file.write(part)

    def _surviving(self, data: bytes, *, sure: bool) -> Iterator[tuple[int, bytes]]:
        """Yield what is left of a write: where it begins, and its bytes."""
        kept = 1.0 if sure else self._chance.choice([0.0, 0.5, 1.0])
        self.lost += kept < 1
        for start in range(0, len(data), SECTOR):
            if kept == 1 or self._chance.random() < kept:
                yield start, data[start : start + SECTOR]

    def _rename(self, call: Call) -> None:
        source, target = [*map(self._copied, call.names), None][:2]
        if source is None:
            return
        with suppress(FileNotFoundError, FileExistsError):
            if call.name.startswith("mkdir"):
                source.mkdir(int(call.arguments[-1], 8))
            elif call.name == "openat":
                source.touch(int(call.arguments[-1], 8))
            elif call.name.startswith("unlink"):
                source.rmdir() if source.is_dir() else source.unlink()
            elif target is not None and call.name.startswith("link"):
                target.hardlink_to(source)
            elif target is not None:
                source.rename(target)


# -- after a cut ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Copy:
    """The installation on the disk after a cut."""

    base: Path

    @property
    def config(self) -> Path:
        return self.base / "config" / "syncd.toml"

    @property
    def drop_folder(self) -> Path:
        return self.base / "feeds" / "drop"


def _versions(base: Path) -> dict[str, int]:
    """Return the version of each job, by its referenceId: the number in the description, or the title if it is a client's."""
    with Store.open(f"sqlite:///{base}/var/syncd.db", timezone=ZoneInfo("America/Toronto")) as store:
        owner = store.read(lambda tx: employers.find(tx, EMPLOYER))
        found = store.read(lambda tx: jobs.after(tx, owner.id, 0, 10_000))
        versions = {}
        for job in found:
            text = job.title if job.title.startswith("Title") else job.description or ""
            versions[job.reference_id or ""] = int(text.split()[1])
        return versions


def check(copy: Copy, known: Acknowledged, sent: dict[str, int]) -> None:
    """Check the store after a cut, and that a daemon takes all files to their ends. Raises AssertionError."""
    look = copy.base.parent / "look"
    shutil.copytree(copy.base / "var", look / "var")
    with closing(sqlite3.connect(look / "var" / "syncd.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    _check_versions(_versions(look), known, sent)
    _check_runs(look, known)
    shutil.rmtree(look)
    daemon = Daemon(copy)
    try:
        daemon.wait_for("READY=1")
        wait_until(lambda: _is_done(copy.drop_folder), "the end of all files after the cut")
        assert daemon.stop() == 0
    finally:
        daemon.close()
    found = _versions(copy.base)
    _check_versions(found, known, sent)
    last = {f"F-{n}": FILES - 1 for n in range(ROWS)} | {f"S-{n}": 2 for n in range(ROWS)}
    other = {ref: number for ref, number in found.items() if not ref.startswith("P-")}
    assert other == last, dict(sorted(other.items() ^ last.items()))
    for folder in copy.drop_folder.iterdir():
        left = [path.name for path in folder.iterdir() if path.is_file()]
        claimed = [path.name for path in (folder / ".claimed").iterdir() if not path.name.startswith(".")]
        failed = list((folder / "failed").iterdir())
        assert (left, claimed, failed) == ([], [], []), (folder.name, left, claimed, failed)


def _check_versions(found: dict[str, int], known: Acknowledged, sent: dict[str, int]) -> None:
    for reference, number in known.titles.items():
        assert number <= found.get(reference, 0) <= sent[reference], (
            f"{reference}: {number} was acknowledged, {sent[reference]} was sent last, {found.get(reference)} is there"
        )


def _check_runs(base: Path, known: Acknowledged) -> None:
    with Store.open(f"sqlite:///{base}/var/syncd.db", timezone=ZoneInfo("America/Toronto")) as store:
        for number, state in known.runs.items():
            found = store.read(lambda tx, number=number: runs.get(tx, number))  # type: ignore[misc]
            assert found.state is RunState(state), (
                f"run {number} was reported as {state}, and is {found.state}"
            )


@dataclass
class Figures:
    """What was seen at all cuts: writes that were lost in part or whole, acknowledged jobs and runs, and cuts in a run."""

    cuts: int = 0
    lost: int = 0
    puts: int = 0
    runs: int = 0
    in_a_run: int = 0

    def __str__(self) -> str:
        return (
            f"{self.cuts} power cuts, {self.in_a_run} of them during a run: {self.lost} unsynced writes lost in part or whole; "
            f"{self.puts} acknowledged jobs and {self.runs} reported runs found again"
        )


def cut(folder: Path, cuts: int, seed: int, figures: Figures) -> None:
    """Make power cuts in one life of a daemon, and check what is left after each. Raises AssertionError."""
    chance = random.Random(f"power cuts {seed}")
    installation, key = _installed(folder / "base")
    before = folder / "before"
    shutil.copytree(installation.base, before)
    calls, sent = _traced(installation, key)
    moments = _moments(calls, installation.base)
    for number in range(cuts):
        moment = chance.choice(chance.choice(moments)) + chance.randint(*NEAR)
        disk = Disk(before, installation.base, folder / "cut" / "base", moment, chance)
        disk.make(calls)
        known = Acknowledged.before(moment, calls)
        try:
            check(Copy(folder / "cut" / "base"), known, sent)
        except AssertionError as error:
            error.add_note(f"cut {number} of seed {seed}, at line {moment} of {folder / 'trace'}")
            raise
        figures.cuts += 1
        figures.lost += disk.lost
        figures.puts += len(known.titles)
        figures.runs += len(known.runs)
        figures.in_a_run += len(known.runs) < FILES + 3
        shutil.rmtree(folder / "cut")


def _moments(calls: list[Call], base: Path) -> list[list[int]]:
    """Return, since the daemon was ready, when the store was flushed, when answers were sent, and when anything was written to
    the store."""
    store = str(base / "var" / "syncd.db")
    ready = next(call.ended for call in calls if _is_ready(call))
    later = [call for call in calls if call.begun > ready]
    flushed = [call.ended for call in later if call.name == "fdatasync" and call.path.startswith(store)]
    answered = [
        call.begun for call in later if any(data.startswith(b"HTTP/1.1 20") for data in call.arguments)
    ]
    written = [call.ended for call in later if call.name == "pwrite64" and call.path.startswith(store)]
    return [flushed, answered, written]


def _is_ready(call: Call) -> bool:
    return call.name == "write" and any(b'"service.ready"' in argument for argument in call.arguments)
