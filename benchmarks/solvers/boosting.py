"""Boosting over documents: the time of a round, as a multiple of reading the data once.

    python benchmarks/solvers/boosting.py [--docs 1000000] [--data OHSUMED]

Times are the least processor time of some repetitions; ratios are computed within one run.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from directrank import QueryGroups, RankBoost, load_letor
from directrank.data.queries import Queries
from directrank.features.shards import make_shards
from directrank.kernels.compile import kernel
from directrank.measures import NDCG
from directrank.solvers.stumps import HistogramStumps
from directrank.surrogates import ExpectedMeasure, ExponentialPairs, Objective

N_FEATURES, DOCS_PER_QUERY, GRADES = 136, 120, (0.52, 0.32, 0.12, 0.03, 0.01)


@kernel
def read(words):
    total = words.dtype.type(0)
    for i in range(len(words)):
        total += words[i]
    return total


def least_seconds(function, repeats=7):
    function()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def made_up(n_docs, rng):
    """Return random queries of 120 documents, in the order that the kernels use."""
    n_queries = n_docs // DOCS_PER_QUERY
    relevance = rng.choice(len(GRADES), (n_queries, DOCS_PER_QUERY), p=GRADES).astype(float)
    relevance = -np.sort(-relevance, axis=1).ravel()
    indptr = np.arange(n_queries + 1, dtype=np.int64) * DOCS_PER_QUERY
    queries = Queries(relevance, indptr, np.arange(len(relevance)), np.arange(n_queries))
    features = rng.random((len(relevance), N_FEATURES), dtype=np.float32)
    return QueryGroups.from_inner(features, queries)


def line(what, seconds, yardstick, unit):
    print(f"{what:58s} {1e3 * seconds:9.1f} ms {seconds / yardstick:8.2f} x {unit}")


def round_of_rankboost(groups):
    objective = Objective(ExponentialPairs(), groups.queries, make_shards(groups.queries.indptr, N_FEATURES))
    start = time.process_time()
    search = HistogramStumps(objective, groups.features, "eta")
    binning = time.process_time() - start
    by_gini = HistogramStumps.__new__(HistogramStumps)
    by_gini.__dict__.update(search.__dict__, by_gini=True)
    words = search.bins.reshape(-1).view(np.uint64)
    reading = least_seconds(lambda: read(words))
    scores = np.random.default_rng(1).normal(size=groups.n_docs)
    weights = objective.value_and_gradient(scores)[1]

    def whole_round():
        w = objective.value_and_gradient(scores)[1]
        tree = search.best(w, None)
        objective.step_along(scores, tree.scores(groups.features))

    unit = "reading the binned matrix"
    print(f"RankBoost, {groups.n_docs} documents x {N_FEATURES} features, one thread")
    line("reading the binned matrix", reading, reading, unit)
    line("binning, once", binning, reading, unit)
    line("histograms of the weights", least_seconds(lambda: search.histograms(weights)), reading, unit)
    line("histograms of weights and their sizes (gini)", least_seconds(lambda: by_gini.histograms(weights)),
         reading, unit)  # fmt: skip
    line("potentials", least_seconds(lambda: objective.value_and_gradient(scores)), reading, unit)
    line("one round: potentials, search, predictions, step", least_seconds(whole_round), reading, unit)


def pair_pass(groups):
    words = groups.features.reshape(-1)
    reading = least_seconds(lambda: read(words))
    objective = Objective(
        ExpectedMeasure(NDCG()), groups.queries, make_shards(groups.queries.indptr, N_FEATURES)
    )
    rng = np.random.default_rng(2)
    scores = rng.normal(size=groups.n_docs).astype(objective.dtype)
    direction = (rng.random(groups.n_docs) < 0.5).astype(float)
    unit = "reading the features"
    print(f"NDCG_Boost, {DOCS_PER_QUERY} documents per query, one thread")
    line("reading the features, float32", reading, reading, unit)
    line(
        "pair pass: value and weights",
        least_seconds(lambda: objective.value_and_gradient(scores)),
        reading,
        unit,
    )
    line("sums of (15) along a stump", least_seconds(lambda: objective.step_along(scores, direction)),
         reading, unit)  # fmt: skip


def ohsumed(folder):
    train, vali, _ = load_letor(folder / "Fold1")
    RankBoost(rounds=2).fit(train, eval_set=vali)
    for search in ("exact", "histogram"):
        start = time.perf_counter()
        RankBoost(rounds=300, search=search).fit(train, eval_set=vali)
        seconds = time.perf_counter() - start
        print(f"RankBoost, 300 rounds on {folder.name} fold 1, {search}: {seconds:.2f} s, every round judged")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", type=int, default=1_000_000, help="documents of the made-up collection")
    parser.add_argument("--data", type=Path, help="the folder of OHSUMED, with Fold1")
    options = parser.parse_args()
    groups = made_up(options.docs, np.random.default_rng(0))
    round_of_rankboost(groups)
    pair_pass(groups)
    if options.data:
        ohsumed(options.data)


if __name__ == "__main__":
    main()
