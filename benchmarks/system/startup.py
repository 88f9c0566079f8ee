"""What a user waits for before anything happens: imports, help, and the first fit of each method.

    python benchmarks/system/startup.py [--runs 3]

Each figure is the processor time of a process of its own,
the least of some runs: what an idle machine makes one wait. Kernels are compiled into a temporary folder, so
that the first fit of every method, from plain arrays to scores, meets an empty cache.
"""

import argparse
import os
import subprocess
import sys
import tempfile

FIT = """
import time
import numpy as np
from directrank.estimators.methods import configured
rng = np.random.default_rng(0)
X, y, qid = rng.normal(size=(400, 5)), rng.integers(0, 3, 400), np.repeat(np.arange(20), 20)
ranker = configured({name!r})[0].build()
start = time.process_time()
ranker.fit(X, y, qid=qid).predict(X)
print(time.process_time() - start)
"""
METHODS = "from directrank.estimators.methods import METHODS; print(*(each.name for each in METHODS))"
IMPORT = """
import time
import {first}
start = time.process_time()
import {then}
print(time.process_time() - start)
"""


def output_of(code: str, **environment: str) -> str:
    """Run Python code in a process of its own and return what it prints."""
    process = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return process.stdout


def fastest(runs: int, measure) -> float:
    return min(float(measure()) for _ in range(runs))


def seconds_of_help() -> float:
    before = os.times()
    subprocess.run([sys.executable, "-m", "directrank", "--help"], capture_output=True, check=True)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def row(label: str, seconds: float, target: float) -> None:
    print(f"{label:44}{seconds:8.2f}{target:9.1f}", flush=True)


def imports(runs: int) -> None:
    def after(first: str, then: str) -> float:
        return fastest(runs, lambda: output_of(IMPORT.format(first=first, then=then)))

    row("import directrank, beyond numpy", after("numpy", "directrank"), 0.3)
    everything = "directrank.data, directrank.estimators, directrank.measures"
    row("import its estimators, beyond scikit-learn", after("numpy, sklearn.base", everything), 1.0)
    row("directrank --help", fastest(runs, seconds_of_help), 0.5)


def first_fits(runs: int) -> None:
    for name in output_of(METHODS).split():
        cold, warm = [], []
        for _ in range(runs):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(float(output_of(FIT.format(name=name), NUMBA_CACHE_DIR=folder)))
                warm.append(float(output_of(FIT.format(name=name), NUMBA_CACHE_DIR=folder)))
        row(f"first fit of {name}, empty cache", min(cold), 5.0)
        row(f"first fit of {name}, warm cache", min(warm), 0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    print(f"{'':44}{'seconds':>8}{'target':>9}")
    imports(arguments.runs)
    first_fits(arguments.runs)


if __name__ == "__main__":
    main()
