"""python -m tests.simulation --seeds 1-50000 [--processes 2]

Runs the schedules of many seeds, and prints each that fails with the steps that it needs."""

from __future__ import annotations

import argparse
import multiprocessing
import sys

from tests.simulation.runner import run_many


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", required=True, help="the first and the last, as 1-50000, or one")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    context = multiprocessing.get_context("spawn")
    failures: multiprocessing.SimpleQueue[str | None] = context.SimpleQueue()
    parts = [seeds[n :: options.processes] for n in range(options.processes)]
    workers = [context.Process(target=run_many, args=(part, failures)) for part in parts if part]
    for worker in workers:
        worker.start()
    ended = failed = 0
    while ended < len(workers):
        broken = failures.get()
        if broken is None:
            ended += 1
        else:
            failed += 1
            print(f"{broken}\n{'-' * 80}", flush=True)
    print(f"{len(seeds)} schedules, {failed} failed")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
