"""The sample files of the presets, read and mapped as a run does it."""

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from syncd.domain import Catalogue, FeedLimits, Moment, Status, check_body
from syncd.domain.job_fields import check_job
from syncd.domain.lifecycle import new_job
from syncd.errors import Invalid
from syncd.feeds.configuration import FeedDefaults, parse_feed
from syncd.feeds.readers import open_reader

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "mapping" / "presets" / "golden"
CATALOGUE = Catalogue.default()
NOW = Moment(datetime(2026, 11, 21, tzinfo=UTC), date(2026, 11, 21))


@dataclass(frozen=True)
class Sample:
    """The sample file of one preset. ``extra``: TOML that a feed's own file adds to the preset."""

    preset: str
    extra: str = ""

    @property
    def path(self):
        (found,) = (ROOT / "feeds" / "samples").glob(f"{self.preset}.*")
        return found

    def feed(self):
        return parse_feed(
            "f", f'employer = "A"\npreset = "{self.preset}"\n{self.extra}', CATALOGUE, FeedDefaults()
        )

    def records(self):
        return open_reader(self.path, self.feed().read, FeedLimits())

    def outcome(self):
        """Return the bodies of new jobs, the rejected records and the warnings, as plain data."""
        mapping = self.feed().mapping
        out: dict[str, list[object]] = {"jobs": [], "rejected": [], "warnings": []}
        for record in self.records():
            row = mapping.row(record)
            problems = [*row.problems, *refused(row.body, bool(row.problems))]
            if problems:
                listed = [[p.pointer, p.code, p.detail] for p in problems]
                out["rejected"].append(
                    {"record": record.number, "referenceId": row.reference_id, "problems": listed}
                )
            else:
                out["jobs"].append(plain(row.body))
            out["warnings"] += [[record.number, code, detail] for code, detail in row.warnings]
        return out


def refused(body, already):
    """Return the problems that the API's rules find in the body of a new, active job. ``already``: the mapping has found
    problems, so the job as a whole is not validated."""
    try:
        sent = check_body(body, CATALOGUE, reference_required=True)
    except Invalid as invalid:
        return invalid.problems
    fields = {"status": Status.ACTIVE, **sent.fields}
    return [] if already else check_job(new_job(fields, NOW, 1), {}, None)


def plain(value):
    """Return the value with amounts as JSON numbers, the rest unchanged."""
    return json.loads(json.dumps(value, default=lambda n: int(n) if n == int(n) else float(n)))


@pytest.fixture
def sample():
    """``sample("indeed")``: the sample of a preset."""
    return Sample


@pytest.fixture
def golden():
    """``golden("indeed")``: the reviewed outcome of a sample: {"with": extra TOML, "jobs", "rejected", "warnings"}."""

    def load(preset):
        return json.loads((GOLDEN / f"{preset}.json").read_text(encoding="utf-8"))

    return load
