"""Everything hostile that we know, in one table: how much was tried, and what became of it.

    python tests/system/torture.py [--only KIND] [--count N] [--seed 0]      (or: nox -s torture)

An input survives if it ends in a clear error or in the correct result. Each kind runs in processes of its
own, and has a script that says what it does to its inputs. The counts by default are the full ones, which
take most of an hour; what did not survive is printed on stderr.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tally import Tally, read_tally

HERE = Path(__file__).resolve().parent

DAMAGE = HERE / "input_mutants.py"
KILLS, MUTANTS = HERE / "kills.py", HERE / "mutants.py"


@dataclass(frozen=True)
class Kind:
    """A kind of hostile input: its full count, its script, and how the script is told a count."""

    name: str
    count: int
    script: Path
    words: Callable[[int], list[str]]
    #: Seconds for each input, beyond which the script counts as hung.
    patience: float
    takes_seed: bool = True


def _kills(**counts: int) -> list[str]:
    names = ("kills", "worker-kills", "sizes", "processes")
    few = "--methods=regression,adarank(AP),approxap"  # so that a hundred comparisons take minutes
    return [few, *(f"--{name}={counts.get(name.replace('-', '_'), 0)}" for name in names)]


def _mutants(**counts: int) -> list[str]:
    return [f"--count={counts.get('count', 0)}", f"--store-count={counts.get('store', 0)}"]


KINDS = (
    Kind("model", 3000, DAMAGE, lambda n: ["models", f"--count={n}"], 1),
    Kind("reader", 10_000, DAMAGE, lambda n: ["readers", f"--count={n}"], 1),
    Kind("results", 1000, MUTANTS, lambda n: _mutants(count=n), 2),
    Kind("store", 500, MUTANTS, lambda n: _mutants(store=n), 10),
    Kind("payload", 400, HERE / "payloads.py", lambda n: [f"--count={n // 10}"], 10, False),
    Kind("environment", 21, HERE / "environments.py", lambda n: [f"--count={n}"], 300, False),
    Kind("disk", 20, KILLS, lambda n: _kills(sizes=n), 120, False),
    Kind("kill", 100, KILLS, lambda n: _kills(kills=n), 120, False),
    Kind("worker-kill", 100, KILLS, lambda n: _kills(worker_kills=n), 120, False),
)
#: What the rows of the table are called.
TITLES = {
    "model": "damaged model files", "reader": "damaged LETOR files", "results": "damaged results.json",
    "store": "damaged stores", "payload": "hostile texts × places",
    "environment": "strange environments", "disk": "sizes of a full disk",
    "kill": "kills of a comparison", "worker-kill": "kills of one worker",
}  # fmt: skip
COLUMNS = ("tried", "survived", "crashes", "hangs", "wrong", "peak")
HEAD = "| kind | tried | survived | crashes | hangs | wrong numbers | peak memory, MB |"


def tortured(kind: Kind, count: int, seed: int) -> Tally:
    """Run the script of a kind; return its counts."""
    words = [sys.executable, str(kind.script), *kind.words(count), *([f"--seed={seed}"] * kind.takes_seed)]
    try:
        ended = subprocess.run(
            words, stdout=subprocess.PIPE, text=True, timeout=600 + kind.patience * count, check=False
        )
    except subprocess.TimeoutExpired:
        return Tally(tried=count, hangs=1)
    return read_tally(ended.stdout, ended.returncode)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=[kind.name for kind in KINDS], action="append")
    parser.add_argument("--count", type=int, help="of each kind; by default its full count")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(f"{HEAD}\n|{' --- |' * (1 + len(COLUMNS))}", flush=True)
    lost = 0
    for kind in KINDS:
        if given.only is None or kind.name in given.only:
            tally = tortured(kind, given.count or kind.count, given.seed)
            lost += tally.tried - tally.survived
            cells = (f"{getattr(tally, name):,}" for name in COLUMNS)
            print(f"| {TITLES[kind.name]} | {' | '.join(cells)} |", flush=True)
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
