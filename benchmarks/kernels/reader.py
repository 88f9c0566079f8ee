"""Reading LETOR text with directrank and with scikit-learn: megabytes a second, and their ratio.

    python benchmarks/kernels/reader.py [--megabytes 60]

Both read the same file in this process; directrank after its kernels are compiled. A comparison also takes
the SHA-256 of what it reads, twice. Times are processor times, so that other load counts little.
"""

import argparse
import hashlib
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from directrank.data import read_letor
from web30k import write_web30k

MEGABYTES_AT_MULTIPLE_1 = 5_500
REPEATS = 5


def seconds(function, repeats):
    """Return the least processor time of some calls, and the last result."""
    times, result = [], None
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        times.append(time.process_time() - start)
    return min(times), result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=60, help="size of the text (default 60)")
    size = parser.parse_args().megabytes
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "web30k.txt"
        write_web30k(path, max(size / MEGABYTES_AT_MULTIPLE_1, 1e-4))
        megabytes = path.stat().st_size / 1e6
        start = time.perf_counter()
        read_letor(path)
        first = time.perf_counter() - start
        bare, _ = seconds(path.read_bytes, REPEATS)
        hashed, _ = seconds(lambda: hashlib.sha256(path.read_bytes()).hexdigest(), REPEATS)
        ours, groups = seconds(lambda: read_letor(path), REPEATS)
        theirs, (X, y, qid) = seconds(lambda: load_svmlight_file(path, query_id=True, dtype=np.float32), 1)
    same = np.array_equal(groups.X, X.toarray()) and np.array_equal(groups.relevance, y)
    same = same and np.array_equal(groups.qid, qid)
    print(f"{megabytes:.0f} MB, {groups.n_docs} documents × {groups.n_features} features; equal bits: {same}")
    print(f"{'reader':32}{'seconds':>9}{'MB/s':>9}{'ratio':>8}")
    for name, taken in (
        ("read() alone", bare),
        ("read() and SHA-256", hashed),
        ("directrank", ours),
        ("scikit-learn load_svmlight_file", theirs),
    ):
        print(f"{name:32}{taken:9.3f}{megabytes / taken:9.0f}{theirs / taken:8.1f}")
    print(f"directrank's first call, compiling or loading its kernels: {first:.1f} s")


if __name__ == "__main__":
    main()
