"""Compare the speed of two source trees, interleaved in one run on one machine.

    python benchmarks/compare_revisions.py OLD_SRC NEW_SRC [--rounds 40] [--only gradient,reader]

Runs the rows of six benchmarks (gradient, pairwise, listwise, evaluation, reader, fits) of
`revision_timings.py` in two processes, one for each tree, that take turns at every call: old, new, new, old,
and so on. Each pair of calls gives a ratio new / old; the table shows the median of the ratios and their
quartiles, which other load on the machine disturbs little because it meets both, and the ratio of the least
times. Rows whose median is above `--limit` are marked. The first calls compile, outside the clock.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

TIMINGS = Path(__file__).with_name("revision_timings.py")


class Tree:
    """A process that times rows with the package of a source tree."""

    def __init__(self, source: Path, only: str | None):
        command = [sys.executable, str(TIMINGS), *(["--only", only] if only else [])]
        environment = {**os.environ, "PYTHONPATH": str(source)}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)
        package, self.labels = json.loads(self._line())
        if not Path(package).resolve().is_relative_to(source):
            sys.exit(f"{source}: the package imported is {package}")

    def seconds(self, label: str) -> float:
        """Return the processor seconds of a row."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{label}\n")
        self._process.stdin.flush()
        return float(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"a process of {TIMINGS.name} ended with code {self._process.wait()}")
        return line


def row(label: str, old: Tree, new: Tree, rounds: int, limit: float) -> str:
    """Return a row of the table: ratios new / old."""
    if label not in old.labels or label not in new.labels:
        return f"{label:48}  only in the {'old' if label in old.labels else 'new'} tree"
    seconds: dict[Tree, list[float]] = {old: [], new: []}
    for turn in range(rounds):
        for tree in (old, new) if turn % 2 == 0 else (new, old):
            seconds[tree].append(tree.seconds(label))
    ratios = [after / before for before, after in zip(seconds[old], seconds[new], strict=True)]
    first, middle, third = statistics.quantiles(ratios, n=4)
    columns = (middle, first, third, min(seconds[new]) / min(seconds[old]))
    mark = f"  above {limit:g}" if middle > limit else ""
    return f"{label:48}" + "".join(f"{ratio:10.3f}" for ratio in columns) + mark


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, help="folder that holds the old package directrank")
    parser.add_argument("new", type=Path, help="folder that holds the new package directrank")
    parser.add_argument("--rounds", type=int, default=40, help="pairs of calls of each row")
    parser.add_argument("--only", help="benchmarks, separated by commas")
    parser.add_argument("--limit", type=float, default=1.05, help="mark rows above this ratio")
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("--rounds must be at least 2: quartiles need as many ratios")
    old, new = (Tree(source.resolve(), options.only) for source in (options.old, options.new))
    print(f"{'new / old':48}{'median':>10}{'quartiles':>20}{'of least':>10}")
    for label in dict.fromkeys(old.labels + new.labels):
        print(row(label, old, new, options.rounds, options.limit), flush=True)


if __name__ == "__main__":
    main()
