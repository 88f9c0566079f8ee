"""The memory that reading, fitting, ranking and evaluating need at most, as a multiple of the features.

    python benchmarks/system/memory.py [--documents 1000000] [--features 50] [--steps read,regression,rank]

A LETOR file with queries of 20 documents is made in a temporary folder. Each step runs in a process of its
own, with kernels compiled and the file read before. The peak is its largest resident memory, with Python, its
libraries (about 250 MB) and the data; `needed` is how far it is above the memory before the step. The
features are float32. The target is 1.3 × the features + 500 MB in all. Linux only.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

STEPS = "read,regression,ranksvm,listnet,approxndcg,lambdarank,adarank,rank,evaluate"
QUERY = 20
#: Rows that are made at once.
PIECE = 20_000
MB = 2**20


def write_large(path: Path, n_docs: int, n_features: int) -> None:
    """Write LETOR text of fixed width, with features of different scale."""
    line, digits = "0 qid:100000", []
    for k in range(1, n_features + 1):
        line += f" {k}:"
        for letter in ("0.0000", "00.000", "0000.0")[k % 3]:
            digits += [len(line)] if letter == "0" else []
            line += letter
    template, rng = np.frombuffer(f"{line}\n".encode(), np.uint8), np.random.default_rng(0)
    with path.open("wb") as file:
        for first in range(0, n_docs, PIECE):
            rows = np.arange(first, min(first + PIECE, n_docs))
            text = np.tile(template, (len(rows), 1))
            text[:, 0] += rng.integers(0, 3, len(rows), np.uint8)
            for place in range(1, 6):
                text[:, 6 + place] += (rows // QUERY // 10 ** (5 - place) % 10).astype(np.uint8)
            text[:, digits] += rng.integers(0, 10, (len(rows), len(digits)), np.uint8)
            file.write(text.tobytes())


def kilobytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def measured(step: str, large: Path, small: Path, iterations: int) -> tuple[int, int, str]:
    """Do a step on the small file, and then on the large one; return kilobytes before, at most, a note."""
    from directrank import evaluate, read_letor
    from directrank.estimators.methods import configured

    few, groups = read_letor(small), None if step == "read" else read_letor(large)
    ranker = configured("regression" if step in ("rank", "evaluate", "read") else step)[0].build()
    for limit in {"max_iterations", "rounds"} & set(vars(ranker)):
        setattr(ranker, limit, min(iterations, getattr(ranker, limit)))
    scores = ranker.fit(few).predict(few)
    evaluate(few, scores, measures=["AP", "nDCG@10"])
    many = None if groups is None else np.random.default_rng(0).normal(size=groups.n_docs)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = kilobytes("VmRSS")
    if step == "read":
        groups = read_letor(large)
    elif step == "rank":
        ranker.predict(groups)
    elif step == "evaluate":
        evaluate(groups, many, measures=["AP", "nDCG@10"])
    else:
        ranker.fit(groups)
    return before, kilobytes("VmHWM"), getattr(ranker, "scaling_", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--steps", default=STEPS, help="read, rank, evaluate and names of methods")
    parser.add_argument("--iterations", type=int, default=5, help="at most, of each fit")
    parser.add_argument("--only", nargs=3, metavar=("STEP", "LARGE", "SMALL"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        step, large, small = given.only
        print(*measured(step, Path(large), Path(small), given.iterations))
        return
    data = given.documents * given.features * 4 / MB
    print(f"{given.documents} documents × {given.features} features: {data:.0f} MB")
    print(f"{'step':12}{'peak MB':>9}{'× data':>8}{'needed':>8}  within 1.3 × data + 500 MB")
    with tempfile.TemporaryDirectory(prefix="memory-") as name:
        large, small = Path(name) / "large.txt", Path(name) / "small.txt"
        write_large(large, given.documents, given.features)
        write_large(small, 10 * QUERY, given.features)
        for step in given.steps.split(","):
            words = [sys.executable, __file__, "--iterations", str(given.iterations), "--only", step]
            ended = subprocess.run([*words, large, small], stdout=subprocess.PIPE, text=True, check=True)
            before, peak, scaling = (*ended.stdout.split(), "")[:3]
            most, needed = int(peak) / 1024, (int(peak) - int(before)) / 1024
            within = "yes" if most <= 1.3 * data + 500 else "no"
            print(
                f"{step:12}{most:9.0f}{most / data:8.2f}{needed / data:8.2f}  {within} {scaling}", flush=True
            )


if __name__ == "__main__":
    main()
