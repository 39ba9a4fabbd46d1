"""docs/deploy/Containerfile, without a container: its instructions one by one, in the files of a machine of its own."""

import json
import re
import shlex
import subprocess

import pytest

from tests.e2e.conftest import wait_until
from tests.e2e.systemd.conftest import PIP, ROOT

pytestmark = pytest.mark.slow
FILE = ROOT / "docs" / "deploy" / "Containerfile"


class Image:
    """What the instructions have made so far: files of the machine, and the state that is beside them."""

    def __init__(self, machine):
        self.machine = machine
        self.env, self.folder, self.user = {}, "/", "root"
        self.command, self.check = [], []

    def follow(self, instruction, rest):
        match instruction:
            case "FROM":
                assert re.match(r"docker.io/library/python:3\.\d+-slim-bookworm\b", rest)
                self.env, self.folder = {}, "/"
            case "WORKDIR":
                self.folder = rest
            case "COPY" if rest.startswith("--from=build "):
                _, source, target = rest.split()
                assert source == target, "it is there"
            case "COPY":
                *sources, target = rest.split()
                into = target if target.startswith("/") else f"{self.folder}/{target}"
                self.machine.shell(f"mkdir -p {into}")
                for source in sources:
                    inside = "/." if (ROOT / source).is_dir() else ""
                    self.machine.shell(f"cp -r /context/{source}{inside} {into}")
            case "RUN":
                self.machine.shell(f"cd {self.folder}\n{rest}", env=PIP)
            case "ENV":
                self.env |= dict(pair.split("=", 1) for pair in shlex.split(rest))
            case "USER":
                self.user = rest
            case "CMD":
                self.command = json.loads(rest)
            case "HEALTHCHECK":
                self.check = json.loads(rest.partition(" CMD ")[2])
            case "VOLUME" | "EXPOSE" | "STOPSIGNAL":
                pass
            case _:
                raise AssertionError(f"{instruction} is new: have it tested")

    def inside(self, *arguments):
        """Return a command with the user, the folder and the environment of the image, and no capability."""
        environ = [
            f"{name}={value}" for name, value in {**self.env, "SYNCD_OPERATOR__TOKEN": "secret"}.items()
        ]
        user = [
            "setpriv",
            f"--reuid={self.user}",
            f"--regid={self.user}",
            "--init-groups",
            "--bounding-set=-all",
        ]
        return [*user, "--inh-caps=-all", "env", "-i", f"--chdir={self.folder}", *environ, *arguments]


@pytest.fixture(scope="module")
def image(machine, wheels):
    machine.send(wheels, [path.name for path in wheels.iterdir()], "/wheels")
    machine.run("mv", "/clone", "/context")  # the folder of the build has only what is copied
    found = Image(machine)
    lines = [line for line in FILE.read_text().splitlines() if line and not line.startswith("#")]
    for line in lines:
        instruction, _, rest = line.partition(" ")
        found.follow(instruction, rest)
    return found


def test_the_image_serves_and_its_health_check_says_so(image):
    assert image.machine.run(*image.inside(*image.check), check=False).returncode != 0
    begin = ["sh", "-c", 'echo $$ > /run/daemon; exec "$@"', "sh", *image.inside(*image.command)]
    daemon = image.machine.start(*begin, stderr=subprocess.PIPE)
    try:
        wait_until(
            lambda: image.machine.run(*image.inside(*image.check), check=False).returncode == 0, "health"
        )
        added = image.machine.run(*image.inside("syncd", "employer", "add", "Acme Ltd."))
        assert added.stderr == ""
        assert image.machine.run(*image.inside("syncd", "reload")).stdout == "0 feeds: none\n"
        found = image.machine.run(
            "curl", "-s", "-H", "Authorization: Bearer secret", "http://127.0.0.1:8081/metrics"
        )
        assert "syncd_jobs" in found.stdout
    finally:
        image.machine.run("kill", image.machine.read("/run/daemon").strip())
        said = daemon.communicate(timeout=60)[1]
    assert json.loads(said.splitlines()[-1])["event"] == "service.stopped"
