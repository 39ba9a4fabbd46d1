"""A field that is added by the steps of docs/architecture.md "How to add a field" appears everywhere.

The tests add a text field and a whole number to a copy of the package, and use the daemon and the commands of that
copy. They read as a client, a feed and an operator do."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from syncd.store import schema
from tests.e2e.conftest import BASE, EMPLOYER, HEADER, Daemon, Installation, Result, row, wait_until

NEW = ("workplace", "openings")
JOB = {"title": "Welder", "locations": [{"description": "Toronto, ON"}], "categories": [{"id": 1}]}
#: The feed ``mapped`` has other names for everything.
MAPPED = f"""
employer = "{EMPLOYER}"
[fields]
referenceId = "Ref"
title = "Name"
locations = "City"
categories = {{ value = "General Labour" }}
status = {{ value = "draft" }}
workplace = {{ from = "Where", too_long = "truncate" }}
openings = "Wanted"
"""


PACKAGE = Path(__file__).parents[1] / "syncd"
MIGRATIONS = "store/migrations.py"
#: The text of the new migration.
MIGRATION = '''

@_to("{number}")
def _new_fields(op: Operations) -> None:
    """The fields workplace and openings."""
    op.execute("ALTER TABLE job ADD COLUMN workplace VARCHAR")
    op.execute("ALTER TABLE job ADD COLUMN openings INTEGER")
'''
#: (file of the package, text in it, the addition before that text): a text field and a whole number.
ADDITIONS = (
    (
        "domain/job_fields.py",
        ")\n#: The members of a salary",
        """\
    JobField("workplace", "workplace", _K.TEXT, "On site, remote or both.", nullable=True, most=20),
    JobField("openings", "openings", _K.NUMBER, "How many people are wanted.", nullable=True, least=1, most=999),
""",
    ),
    ("domain/job_fields.py", ")\n#: The two addresses", '    "workplace",\n'),  # lists show one of the two
    (
        "domain/job.py",
        "\n\nclass JobInput(",
        "    workplace: str | None = None\n    openings: int | None = None\n",
    ),
    (
        "store/model/tables.py",
        "\n\nclass JobTotal(",
        "    workplace: str | None = Field(default=None, max_length=20)\n    openings: int | None = None\n",
    ),
)


def copy_with_fields(folder: Path) -> dict[str, str]:
    """Copy the package into ``folder``, add the fields, and return the environment of programs that import the copy."""
    copy = shutil.copytree(PACKAGE, folder / "syncd", ignore=shutil.ignore_patterns("__pycache__"))
    for name, after, new in ADDITIONS:
        text = (copy / name).read_text(encoding="utf-8")
        assert text.count(after) == 1, f"{name} does not have {after!r} once"
        (copy / name).write_text(text.replace(after, new + after), encoding="utf-8")
    with (copy / MIGRATIONS).open("a", encoding="utf-8") as file:
        file.write(MIGRATION.format(number=f"{int(schema.HEAD) + 1:04}"))
    outside = {key: value for key, value in os.environ.items() if not key.startswith(("SYNCD_", "NOTIFY_"))}
    return {**outside, "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}


class Program:
    """The daemon of the copy, and its command line."""

    def __init__(self, folder, environ):
        self._environ = environ
        self.installation = Installation(folder, self._command)
        self.installation.feed("mapped", MAPPED)
        self._key = self.installation.employer_with_key()
        self.daemon = Daemon(self.installation, environ, real=True)
        self.daemon.wait_for("READY=1")

    def _command(self, *arguments):
        done = subprocess.run(
            [sys.executable, "-m", "syncd", *arguments],
            env=self._environ,
            capture_output=True,
            text=True,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    def request(self, method, path, body=None):
        """Return the status and the JSON of an answer. (The request of Daemon compares it with the unchanged document.)"""
        request = urllib.request.Request(
            f"http://{self.daemon.address()}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"API-Key": self._key, "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as answer:
            return answer.code, json.load(answer)

    def jobs(self, *references):
        """Return the new fields of the whole jobs with these references."""
        listed = self.request("GET", f"{BASE}/jobs?pageSize=100")[1]["data"]
        ids = {job["referenceId"]: job["id"] for job in listed}
        found = [self.request("GET", f"{BASE}/jobs/{ids[reference]}")[1] for reference in references]
        return [tuple(job[name] for name in NEW) for job in found]

    def deliver(self, name, text, feed="acme"):
        """Put a file into the drop folder and return the report of its run."""
        folder = self.installation.drop_folder / feed
        (folder / f".{name}.tmp").write_text(text, encoding="utf-8")
        (folder / f".{name}.tmp").rename(folder / name)
        (report,) = wait_until(lambda: [*folder.glob(f"*/*-{name}.report.json")], "the run")
        return json.loads(report.read_text(encoding="utf-8"))

    def history(self, reference):
        """Return the new fields in each entry of the history, the newest first: (name, before, after)."""
        (job,) = self.request("GET", f"{BASE}/jobs?q={reference}")[1]["data"]
        entries = self.installation.run("jobs", "show", str(job["id"]), "--json").json["history"]
        return [
            [(change["field"], change["before"], change["after"]) for change in entry["changes"]]
            for entry in entries
        ]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    environ = copy_with_fields(tmp_path_factory.mktemp("package"))
    program = Program(tmp_path_factory.mktemp("installation"), environ)
    yield program
    program.daemon.close()


def delivered(extra):
    """Return a native CSV of three jobs, whose new fields are ``extra``."""
    out = io.StringIO(newline="")
    jobs = [[*row(f"F-{number}"), *cells] for number, cells in enumerate(extra, 1)]
    csv.writer(out).writerows([[*HEADER, *NEW], *jobs])
    return out.getvalue()


def test_the_api_takes_stores_and_answers_the_fields(program):
    status, made = program.request(
        "POST", f"{BASE}/jobs", {**JOB, "referenceId": "A-1", "workplace": "on site", "openings": 3}
    )
    assert (status, made["workplace"], made["openings"]) == (201, "on site", 3)
    assert program.request("GET", f"{BASE}/jobs/{made['id']}") == (200, made)
    status, put = program.request(
        "PUT", f"{BASE}/jobs", {"referenceId": "A-1", "workplace": None, "openings": 4}
    )
    assert (status, put) == (200, {**made, "workplace": None, "openings": 4})
    assert program.request("GET", f"{BASE}/jobs/{made['id']}") == (200, put)
    status, put = program.request("PUT", f"{BASE}/jobs/{made['id']}", {"title": "Rigger"})
    assert (status, put["workplace"], put["openings"]) == (200, None, 4)


def test_lists_have_the_field_that_is_among_their_members_and_no_other(program):
    program.request(
        "POST", f"{BASE}/jobs", {**JOB, "referenceId": "A-3", "workplace": "remote", "openings": 2}
    )
    (job,) = program.request("GET", f"{BASE}/jobs?q=A-3")[1]["data"]
    assert job["workplace"] == "remote"
    assert "openings" not in job


def test_the_history_has_each_change_of_the_fields(program):
    for fields in (
        {"workplace": "remote", "openings": 1},
        {"workplace": "both", "openings": 1},
        {"openings": None},
    ):
        program.request("PUT", f"{BASE}/jobs", {**JOB, "referenceId": "A-4", **fields})
    changed, first, created = program.history("A-4")
    assert changed == [("openings", 1, None)]
    assert first == [("workplace", "remote", "both")]
    assert [change for change in created if change[0] in NEW] == [
        ("workplace", None, "remote"),
        ("openings", None, 1),
    ]


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("workplace", 5, "wrong_type"),
        ("workplace", "x" * 21, "too_long"),
        ("openings", "3", "wrong_type"),
        ("openings", 2.5, "wrong_type"),
        ("openings", 0, "out_of_range"),
        ("openings", 1000, "out_of_range"),
    ],
)
def test_a_value_that_does_not_fit_is_a_problem_of_the_field(program, name, value, code):
    for method in ("POST", "PUT"):
        body = {**JOB, "referenceId": "A-5", name: value}
        status, problem = program.request(method, f"{BASE}/jobs", body)
        assert status == 422
        assert [(error["pointer"], error["code"]) for error in problem["errors"]] == [(f"/{name}", code)]


def test_the_document_describes_the_fields(program):
    schemas = program.request("GET", f"{BASE}/openapi.json")[1]["components"]["schemas"]
    number = {"type": ["integer", "null"], "format": "int32", "minimum": 1, "maximum": 999}
    for name in ("JobCreate", "JobUpdate", "JobPut", "Job"):
        found = schemas[name]["properties"]
        assert found["workplace"]["description"].startswith("On site, remote or both.")
        assert found["openings"] == {**number, "description": "How many people are wanted."}
    assert schemas["Job"]["properties"]["workplace"]["maxLength"] == 20
    assert {*NEW} <= {*schemas["Job"]["required"]}
    assert "workplace" in schemas["JobHeader"]["properties"]
    assert "openings" not in schemas["JobHeader"]["properties"]


def test_a_feed_of_each_native_format_sets_and_changes_the_fields(program):
    references = ("F-1", "F-2", "F-3")
    report = program.deliver("one.csv", delivered([("on site", "3"), ("", ""), ("remote", "999")]))
    assert report["counts"]["created"] == 3
    assert program.jobs(*references) == [("on site", 3), (None, None), ("remote", 999)]

    jobs = [
        f"<job><referenceId>{reference}</referenceId><workplace>both</workplace><openings>{number}</openings></job>"
        for number, reference in enumerate(references, 7)
    ]
    report = program.deliver("two.xml", f"<jobs>{''.join(jobs)}</jobs>")
    assert [change["fields"] for change in report["changes"]] == [["openings", "workplace"]] * 3
    assert program.jobs(*references) == [("both", 7), ("both", 8), ("both", 9)]

    items = [{"referenceId": reference, "workplace": None, "openings": 5} for reference in references]
    report = program.deliver("three.json", json.dumps(items))
    assert report["counts"]["updated"] == 3
    assert program.jobs(*references) == [(None, 5)] * 3
    assert program.history("F-1")[:2] == [
        [("workplace", "both", None), ("openings", 7, 5)],
        [("workplace", "on site", "both"), ("openings", 3, 7)],
    ]


def test_a_mapping_sets_the_fields_and_a_plan_shows_their_changes(program):
    def file(*lines):
        return "".join(f"{line}\n" for line in ("Ref,Name,City,Where,Wanted", *lines))

    report = program.deliver(
        "m1.csv",
        file("M-1,Cook,Toronto,on site,2", f"M-2,Cook,Toronto,{'far ' * 9},", "M-3,Cook,Toronto,,a few"),
        "mapped",
    )
    assert report["counts"]["created"] == 2
    assert program.jobs("M-1", "M-2") == [("on site", 2), ("far far far far far…", None)]
    (rejected,) = report["rejectedRows"]
    assert [(error["pointer"], error["code"]) for error in rejected["errors"]] == [
        ("/openings", "wrong_type")
    ]

    path = program.installation.base / "m2.csv"
    path.write_text(file("M-1,Cook,Toronto,remote,", "M-2,Cook,Toronto,,3"), encoding="utf-8")
    planned = program.installation.run("plan", str(path), "--feed", "mapped")
    assert planned.code == 0, planned.err
    changes = [line.strip() for line in planned.out.splitlines() if line.startswith("    ") and " → " in line]
    assert changes == [
        "workplace: on site → remote",
        "openings: 2 → none",
        "workplace: far far far far far… → none",
        "openings: none → 3",
    ]


def test_the_recipe_names_the_files_in_order():
    text = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    recipe = text.partition("## How to add a field\n")[2].partition("\n## ")[0]
    files = [f"`syncd/{name}`" for name in dict.fromkeys((*(name for name, *_ in ADDITIONS), MIGRATIONS))]
    places = [recipe.find(file) for file in (*files, "`tests/test_new_field.py`")]
    assert -1 not in places
    assert places == sorted(places)
