"""Training from a store against training in memory: bit-identical models, time in read passes, and memory.

Collections have the shape of MSLR-WEB30K (136 features, 120 documents per query), times `--multiples`. Each
fit has its own process, whose memory is looked at every 10 ms: in memory it should stay within 1.3 × the
data + 500 MB, from a store below half of the data. Of `--beyond` multiples, only the store is trained from.
`--keep FOLDER` keeps the collections. Before the fits of a collection, one line has the rate at which its
file is read from the disk, by large reads and by one gradient of RankSVM, with nothing of it in memory.

    python benchmarks/system/store.py --multiples 0.05 0.1 0.2 --methods approxndcg ranksvm --iterations 10
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from directrank import QueryGroups
from directrank.data.grouping import group_rows
from directrank.estimators.methods import configured
from directrank.files import open_store
from directrank.files.store import StoreWriter
from directrank.scorers import Linear
from directrank.solvers.passes import value_and_gradient
from directrank.storage.mapped import relieve
from directrank.surrogates import Objective, Pairwise

N_DOCS, N_FEATURES, PER_QUERY = 3_771_125, 136, 120
MIB = 2**20
METHODS = (
    "approxndcg",
    "ranksvm",
    "consistent-ndcg",
    "lambdaloss",
    "svmmap",
    "adarank",
    "rankboost",
    "trees-lambdarank",
)


def make(folder: Path, n_docs: int) -> None:
    """Write a store of random features, of which a linear function with noise gives the relevance."""
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


def seconds_of(work: Callable[[], object]) -> float:
    """Return the elapsed time."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def rates(folder: Path) -> tuple[float, float]:
    """Return bytes per second from the disk: by reads of 32 MiB, and of one gradient of RankSVM."""
    file, groups = folder / "features.npy", open_store(folder)
    objective = Objective(Pairwise(), groups.queries, groups.shards)
    start, scorer, buffer = np.full(groups.n_features, 1e-3), Linear(), bytearray(32 * MIB)

    def gradient() -> None:
        value_and_gradient(objective, scorer, start, groups.features)

    def read() -> None:
        with file.open("rb", buffering=0) as stream:
            while stream.readinto(buffer):
                pass

    gradient()  # compiles
    found = []
    for work in (read, gradient, read, gradient):
        with file.open("rb") as stream:
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        found.append(groups.features.nbytes / seconds_of(work))
    return max(found[0::2]), max(found[1::2])


def resident() -> int:
    """Return the bytes of memory that this process holds."""
    return os.sysconf("SC_PAGE_SIZE") * int(Path("/proc/self/statm").read_text().split()[1])


def most_resident(work: Callable[[], object]) -> int:
    """Return the most memory that some work held."""
    most, ended = 0, threading.Event()

    def look() -> None:
        nonlocal most
        while not ended.wait(0.01):
            most = max(most, resident())

    watcher = threading.Thread(target=look)
    watcher.start()
    work()
    ended.set()
    watcher.join()
    return most


def fit(folder: Path, method: str, where: str, scaling: str, iterations: int) -> dict:
    """Fit in this process; return time, memory and bits."""

    def ranker():
        built = configured(method)[0].build()
        # RankBoost's exact search sorts every feature, and its order takes as much memory as the data.
        histogram = {"search": "histogram"}
        given = {"scaling": scaling, "max_iterations": iterations, "rounds": iterations, **histogram}
        return built.set_params(**{name: given[name] for name in given if name in vars(built)})

    few = open_store(f"{folder}.small")
    ranker().fit(few)  # compiles
    groups = open_store(folder)
    if where == "memory":
        groups = QueryGroups.from_inner(np.array(groups.features), groups.queries)
    read = min(seconds_of(groups.features.sum) for _ in range(3))
    relieve()  # what the read pass left in memory
    trained, seconds = ranker(), 0.0

    def work() -> None:
        nonlocal seconds
        seconds = seconds_of(lambda: trained.fit(groups))

    before, most = resident(), most_resident(work)
    return {
        "passes": seconds / read, "before": before, "most": most, "size": groups.features.nbytes,
        "iterations": len(trained.history_),
        "bits": hashlib.sha256(trained.predict(few).tobytes()).hexdigest(), "seconds": seconds,
    }  # fmt: skip


def print_fits(path: Path, places: tuple[str, ...], given: argparse.Namespace) -> None:
    """Print a row for each method and place."""
    for method in given.methods:
        for where in places:
            words = [sys.executable, __file__, "--fit", path, method, where, given.scaling, given.iterations]
            ended = subprocess.run(map(str, words), stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(ended.stdout)
            size, most = found["size"], found["most"]
            within = most <= (1.3 * size + 500 * MIB if where == "memory" else 0.5 * size)
            print(
                f"{size / MIB:8.0f}  {method:<16}{where:<8}{found['iterations']:4}{found['seconds']:9.1f}"
                f"{found['passes'] / max(1, found['iterations']):8.1f}{most / MIB:9.0f}{most / size:7.2f}"
                f"  {'yes' if within else 'no':<4}{found['bits'][:12]}",
                flush=True,
            )


def main() -> None:
    """Print a row for each multiple, method and place."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--multiples", type=float, nargs="*", default=[0.05, 0.1])
    parser.add_argument("--beyond", type=float, nargs="*", default=[], help="trained from the store only")
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--iterations", type=int, default=10, help="at most, or rounds")
    parser.add_argument("--scaling", default="none")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--fit", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.fit:
        folder, method, where, scaling, iterations = given.fit
        print(json.dumps(fit(Path(folder), method, where, scaling, int(iterations))))
        return
    print("size MiB  method          where   iterations, seconds, passes an iteration, MiB, of data, within")
    with tempfile.TemporaryDirectory(dir=".") if given.keep is None else nullcontext(given.keep) as folder:
        for multiple in (*given.multiples, *given.beyond):
            path = Path(folder) / f"{multiple:g}"
            if not path.exists():
                make(path, int(multiple * N_DOCS))
                make(Path(f"{path}.small"), 40 * PER_QUERY * 100)
            by_reads, by_gradient = rates(path)
            print(
                f"# from the disk: {by_reads / MIB:.0f} MiB/s by reads, {by_gradient / MIB:.0f} by a gradient"
            )
            print_fits(path, ("store",) if multiple in given.beyond else ("memory", "store"), given)


if __name__ == "__main__":
    main()
