"""The memory that reading, fitting, ranking and evaluating need at most, as a multiple of the features.

    python benchmarks/system/memory.py [--documents 1000000] [--features 50] [--steps read,regression,rank]
    python benchmarks/system/memory.py --arrays [--steps ranksvm,listnet,lambdarank]

A LETOR file with queries of 20 documents is made in a temporary folder. Each step runs in a process of its
own, with kernels compiled and the file read before. The peak is its largest resident memory, with Python, its
libraries (about 250 MB) and the data; `needed` is how far it is above the memory before the step. The
features are float32. The target is 1.3 × the features + 500 MB in all. Linux only.

With `--arrays` each method is fitted to arrays of as many random documents, in queries of a hundred, as it is
and with `overwrite_X`. The peak then is above the memory before these arrays (X, y, qid) were made, as a
multiple of X; beside it are the median shares of processor time of a profile's phases in five more fits of a
method that is no ensemble.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from directrank import timing

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


def arrays(n_docs: int, n_features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X, y and qid of random documents, whose features need scaling."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_docs, n_features), dtype=np.float32)
    utility = X[:, 0] + 0.5 * X[:, 1] + rng.standard_normal(n_docs, dtype=np.float32)
    X *= np.geomspace(0.05, 20.0, n_features, dtype=np.float32)
    return X, np.digitize(utility, [0.8, 1.8, 3.0]).astype(float), np.arange(n_docs) // 100


def fitted_to_arrays(method: str, n_docs: int, n_features: int, overwrites: bool) -> str:
    """Return a line of the peak of a fit, and of the shares of its phases unless X is overwritten."""
    from directrank.estimators.methods import configured

    timing.time = SimpleNamespace(perf_counter=time.process_time)  # other work does not count
    ranker = configured(method)[0].build().set_params(n_jobs=1)
    ranker.fit(*arrays(20_000, n_features))
    before = kilobytes("VmRSS")
    X, y, qid = arrays(n_docs, n_features)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    ranker.fit(X, y, qid, overwrite_X=overwrites)
    copies = (kilobytes("VmHWM") - before) * 1024 / X.nbytes
    line = f"{method:12}{'overwrite_X' * overwrites:12}{copies:6.2f} copies"
    if overwrites or ranker.is_ensemble:
        return line
    profiles = []
    for _ in range(5):
        with timing.Profile() as profile:
            ranker.fit(X, y, qid)
        profiles.append(profile)
    shares = {
        name: np.median([profile.seconds[name] / profile.total for profile in profiles])
        for name in profiles[0].seconds
    }
    parts = sorted(shares.items(), key=lambda part: -part[1])
    return f"{line}  {', '.join(f'{name} {share:.2f}' for name, share in parts)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--steps", default=STEPS, help="read, rank, evaluate and names of methods")
    parser.add_argument("--iterations", type=int, default=5, help="at most, of each fit of a file")
    parser.add_argument("--arrays", action="store_true", help="fit methods to arrays")
    parser.add_argument("--only", nargs=3, metavar=("STEP", "LARGE", "SMALL"), help=argparse.SUPPRESS)
    parser.add_argument("--array", nargs=2, metavar=("METHOD", "OVERWRITES"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.array:
        method, overwrites = given.array
        print(fitted_to_arrays(method, given.documents, given.features, overwrites == "True"))
        return
    if given.arrays:
        for method in given.steps.split(","):
            for overwrites in (False, True):
                sizes = ["--documents", str(given.documents), "--features", str(given.features)]
                words = [sys.executable, __file__, *sizes, "--array", method, str(overwrites)]
                subprocess.run(words, check=True)
        return
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
