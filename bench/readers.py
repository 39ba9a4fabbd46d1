"""Measure each reader beside the bare parser of its format: a first reading, and a reading with all records known.

    .venv/bin/python bench/readers.py [--rows 10000] [--reps 3] [--memory] [xml csv json jsonl]

``--memory`` instead compares the peak of memory at ``--rows`` (1000000 needs 3 GB of disk for each format) with that at
10,000 rows. Compare figures within one run only. Each measure runs in a child process of its own; the median counts.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import csv
import json
import os
import random
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator

import ijson
from lxml import etree

from syncd.domain import FeedLimits
from syncd.feeds.readers import ReadSpec, open_reader

FIELDS = (
    "title",
    "date",
    "referencenumber",
    "url",
    "city",
    "state",
    "description",
    "salary",
    "jobtype",
    "category",
)
WORDS = [
    "team",
    "safety",
    "équipe",
    "manage",
    "schedule",
    "report",
    "quality",
    "benefits",
    "experience",
    "skills",
    "plan",
    "review",
    "growth",
    "wage",
]


def rows(count: int) -> Iterator[tuple[str, ...]]:
    """Yield postings of about 3 KB, the same in each run."""
    sentences = [" ".join(random.Random(n).choices(WORDS, k=14)).capitalize() + "." for n in range(500)]
    for n in range(count):
        rng = random.Random(n)
        text = "\n".join(f"<p><b>{rng.choice(sentences)}</b> {rng.choice(sentences)}</p>" for _ in range(12))
        pay = f"${rng.randrange(17, 60)}.50 per hour"
        url = f"https://careers.example.com/jobs/{n}?src=feed&c=1"
        yield (
            f"Role {n}",
            "2026-10-01",
            f"REF-{n:08d}",
            url,
            "Montréal",
            "QC",
            text,
            pay,
            "fulltime",
            "Finance",
        )


def write(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8", newline="") as out:
        if path.suffix == ".csv":
            csv.writer(out).writerows([FIELDS, *rows(count)])
            return
        before, after, render = {
            ".xml": ("<source>\n<publisher>P</publisher>\n", "</source>\n", _xml),
            ".json": ("[\n", "\n]\n", _json),
            ".jsonl": ("", "\n", _json),
        }[path.suffix]
        join = ",\n" if path.suffix == ".json" else "\n"
        out.write(before)
        out.writelines(join * (n > 0) + render(row) for n, row in enumerate(rows(count)))
        out.write(after)


def _xml(row: tuple[str, ...]) -> str:
    cells = (f"<{name}><![CDATA[{text}]]></{name}>\n" for name, text in zip(FIELDS, row, strict=True))
    return f"<job>\n{''.join(cells)}</job>"


def _json(row: tuple[str, ...]) -> str:
    return json.dumps(dict(zip(FIELDS, row, strict=True)), ensure_ascii=False)


def bare(path: Path) -> int:
    """Read the file with the usual streaming parser of its format. Return the number of records."""
    count = 0
    if path.suffix == ".xml":
        for _, element in etree.iterparse(str(path), tag="job"):
            count += 1
            element.clear(keep_tail=False)
            while element.getprevious() is not None:
                del element.getparent()[0]
    elif path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="", buffering=1 << 20) as stream:
            count = sum(1 for _ in csv.reader(stream)) - 1
    elif path.suffix == ".json":
        with path.open("rb") as stream:
            count = sum(1 for _ in ijson.items(stream, "item", buf_size=1 << 18))
    else:
        with path.open("rb") as stream:
            count = sum(1 for line in stream if json.loads(line))
    return count


def first(path: Path) -> int:
    return sum(1 for _ in open_reader(path, ReadSpec(), FeedLimits()))


def again(digests: frozenset[bytes]) -> Callable[[Path], int]:
    def run(path: Path) -> int:
        return sum(1 for _ in open_reader(path, ReadSpec(), FeedLimits(), digests.intersection))

    return run


def forked(measure: Callable[[Path], int], path: Path) -> tuple[float, float]:
    """Run ``measure`` in a child process. Return its seconds of processor time, and the growth of its peak of memory in
    MiB."""
    receive, send = os.pipe()
    child = os.fork()
    if not child:
        began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.process_time()
        measure(path)
        seconds = time.process_time() - start
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - began) / 1024
        os.write(send, json.dumps([seconds, grown]).encode())
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as stream:
        seconds, grown = json.load(stream)
    os.waitpid(child, 0)
    return seconds, grown


def report(path: Path, count: int, reps: int) -> None:
    digests = frozenset(record.digest for record in open_reader(path, ReadSpec(), FeedLimits()))
    measures = {"bare parser": bare, "first reading": first, "all known": again(digests)}
    got: dict[str, list[tuple[float, float]]] = {name: [] for name in measures}
    for _ in range(reps):
        for name, measure in measures.items():
            got[name].append(forked(measure, path))
    floor = statistics.median(seconds for seconds, _ in got["bare parser"])
    for name, runs in got.items():
        median = statistics.median(seconds for seconds, _ in runs)
        ratio, memory = median / floor, max(grown for _, grown in runs)
        rate = count / median
        print(
            f"{path.suffix[1:]:6}{name:14}{median:8.3f} s {rate:10,.0f} records/s {ratio:6.2f}x {memory:+6.1f} MiB"
        )


def peak(path: Path, *, known: bool) -> float:
    """Return the peak of resident memory in MiB of a process that only reads ``path``."""
    code = (
        "import sys; from pathlib import Path; from syncd.domain import FeedLimits; from syncd.feeds.readers import ReadSpec, open_reader\n"
        "for _ in open_reader(Path(sys.argv[1]), ReadSpec(), FeedLimits(), (lambda d: d) if sys.argv[2] else None): pass\n"
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )
    command = [sys.executable, "-c", code, str(path), "known" if known else ""]
    root = str(Path(__file__).resolve().parent.parent)
    out = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": root}
    )
    return int(out.stdout) / 1024


def report_memory(folder: Path, suffix: str, count: int) -> None:
    found: dict[str, list[float]] = {"first reading": [], "all known": []}
    for size in (10_000, count):
        path = folder / f"feed.{suffix}"
        write(path, size)
        for name, peaks in found.items():
            peaks.append(peak(path, known=name == "all known"))
        path.unlink()
    for name, (small, large) in found.items():
        print(
            f"{suffix:6}{name:14}{small:7.1f} MiB at 10,000 {large:7.1f} MiB at {count:,} {large / small:6.2f}x"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("formats", nargs="*", default=["xml", "csv", "json", "jsonl"])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for suffix in options.formats:
            if options.memory:
                report_memory(Path(folder), suffix, options.rows)
                continue
            path = Path(folder) / f"feed.{suffix}"
            write(path, options.rows)
            report(path, options.rows, options.reps)
            path.unlink()


if __name__ == "__main__":
    main()
