"""Evaluation of AP and nDCG@10 over 10,000 queries of 100 documents, on arrays in memory.

    python benchmarks/kernels/evaluation.py [--queries 10000] [--documents 100] [--rounds 25]

All competitors run in one process, in another order each round; the table shows the ratio of each median to
that of directrank. The competitors run on one thread; directrank runs with its default number of threads,
which is one at this size, and once with one thread. pytrec_eval and ranx get their own data structures,
prepared outside the clock, and ranx is timed after its compilation. directrank caches the ideal DCG of
queries that it has seen, so there are three NumPy yardsticks: with the ideal prepared, without it, and with
a stable sort, which makes ties reproducible. Competitors that are not installed are skipped.
"""

import argparse
import functools
import os
import random
import statistics
import time

os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np

from directrank.data.grouping import group_rows
from directrank.measures import AP, NDCG, mean_values

# Shares of the grades: about those of MSLR-WEB30K, and 15 % relevant as in collections of judged pools.
COLLECTIONS = {"48 % relevant": [0.52, 0.32, 0.13, 0.02, 0.01], "15 % relevant": [0.85, 0.10, 0.05]}


def collection(n_queries, n_documents, shares, seed=0):
    rng = np.random.default_rng(seed)
    relevance = rng.choice(len(shares), (n_queries, n_documents), p=shares).astype(float)
    scores = rng.normal(size=relevance.shape) + 0.5 * relevance
    return relevance, scores


def ours(relevance, scores, n_threads=None):
    queries, order = group_rows(relevance.ravel(), np.repeat(np.arange(len(relevance)), relevance.shape[1]))
    inner = scores.ravel()[order]
    return lambda: mean_values([AP(), NDCG(10)], queries, inner, n_threads=n_threads)


def batched_numpy(relevance, scores, caches_ideal=True, kind=None):
    ranks = np.arange(1, relevance.shape[1] + 1)
    discount = 1.0 / np.log2(1.0 + ranks[:10])

    def ideals():
        ideal = (2.0 ** np.sort(relevance)[:, ::-1][:, :10] - 1.0) @ discount
        return np.where(ideal > 0, ideal, 1.0)

    cached = ideals()

    def both():
        ideal = cached if caches_ideal else ideals()
        ranked = np.take_along_axis(relevance, np.argsort(-scores, axis=1, kind=kind), axis=1)
        relevant = ranked > 0
        hits = np.cumsum(relevant, axis=1)
        ap = (relevant * hits / ranks).sum(axis=1) / np.maximum(hits[:, -1], 1)
        ndcg = (2.0 ** ranked[:, :10] - 1.0) @ discount / ideal
        return [ap.mean(), ndcg.mean()]

    return both


def dictionaries(relevance, scores):
    names = [f"d{i}" for i in range(relevance.shape[1])]
    judged = {f"q{q}": dict(zip(names, y, strict=True)) for q, y in enumerate(relevance.astype(int).tolist())}
    run = {f"q{q}": dict(zip(names, s, strict=True)) for q, s in enumerate(scores.tolist())}
    return judged, run


def by_pytrec_eval(relevance, scores):
    import pytrec_eval

    judged, run = dictionaries(relevance, scores)
    evaluator = pytrec_eval.RelevanceEvaluator(judged, {"map", "ndcg_cut.10"})

    def both():
        values = evaluator.evaluate(run).values()
        return [statistics.fmean(each[name] for each in values) for name in ("map", "ndcg_cut_10")]

    return both


def by_ranx(relevance, scores):
    import ranx

    judged, run = map(lambda kind, each: kind(each), (ranx.Qrels, ranx.Run), dictionaries(relevance, scores))
    return lambda: list(ranx.evaluate(judged, run, ["map", "ndcg_burges@10"]).values())


COMPETITORS = {
    "directrank": ours,
    "directrank, one thread": functools.partial(ours, n_threads=1),
    "NumPy argsort": batched_numpy,
    "NumPy argsort, with ideal": functools.partial(batched_numpy, caches_ideal=False),
    "NumPy stable argsort": functools.partial(batched_numpy, kind="stable"),
    "pytrec_eval (linear gain)": by_pytrec_eval,
    "ranx": by_ranx,
}


def compare(relevance, scores, rounds):
    runners, seconds = {}, {}
    for name, prepare in COMPETITORS.items():
        try:
            runners[name] = prepare(relevance, scores)
        except ImportError as error:
            print(f"  {name} is skipped: {error}")
    values = {name: run() for name, run in runners.items()}  # the first call compiles
    order = random.Random(0)
    for _ in range(rounds):
        # A competitor is slower after one that fills the caches, so the order changes every round.
        for name, run in order.sample(list(runners.items()), len(runners)):
            start = time.perf_counter()
            run()
            seconds.setdefault(name, []).append(time.perf_counter() - start)
    own = statistics.median(seconds["directrank"])
    for name in runners:
        times = seconds[name]
        ap, ndcg = values[name]
        middle, spread = statistics.median(times), f"{min(times) * 1e3:.1f}-{max(times) * 1e3:.1f}"
        print(
            f"  {name:<26} AP {ap:.6f}  nDCG@10 {ndcg:.6f}  median {middle * 1e3:7.1f} ms ({spread})"
            f"  {middle / own:6.1f} x"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=25)
    asked = parser.parse_args()
    for title, shares in COLLECTIONS.items():
        print(f"{asked.queries} queries x {asked.documents} documents, {title}")
        compare(*collection(asked.queries, asked.documents, shares), asked.rounds)


if __name__ == "__main__":
    main()
