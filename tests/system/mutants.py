"""Damaged results and stores: every one is refused in one line, or read as if the damaged part were absent.

    python tests/system/mutants.py [--count 1000] [--store-count 500] [--seed 0]

A small comparison is made once. Then copies of its results.json are damaged, and `directrank report` reads
each: bytes are flipped, inserted and deleted, the file is cut, and content is changed (a key deleted or
renamed, a value of another type, a list shorter or longer) under a fresh checksum. Copies of its store are
damaged in the same ways, with and without a write-ahead log, and the comparison runs again on each. A mutant
survives if the command succeeds; then its values must be those of the undamaged results, bit for bit.
Otherwise it must be refused in one line.
"""

import argparse
import contextlib
import io
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from directrank import compare, make_ranking
from directrank.apps.cli import main as directrank
from directrank.apps.experiments import Comparison, read_results
from directrank.apps.experiments.demos import write_folds
from directrank.errors import DataError
from directrank.storage.strict_json import dump, parse, signed
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
ODD = (None, True, -1, 0.5, 10**400, 1e300, float("nan"), "", "x", "\udcff", [], [[]], {}, {"x": 1})


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


def odd(content: Any, chance: random.Random) -> Any:
    """Return a plain value with one change somewhere: what a program with a fault might have written."""
    copy = parse(dump(content).encode())
    places = list(_places(copy))
    # Lists of values are long; every depth is equally likely.
    depth = chance.choice(sorted({depth for depth, *_ in places}))
    holder, name = chance.choice([place[1:] for place in places if place[0] == depth])
    kind = chance.choice(("delete", "type", "type", "rename", "twice"))
    if kind == "type":
        holder[name] = chance.choice([each for each in ODD if type(each) is not type(holder[name])])
    elif kind == "delete":
        del holder[name]
    elif isinstance(holder, dict):
        holder[f"{name}?"] = holder.pop(name)
    else:
        holder.insert(name, holder[name])
    return copy


def _places(value: Any, depth: int = 0) -> Iterator[tuple[int, Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in pairs:
        yield depth, value, name
        yield from _places(each, depth + 1)


def mutants_of_results(text: bytes, count: int, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    content = parse(text)
    content.pop("sha256")
    for number in range(count):
        if number % 2:
            yield "re-signed", signed(odd(content, chance)).encode("utf-8", "surrogatepass")
        else:
            yield "bytes", flipped(text, chance)


def values_of(result: Comparison) -> str:
    """Return everything that a table shows of results."""
    return "".join(result.to_csv(each) for each in result.conventions)


def read_damaged(folder: Path, count: int, chance: random.Random) -> Counter:
    """Have the page made of damaged results; return how many of each kind were refused and survived."""
    expected, outcomes = values_of(read_results(folder / "run")), Counter()
    text, file = (folder / "run" / "results.json").read_bytes(), folder / "damaged.json"
    for kind, content in mutants_of_results(text, count, chance):
        if content == text:
            continue
        file.write_bytes(content)
        outcomes[kind, _read_outcome(kind, file, expected)] += 1
    return outcomes


def _read_outcome(kind: str, file: Path, expected: str) -> str:
    """Have the page made of a results.json; keep a copy of it if a rule is broken."""
    try:
        with limited(), contextlib.redirect_stderr(io.StringIO()) as message:
            code = directrank(["report", str(file), "--quiet", "-o", str(file.with_name("page.html"))])
    except HungError:
        keep(file, f"{kind}: hangs")
        return "hung"
    if code == 3 and message.getvalue().count("\n") == 1 and str(file) in message.getvalue():
        return "refused"
    if code == 0 and values_of(read_results(file)) == expected:
        return "survived"
    keep(file, f"{kind}: exit {code}: {message.getvalue()}")
    return "crashed" if code else "wrong"


def damage_bytes(store: Path, chance: random.Random) -> None:
    file = chance.choice(sorted(store.iterdir()))
    file.write_bytes(flipped(file.read_bytes(), chance))


def damage_record(store: Path, chance: random.Random) -> None:
    """Change a record, and sign it again."""
    file = chance.choice(sorted(store.iterdir()))
    record = json.loads(file.read_bytes())
    record.pop("sha256")
    file.write_text(signed({**record, "value": odd(record["value"], chance)}), encoding="utf-8")


DAMAGES: dict[str, Callable[[Path, random.Random], None]] = {
    "bytes": damage_bytes,
    "re-signed": damage_record,
}


def run_damaged(folder: Path, count: int, chance: random.Random) -> Counter:
    """Run the comparison on damaged stores; return how many of each kind were refused and survived."""
    expected, outcomes = values_of(read_results(folder / "run")), Counter()
    for number in range(count):
        kind = ("bytes", "bytes", "re-signed")[number % 3]
        out = folder / "damaged"
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(folder / "run" / "store", out / "store")
        DAMAGES[kind](out / "store", chance)
        before = folder / "before"
        shutil.rmtree(before, ignore_errors=True)
        shutil.copytree(out, before)
        outcomes[kind, _outcome(folder, out, before, expected)] += 1
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
            for kind in sorted({kind for kind, _ in found}):
                numbers = {outcome: found[kind, outcome] for outcome in ("refused", "survived", *FAILED)}
                each = ", ".join(f"{number} {outcome}" for outcome, number in numbers.items())
                print(f"{what}, {kind}: {sum(numbers.values())} tried, {each}", flush=True)
            for (_, outcome), times in found.items():
                for _ in range(times):
                    tally.add(COUNTED[outcome])
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
