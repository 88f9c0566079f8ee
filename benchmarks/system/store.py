"""Training from a store against training in memory: the same bits, time in read passes, and memory.

Collections have the shape of MSLR-WEB30K (136 features, 120 documents a query), times `--multiples`. Each fit
has a process of its own, whose memory is looked at every 10 ms. With `--beyond N` the last multiple is only
trained from the store.

    python benchmarks/system/store.py --multiples 0.05 0.1 0.2 --methods approxndcg ranksvm
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

N_DOCS, N_FEATURES, PER_QUERY = 3_771_125, 136, 120
MIB = 2**20

CHILD = """
import hashlib, json, sys, threading, time
from pathlib import Path
import numpy as np
from directrank import QueryGroups
from directrank.estimators.methods import configured

folder, method, where = sys.argv[1:]
configured(method)[0].build({"scaling": "none"}).fit(QueryGroups.open(folder + ".small"))
groups = QueryGroups.open(folder)
if where == "memory":
    groups = QueryGroups.from_inner(np.array(groups.features), groups.queries)
start = time.perf_counter()
groups.features.sum()
read = time.perf_counter() - start
most, before, ended = 0, 0, threading.Event()

def resident():
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])

def look():
    global most
    while not ended.wait(0.01):
        most = max(most, resident())

watcher = threading.Thread(target=look)
watcher.start()
start = time.perf_counter()
ranker = configured(method)[0].build({"scaling": "none"}).fit(groups)
seconds = time.perf_counter() - start
ended.set()
watcher.join()
bits = hashlib.sha256(np.float64(ranker.coef_).tobytes()).hexdigest()
size = groups.features.nbytes
print(json.dumps({"seconds": seconds, "read": read, "most": most, "bits": bits, "size": size}))
"""


def make(folder: Path, n_docs: int) -> None:
    """Write a store of random features, of which a linear function with noise gives the relevance."""
    import numpy as np

    from directrank.data.grouping import group_rows
    from directrank.data.store.writing import StoreWriter

    writer, rng = StoreWriter(folder), np.random.default_rng(0)
    n_queries = max(2, n_docs // PER_QUERY)
    n_docs = n_queries * PER_QUERY
    features = writer.allocate("made", n_docs, N_FEATURES)
    weights, relevance = rng.normal(size=N_FEATURES), np.empty(n_docs)
    for first in range(0, n_docs, 1000 * PER_QUERY):
        rows = slice(first, min(first + 1000 * PER_QUERY, n_docs))
        made = rng.random((rows.stop - first, N_FEATURES), np.float32)
        noisy = made @ weights + 2 * rng.normal(size=len(made))
        relevance[rows] = np.digitize(noisy, np.quantile(noisy, [0.6, 0.85, 0.95, 0.99]))
        order = np.lexsort((-relevance[rows], np.arange(len(made)) // PER_QUERY))
        features[rows], relevance[rows] = made[order], relevance[rows][order]
    queries, _ = group_rows(relevance, np.repeat(np.arange(n_queries), PER_QUERY), None, name="made")
    writer.finish(queries, N_FEATURES, None, "made", True)


def fitted(folder: Path, method: str, where: str) -> dict:
    """Return time, memory and bits of a fit in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, folder, method, where], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def main() -> None:
    """Print a row for each multiple, method and place."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--multiples", type=float, nargs="+", default=[0.05, 0.1])
    parser.add_argument("--methods", nargs="+", default=["approxndcg", "ranksvm"])
    parser.add_argument("--beyond", action="store_true", help="train the last multiple from the store only")
    given = parser.parse_args()
    print("size MiB  method          where    read passes  resident/size  bits")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for multiple in given.multiples:
            path = Path(folder) / f"{multiple:g}"
            start = time.perf_counter()
            make(path, int(multiple * N_DOCS))
            make(Path(f"{path}.small"), 40 * PER_QUERY * 100)
            print(f"# written in {time.perf_counter() - start:.0f} s")
            alone = given.beyond and multiple == given.multiples[-1]
            for method in given.methods:
                for where in ("store",) if alone else ("memory", "store"):
                    found = fitted(path, method, where)
                    print(
                        f"{found['size'] / MIB:8.0f}  {method:<14}  {where:<7}  "
                        f"{found['seconds'] / found['read']:11.1f}  {found['most'] / found['size']:13.2f}  "
                        f"{found['bits'][:12]}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
