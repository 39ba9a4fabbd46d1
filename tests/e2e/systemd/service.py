"""The service syncd on a machine with systemd, as its operator sees it."""

import json
import time

from tests.e2e.conftest import csv_text, row
from tests.e2e.systemd.machine import TIMEOUT, Machine

API = "http://127.0.0.1:8080"
OPERATOR = "http://127.0.0.1:8081"
BASE = "/api/v1.1"
DROP = "/var/lib/syncd/feeds/drop"
EMPLOYER = "Acme Ltd."
FEED = f'employer = "{EMPLOYER}"\nsettle = "100ms"\n'


class Service:
    """The unit syncd.service. The constructor makes the employer Acme Ltd. with a key, and the feed acme."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.run("syncd", "employer", "add", EMPLOYER)
        self.key = self.run("syncd", "key", "create", EMPLOYER).strip()
        self.feed("acme", FEED)
        self.run("systemctl", "reload", "syncd")

    def run(self, *arguments):
        return self.machine.run(*arguments).stdout

    def property_of(self, name, unit="syncd.service"):
        return self.run("systemctl", "show", "-P", name, unit).strip()

    @property
    def pid(self):
        return int(self.property_of("MainPID"))

    def feed(self, name, text):
        self.machine.write(f"/etc/syncd/feeds.d/{name}.toml", text)

    def drop(self, name, content, feed="acme"):
        """Drop a file (a text, or rows) as the guide does, into the feed's folder."""
        folder = f"{DROP}/{feed}"
        self.machine.shell(
            f"install -o syncd -g syncd -m 2770 -d {folder}\n"
            f"install -o syncd -g syncd -m 0640 /dev/stdin {folder}/.{name}.tmp\n"
            f"mv {folder}/.{name}.tmp {folder}/{name}",
            input=content if isinstance(content, str) else csv_text(content),
        )

    def runs(self, feed="acme"):
        return json.loads(self.run("syncd", "runs", "--feed", feed, "--json"))

    def taken(self, name, feed="acme"):
        """Wait for the end of the run of a file; return the run."""

        def ended():
            return next((run for run in self.runs(feed) if run["file"] == name and run["endedAt"]), None)

        return self.until(ended, f"the run of {name}")

    def get(self, url, *options):
        done = self.machine.run("curl", "-s", "-m", "10", "-w", "\n%{http_code}", *options, url, check=False)
        body, _, status = done.stdout.rpartition("\n")
        return int(status), body

    def jobs(self, query="status=active", key=None):
        status, body = self.get(f"{API}{BASE}/jobs?{query}", "-H", f"API-Key: {key or self.key}")
        assert status == 200, body
        return json.loads(body)["data"]

    def ready(self):
        """Return the status of /readyz and its members."""
        status, body = self.get(f"{API}/readyz")
        return status, json.loads(body) if body else {}

    def journal(self, *options):
        """Return the entries of the unit's journal."""
        said = self.run("journalctl", "-u", "syncd", "-o", "json", "--no-pager", *options)
        return [json.loads(line) for line in said.splitlines()]

    def events(self, name, *options):
        """Return the events of one name, without what was logged before the machine's last ``mark``."""
        lines = (entry["MESSAGE"] for entry in self.journal(*options) if isinstance(entry["MESSAGE"], str))
        found = [json.loads(line) for line in lines if line.startswith("{")]
        return [event for event in found if event["event"] == name]

    def mark(self):
        """Return the options of ``journal`` for what is logged from now on."""
        self.run("journalctl", "--sync")
        shown = self.machine.run("journalctl", "-n", "1", "--show-cursor", "-o", "cat").stdout
        return ["--after-cursor", shown.rpartition("-- cursor: ")[2].strip()]

    def drop_in(self, name, *lines):
        """Write a drop-in of the service; it is in force from the next start on."""
        text = "\n".join(["[Service]", *lines, ""])
        self.machine.write(f"/etc/systemd/system/syncd.service.d/{name}.conf", text)
        self.run("systemctl", "daemon-reload")

    def no_drop_in(self, name):
        self.run("rm", "-f", f"/etc/systemd/system/syncd.service.d/{name}.conf")
        self.run("systemctl", "daemon-reload")

    def until(self, condition, what, timeout=TIMEOUT):
        """Wait until ``condition()`` is true; return its value."""
        end = time.monotonic() + timeout
        while not (found := condition()):
            if time.monotonic() > end:
                state = self.machine.run("systemctl", "status", "-n", "40", "syncd", check=False).stdout
                raise AssertionError(f"{what} did not happen:\n{state}")
            time.sleep(0.1)
        return found


def many_rows(count, start=0):
    return [row(f"R-{number}") for number in range(start, start + count)]
