"""The time that a comparison spends in its store, as a share of the run.

    python benchmarks/system/store.py [--data OHSUMED] [--methods regression,ranksvm,listnet] [--repeats 3]

Runs a comparison with every call of the store timed: with the store on disk, where each commit is forced to
the disk, and in memory. Fits of synthetic data are short, so this is the worst case; the share of the store
falls as fits grow.
"""

import argparse
import tempfile
import time
from functools import wraps
from pathlib import Path

from directrank import compare, make_ranking
from directrank.experiments.demo import write_folds
from directrank.experiments.jobs.store import Store

TIMED = ("outcomes", "ended", "exchange", "release", "close")


class Clock:
    """The seconds spent in the store, and the number of calls."""

    def __init__(self):
        self.seconds, self.calls, self._depth = 0.0, 0, 0

    def timed(self, method):
        """Return the method with its time added to the clock."""

        @wraps(method)
        def measured(*arguments, **options):
            started, outer = time.perf_counter(), self._depth == 0
            self._depth += 1
            try:
                return method(*arguments, **options)
            finally:
                self._depth -= 1
                self.calls += outer
                self.seconds += (time.perf_counter() - started) * outer

        return measured


def run(data: Path, methods: str, out: Path | None) -> tuple[float, Clock]:
    clock, real = Clock(), {name: getattr(Store, name) for name in TIMED}
    for name, method in real.items():
        setattr(Store, name, clock.timed(method))
    try:
        started = time.perf_counter()
        compare(data, methods, measures=("AP", "nDCG@10"), out=out)
        return time.perf_counter() - started, clock
    finally:
        for name, method in real.items():
            setattr(Store, name, method)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder of folds; a synthetic collection by default")
    parser.add_argument("--methods", default="regression,ranksvm,listnet,adarank")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="store-", dir=".") as name:
        folder = Path(name)
        data = given.data or folder / "data"
        if given.data is None:
            write_folds(make_ranking(60, 12, 6, random_state=4), data)
        run(data, given.methods, None)  # this run compiles the kernels
        for place in ("disk", "memory"):
            found = [
                run(data, given.methods, folder / f"run-{turn}" if place == "disk" else None)
                for turn in range(given.repeats)
            ]
            total, clock = min(found, key=lambda each: each[1].seconds / each[0])
            share = clock.seconds / total
            cost = f"{clock.calls} calls, {clock.seconds:.3f} s of {total:.2f} s"
            print(f"store on {place:6}: {cost}: {share:.1%}")


if __name__ == "__main__":
    main()
