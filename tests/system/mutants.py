"""Damaged results and stores: every one is refused in one line, or read as if the damaged part were absent.

    python tests/system/mutants.py [--count 1000] [--store-count 500] [--seed 0]

A small comparison is made once. Then copies of its results.json are damaged, and `directrank report` reads
each: bytes are flipped, inserted and deleted, or the file is cut. Copies of its store are damaged in the same
ways, and the comparison runs again on each. A mutant survives if the command succeeds; then its values must
be those of the undamaged results, bit for bit. Otherwise it must be refused in one line.
"""

import argparse
import contextlib
import io
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from directrank import compare, make_ranking
from directrank.apps.cli import main as directrank
from directrank.apps.cli.demos.shop import write_folds
from directrank.apps.experiments import Comparison, read_results
from directrank.errors import DataError
from directrank.storage.folders import MARK
from tally import HungError, Tally, limited

METHODS, MEASURES, CONVENTION = "regression,ranksvm", ("AP", "nDCG@3"), "letor3"
OPTIONS: dict[str, Any] = {
    "measures": MEASURES, "convention": CONVENTION, "search": "random:2", "refit": True, "audit": True,
}  # fmt: skip
FAILED = ("crashed", "hung", "wrong")
#: The count of `Tally` of each outcome.
COUNTED = {
    "refused": "survived", "survived": "survived", "crashed": "crashes", "hung": "hangs", "wrong": "wrong",
}  # fmt: skip


def flipped(content: bytes, chance: random.Random) -> bytes:
    """Return a content with some bits flipped, or bytes replaced, inserted, deleted, or its end cut."""
    changed = bytearray(content)
    kind = chance.choice(("flip", "flip", "byte", "insert", "delete", "cut"))
    for _ in range(chance.choice((1, 1, 8))):
        at = chance.randrange(len(changed))
        if kind == "flip":
            changed[at] ^= 1 << chance.randrange(8)
        elif kind == "byte":
            changed[at] = chance.randrange(256)
        elif kind == "insert":
            changed[at:at] = bytes([chance.randrange(256)])
        elif kind == "delete":
            del changed[at]
    return bytes(changed[: chance.randrange(len(changed))] if kind == "cut" else changed)


def values_of(result: Comparison) -> str:
    """Return everything that a table shows of results."""
    return "".join(result.to_csv(each) for each in result.conventions)


def read_damaged(folder: Path, count: int, chance: random.Random) -> Counter:
    """Have the page made of damaged results; return how many were refused and survived."""
    expected, outcomes = values_of(read_results(folder / "run")), Counter()
    text, file = (folder / "run" / "results.json").read_bytes(), folder / "damaged.json"
    for _ in range(count):
        content = flipped(text, chance)
        if content == text:
            continue
        file.write_bytes(content)
        outcomes[_read_outcome(file, expected)] += 1
    return outcomes


def _read_outcome(file: Path, expected: str) -> str:
    """Have the page made of a results.json; keep a copy of it if a rule is broken."""
    try:
        with limited(), contextlib.redirect_stderr(io.StringIO()) as message:
            code = directrank(["report", str(file), "--quiet", "-o", str(file.with_name("page.html"))])
    except HungError:
        keep(file, "hangs")
        return "hung"
    if code == 3 and message.getvalue().count("\n") == 1 and str(file) in message.getvalue():
        return "refused"
    if code == 0 and values_of(read_results(file)) == expected:
        return "survived"
    keep(file, f"exit {code}: {message.getvalue()}")
    return "crashed" if code else "wrong"


def damage_bytes(store: Path, chance: random.Random) -> None:
    file = chance.choice(sorted(store.iterdir()))
    file.write_bytes(flipped(file.read_bytes(), chance))


def run_damaged(folder: Path, count: int, chance: random.Random) -> Counter:
    """Run the comparison on damaged stores; return how many were refused and survived."""
    expected, outcomes = values_of(read_results(folder / "run")), Counter()
    for number in range(count + 1):
        out = folder / "damaged"
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(folder / "run" / "store", out / "store")
        shutil.copy(folder / "run" / MARK, out)
        if not number:
            if (outcome := _outcome(folder, out, out, expected)) != "survived":
                raise RuntimeError(f"a store that is not damaged is {outcome}")
            continue
        damage_bytes(out / "store", chance)
        before = folder / "before"
        shutil.rmtree(before, ignore_errors=True)
        shutil.copytree(out, before)
        outcomes[_outcome(folder, out, before, expected)] += 1
    return outcomes


def _outcome(folder: Path, out: Path, before: Path, expected: str) -> str:
    """Run the comparison on a damaged store; keep a copy of it if a rule is broken."""
    try:
        with limited():
            found = values_of(compare(folder / "data", METHODS, out=out, **OPTIONS))
    except HungError:
        keep(before, "hangs")
        return "hung"
    except Exception as error:
        if isinstance(error, (DataError, OSError)) and "\n" not in str(error):
            return "refused"
        keep(before, repr(error))
        return "crashed"
    if found == expected:
        return "survived"
    keep(before, "other values")
    return "wrong"


def keep(mutant: Path, problem: str) -> None:
    """Keep a mutant for a closer look, and print where it is."""
    place = Path(tempfile.mkdtemp(prefix="mutant-")) / mutant.name
    shutil.copytree(mutant, place) if mutant.is_dir() else shutil.copy(mutant, place)
    print(f"{place}: {problem.strip()}", flush=True)


def prepare(folder: Path) -> None:
    """Make the comparison."""
    write_folds(make_ranking(24, 6, 4, random_state=3), folder / "data")
    compare(folder / "data", METHODS, out=folder / "run", **OPTIONS)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="of results.json")
    parser.add_argument("--store-count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = Path(name)
        prepare(folder)
        for what, read, count in (
            ("results.json", read_damaged, given.count), ("store", run_damaged, given.store_count),
        ):  # fmt: skip
            found = read(folder, count, random.Random(given.seed))
            numbers = {outcome: found[outcome] for outcome in ("refused", "survived", *FAILED)}
            each = ", ".join(f"{number} {outcome}" for outcome, number in numbers.items())
            print(f"{what}: {found.total()} tried, {each}", flush=True)
            for outcome, times in found.items():
                for _ in range(times):
                    tally.add(COUNTED[outcome])
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
