"""Compare the speed of two source trees, interleaved in one run on one machine.

    python benchmarks/compare_revisions.py OLD_SRC NEW_SRC [--repetitions 5] [--only gradient,reader]

Runs the rows of six benchmarks (gradient, pairwise, listwise, evaluation, reader, fits) of
`revision_timings.py` in processes that take turns: old, new, new, old, and so on. Each repetition gives one
ratio new / old of a row; the table shows the median of the ratios, the least and the largest, and the ratio
of the least times of all repetitions, which other load on the machine disturbs least. Rows whose median is
above `--limit` are marked. The first process of each tree compiles its kernels, outside the clock.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

TIMINGS = Path(__file__).with_name("revision_timings.py")


def timed(source: Path, only: str | None, rounds: int) -> dict[str, float]:
    """Return the seconds of every row with the package of a source tree."""
    command = [sys.executable, str(TIMINGS), "--rounds", str(rounds), *(["--only", only] if only else [])]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    ended = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(ended.stdout)
    if not Path(found["package"]).resolve().is_relative_to(source):
        sys.exit(f"{source}: the package imported is {found['package']}")
    return found["seconds"]


def all_seconds(
    old: Path, new: Path, only: str | None, repetitions: int, rounds: int
) -> dict[str, tuple[list[float], list[float]]]:
    """Return the seconds of each row in the old and in the new tree, one figure a repetition."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    for repetition in range(repetitions):
        order = (old, new) if repetition % 2 == 0 else (new, old)
        seconds = {tree: timed(tree, only, rounds) for tree in order}
        for label in sorted(seconds[old].keys() | seconds[new].keys()):
            row = found.setdefault(label, ([], []))
            for tree, values in zip((old, new), row, strict=True):
                values += [seconds[tree][label]] if label in seconds[tree] else []
        print(f"repetition {repetition + 1} of {repetitions}", file=sys.stderr, flush=True)
    return found


def line(label: str, before: list[float], after: list[float], limit: float) -> str:
    """Return a row of the table: ratios new / old."""
    if not (before and after):
        return f"{label:48}  only in the {'old' if before else 'new'} tree"
    ratios = [b / a for a, b in zip(before, after, strict=True)]
    middle = statistics.median(ratios)
    mark = f"  above {limit:g}" if middle > limit else ""
    columns = (middle, min(ratios), max(ratios), min(after) / min(before))
    return f"{label:48}" + "".join(f"{each:9.3f}" for each in columns) + mark


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, help="folder that holds the old package directrank")
    parser.add_argument("new", type=Path, help="folder that holds the new package directrank")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=7, help="timed calls of each row in a process")
    parser.add_argument("--only", help="benchmarks, separated by commas")
    parser.add_argument("--limit", type=float, default=1.05, help="mark rows above this ratio")
    options = parser.parse_args()
    trees = options.old.resolve(), options.new.resolve()
    found = all_seconds(*trees, options.only, options.repetitions, options.rounds)
    print(f"{'new / old':48}{'median':>9}{'least':>9}{'largest':>9}{'of least':>9}")
    for label, (before, after) in found.items():
        print(line(label, before, after, options.limit))


if __name__ == "__main__":
    main()
