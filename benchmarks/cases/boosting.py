"""What `trees-lambdarank` costs where a fit is long: a million documents, rounds that are chosen, memory.

Fits are timed once. ``DIRECTRANK_DATA`` names the folder that has collections; memory is measured
in processes of their own, which `benchmarks/system/store.py` starts.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from benchmarks.case import Case, Figure, NotMeasuredError, Work
from benchmarks.cases.trees import documents, grown, of_lightgbm
from directrank import TreeRanker, load_letor

STORE = Path(__file__).parents[1] / "system" / "store.py"
#: Documents of the store, 1.1 GB of features, and rounds of the fits whose memory is measured.
N_DOCS, ROUNDS = 2_000_000, 2


def once(work: Work, clock: Callable[[], float] = time.process_time) -> Figure:
    """Return the time of one call."""
    started = clock()
    work()
    return Figure(clock() - started)


def figures(ours: float, theirs: float) -> tuple[Work, Work]:
    """Return what was measured, as work."""
    return lambda: Figure(ours), lambda: Figure(theirs)


def million() -> tuple[Work, Work]:
    """Return fits of 100 trees on a million documents."""
    grown(documents(10_000), 31)()  # compiles
    groups = documents(1_000_000)
    found = once(grown(groups, 31)), once(of_lightgbm(groups, 31, "lambdarank"))
    documents.cache_clear()
    return figures(*found)


def chosen_rounds() -> tuple[Work, Work]:
    """Return a fit that chooses its rounds on held-out queries, and LightGBM's fit of that number."""
    groups, ranker = documents(100_000), TreeRanker("lambdarank", n_jobs=1)
    TreeRanker("lambdarank", rounds=2, n_jobs=1).fit(groups)  # compiles
    ours = once(lambda: ranker.fit(groups))
    return figures(ours, once(of_lightgbm(groups, 31, "lambdarank", ranker.scorer_.n_trees)))


def threads() -> tuple[Work, Work]:
    """Return fits on two threads and on one."""
    groups = documents(100_000)
    two, one = grown(groups, 31, n_jobs=2), grown(groups, 31)
    two()  # compiles
    return figures(once(two, time.perf_counter), once(one, time.perf_counter))


def collection(name: str, leaves: int) -> tuple[Work, Work]:
    """Return fits of 100 trees on the first fold of a collection of LETOR."""
    folder = Path(os.environ.get("DIRECTRANK_DATA", "")) / name / "Fold1"
    if not folder.is_dir():
        raise NotMeasuredError(f"no folder {folder}; DIRECTRANK_DATA names the one that has {name}")
    groups = load_letor(folder)[0]
    return grown(groups, leaves), of_lightgbm(groups, leaves, "lambdarank")


@cache
def store() -> tempfile.TemporaryDirectory:
    """Return a folder with a store, `made`, and a small one beside it."""
    from benchmarks.system.store import PER_QUERY, make

    folder = tempfile.TemporaryDirectory(prefix="directrank-")
    make(Path(folder.name) / "made", N_DOCS)
    make(Path(folder.name) / "made.small", 4000 * PER_QUERY)
    return folder


def memory(where: str) -> tuple[Work, Work]:
    """Return the most memory of a fit above that before it, and the size of the features, in bytes."""
    made = str(Path(store().name) / "made")
    words = [sys.executable, str(STORE), "--fit", made, "trees-lambdarank", where, "none", str(ROUNDS)]
    ended = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(ended.stdout)
    values = found["size"] / 4
    return figures(found["most"] - found["before"], values if where == "memory" else found["size"])


CASES = (
    Case(
        "boosting/million", "`trees-lambdarank`, 100 trees of 31 leaves on 1,000,000 × 136, one thread",
        "LightGBM's own lambdarank, one thread", million, target=0.85,
    ),
    Case(
        "boosting/chosen-rounds",
        "`trees-lambdarank` that chooses its rounds on held-out queries, 100,000 × 136, one thread",
        "LightGBM's own lambdarank of so many rounds, one thread", chosen_rounds, target=1.5,
    ),
    Case(
        "boosting/two-threads", "`trees-lambdarank`, 100 trees of 31 leaves on 100,000 × 136, two threads",
        "one thread", threads, clock="elapsed", target=0.67,
    ),
    Case(
        "boosting/ohsumed", "`trees-lambdarank`, 100 trees of 31 leaves on OHSUMED, one thread",
        "LightGBM's own lambdarank, one thread", partial(collection, "OHSUMED", 31), target=1.1,
    ),
    Case(
        "boosting/memory", f"memory of a fit of `trees-lambdarank` on {N_DOCS:,} × 136 in memory",
        "a byte for each value of the features", partial(memory, "memory"), clock="memory", target=3.2,
    ),
    Case(
        "boosting/store", f"memory of a fit of `trees-lambdarank` on a store of {N_DOCS:,} × 136",
        "the features", partial(memory, "store"), clock="memory", target=0.4,
    ),
)  # fmt: skip
