"""python -m tests.simulation --planted [FAULT ...] [--seeds 1-1000]

It plants faults in the product, one at a time (all of them, or those that are named), and prints for each the seed that finds it.
``pytest tests/simulation --schedules 50000`` runs the schedules of many seeds."""

import argparse
import sys
import time

from tests.simulation.planted import FAULTS, PlantedFault, found_by
from tests.simulation.runner import Runner, runner


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", default="1-1000", help="the first and the last, as 1-50000, or one")
    parser.add_argument("--planted", nargs="*", required=True, choices=[[], *FAULTS], metavar="FAULT")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    return _plant([FAULTS[name] for name in options.planted or FAULTS], seeds)


def _plant(faults: list[PlantedFault], seeds: range) -> int:
    with runner() as schedules:
        missed = [fault.name for fault in faults if not _is_found(fault, schedules, seeds)]
    print(f"{len(faults)} faults planted, {len(missed)} not found {' '.join(missed)}")
    return min(len(missed), 1)


def _is_found(fault: PlantedFault, schedules: Runner, seeds: range) -> bool:
    """Print the first seed that finds the fault, and return whether one does."""
    start = time.monotonic()
    for number, seed in enumerate(seeds, 1):
        broken = found_by(fault, schedules, seed)
        if broken is not None:
            line = broken.partition("\n")[0][:150]
            seconds = time.monotonic() - start
            print(
                f"{fault.name}: seed {seed}, {number} schedules, {seconds:.0f} s\n    {fault.what}\n    {line}",
                flush=True,
            )
            return True
    print(f"{fault.name}: not found in {len(seeds)} schedules\n    {fault.what}", flush=True)
    return False


if __name__ == "__main__":
    sys.exit(main())
