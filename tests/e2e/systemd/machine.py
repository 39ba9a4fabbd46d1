"""A machine of its own that runs a real systemd, for as long as a test module needs it."""

import os
import shutil
import subprocess
import tarfile
import time
from pathlib import Path

#: Seconds; reached only if something hangs: four machines that install at once have taken two minutes of a busy one.
TIMEOUT = 600.0
#: What a machine needs.
PROGRAMS = ("systemctl", "dbus-daemon", "unshare", "nsenter", "ip", "curl", "openssl")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_APART = ["--fork", "--kill-child", "--pid", "--mount", "--cgroup", "--net", "--uts", "--ipc"]


class NoMachine(Exception):
    """The system lets nobody boot a systemd here."""


class Machine:
    """Booted when the constructor returns. Its processes, files and network are apart from those around it (``boot.sh``)."""

    def __init__(self, scratch: Path) -> None:
        """Raises NoMachine."""
        self._scratch = scratch
        self._group = _control_groups() / f"syncd-test-{os.getpid()}-{scratch.name}"
        self._group.mkdir()
        boot = [
            "unshare",
            *_APART,
            "--propagation",
            "private",
            "sh",
            Path(__file__).with_name("boot.sh"),
            scratch,
        ]
        # In a control group of its own before the namespace of control groups is made: that is what systemd sees as the top.
        inside = f'echo $$ > {self._group}/cgroup.procs && exec "$@"'
        self._process = subprocess.Popen(
            ["sh", "-c", inside, "sh", *map(str, boot)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        end = time.monotonic() + 30
        while not self._running():
            if self._process.poll() is not None or time.monotonic() > end:
                said = self.close()
                raise NoMachine(said)
            time.sleep(0.05)

    def _running(self) -> bool:
        if self._first_process("comm") != "systemd":
            return False  # the script still goes on, among the files of this machine
        state = self.run("systemctl", "is-system-running", check=False).stdout.strip()
        return state in ("running", "degraded")

    def _first_process(self, what: str) -> str:
        """Return ``pid`` (out here), or a file of /proc, of the first process in there; "" before there is one."""
        pid = self._process.pid
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            return children[0] if what == "pid" else Path(f"/proc/{children[0]}/{what}").read_text().strip()
        except (OSError, IndexError):
            return ""

    def _enter(self) -> list[str]:
        return ["nsenter", "--target", self._first_process("pid"), "--all", "--"]

    def run(self, *arguments, check=True, env=None, **options):
        """Run a command in there as root; return it when it has ended, its output as text. Raises CalledProcessError with
        ``check``."""
        environ = {"PATH": _PATH, "LANG": "C.UTF-8", "HOME": "/root", **(env or {})}
        command = [*self._enter(), *map(str, arguments)]
        options = {"stdin": subprocess.DEVNULL} | options if "input" not in options else options
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=TIMEOUT, env=environ, **options
        )
        assert done.returncode == 0 or not check, f"{arguments}: {done.stdout}{done.stderr}"
        return done

    def shell(self, lines, check=True, **options):
        return self.run("bash", "-euc", lines, check=check, **options)

    def start(self, *arguments, **options):
        return subprocess.Popen([*self._enter(), *map(str, arguments)], text=True, **options)

    def write(self, path, text, mode="0644"):
        lines = (
            f'mkdir -p "$(dirname {path})"; cat > {path}.new; chmod {mode} {path}.new; mv {path}.new {path}'
        )
        self.shell(lines, input=text)

    def read(self, path):
        return self.run("cat", path).stdout

    def send(self, folder: Path, names, target):
        """Copy files and folders of ``folder`` into a folder in there."""
        self.run("mkdir", "-p", target)
        process = subprocess.Popen(
            [*self._enter(), "tar", "-x", "-C", str(target), "--no-same-owner"], stdin=subprocess.PIPE
        )
        assert process.stdin is not None
        with tarfile.open(fileobj=process.stdin, mode="w|") as archive:
            for name in names:
                archive.add(folder / name, name, filter=_without_caches)
        process.stdin.close()
        assert process.wait(TIMEOUT) == 0

    def close(self) -> str:
        """End everything in there: the kernel does, once its first process is gone. Return what the boot wrote."""
        self._process.kill()
        said = self._process.communicate()[1]
        console = self._scratch / "console"
        end = time.monotonic() + 10
        while not _removed(self._group) and time.monotonic() < end:
            time.sleep(0.02)
        said += console.read_text() if console.exists() else ""
        shutil.rmtree(self._scratch, ignore_errors=True)
        return said.strip()


def _without_caches(member):
    return None if "__pycache__" in member.name else member


def _control_groups() -> Path:
    """Return where the control groups (version 2) are. Raises NoMachine."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == "cgroup2" and "rw" in options.split(","):
            return Path(place)
    raise NoMachine("no control groups (version 2) that can be written")


def _removed(group: Path) -> bool:
    """Remove a control group and those below it; return False while processes that end are in there."""
    try:
        for folder, _, _ in os.walk(group, topdown=False):
            os.rmdir(folder)
    except OSError:
        return False
    return True
