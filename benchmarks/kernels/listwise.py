"""Smooth and listwise surrogates as multiples of a read pass over 136 features.

    python benchmarks/kernels/listwise.py [--documents 120000] [--relevant 0.15 0.48] [--rounds 5]

For each surrogate, at 25, 120 and 1,000 documents per query and at list lengths like MSLR-WEB30K's: value and
gradient with respect to scores alone, and the whole gradient of a linear model (scores, surrogate, product
with the features), both divided by one pass that reads the features. One thread, float32, least
processor time of some repetitions, all in one process.
"""

import argparse
import math
import time

import numba
import numpy as np

from directrank.apps.papers import CosineDistance
from directrank.data.grouping import group_rows
from directrank.features.shards import make_shards
from directrank.measures import AP, ERR, NDCG, RR, P
from directrank.scorers import Linear
from directrank.solvers.passes import value_and_gradient
from directrank.surrogates import (
    GaussianNoise,
    Objective,
    PlackettLuce,
    SmoothedPositions,
    SoftmaxCrossEntropy,
)

N_FEATURES = 136
SURROGATES = {
    "ApproxNDCG": SmoothedPositions(NDCG()),
    "ApproxNDCG@10": SmoothedPositions(NDCG(10)),
    "ApproxAP": SmoothedPositions(AP()),
    "ApproxP@5": SmoothedPositions(P(5)),
    "ApproxRR": SmoothedPositions(RR()),
    "ApproxERR": SmoothedPositions(ERR(max_grade=4)),
    "ListNet": SoftmaxCrossEntropy(),
    "ListMLE": PlackettLuce(),
    "RankCosine": CosineDistance(),
    "SoftRank": GaussianNoise(NDCG(), noise=0.1, longest=2000),
}
READ = "(read pass)"
# SoftRank is cubic in the list length, so it is timed on this share of the documents.
SHARE = {"SoftRank": 0.05}


def list_lengths(length, n_docs, rng):
    if length != "web30k":
        return np.full(max(1, n_docs // length), length)
    return np.clip(rng.lognormal(4.6, 0.6, max(1, n_docs // 119)), 1, 1251).astype(int)


def collection(length, n_docs, relevant, seed=0):
    rng = np.random.default_rng(seed)
    sizes = list_lengths(length, n_docs, rng)
    shares = np.array([1 - relevant, *(relevant * np.array([0.67, 0.27, 0.04, 0.02]))])
    relevance = rng.choice(5, sizes.sum(), p=shares).astype(float)
    queries = group_rows(relevance, np.repeat(np.arange(len(sizes)), sizes))[0]
    return queries, rng.random((queries.n_docs, N_FEATURES), np.float32)


@numba.njit(error_model="numpy", fastmath={"reassoc", "contract"})
def read_pass(features):
    total = np.float32(0.0)
    flat = features.ravel()
    for i in range(len(flat)):
        total += flat[i]
    return total


def fastest(calls, rounds):
    """Return the seconds of the fastest call of each; calls take turns, so that other load disturbs all."""
    seconds = dict.fromkeys(calls, math.inf)
    for call in calls.values():
        call()  # the first call compiles
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.thread_time()
            call()
            seconds[name] = min(seconds[name], time.thread_time() - start)
    return seconds


def table(length, relevant, n_docs, rounds):
    queries, features = collection(length, n_docs, relevant)
    calls, docs = {READ: lambda: read_pass(features)}, {READ: queries.n_docs}
    w = np.random.default_rng(1).normal(size=N_FEATURES) / math.sqrt(N_FEATURES)
    for name, surrogate in SURROGATES.items():
        part = queries.part(0, max(1, int(SHARE.get(name, 1.0) * queries.n_queries)))
        if surrogate.uninformative(part).all():
            continue
        block = features[: part.n_docs]
        objective = Objective(surrogate, part, make_shards(part.indptr, N_FEATURES))
        objective.dtype = np.float32
        scores = Linear().forward(w, block, np.float32)
        calls[name, "alone"] = lambda o=objective, s=scores: o.value_and_gradient(s)
        calls[name, "whole"] = lambda o=objective, X=block: value_and_gradient(o, Linear(), w, X)
        docs[name, "alone"] = docs[name, "whole"] = part.n_docs
    seconds = {key: each / docs[key] for key, each in fastest(calls, rounds).items()}
    one_pass = seconds[READ]
    print(
        f"\n{length} documents per query, {relevant:.0%} relevant; pass {one_pass * 1e9:.1f} ns per document"
    )
    print(f"{'':16}{'ns per document':>15}{'surrogate':>12}{'gradient':>12}")
    for name in SURROGATES:
        if (name, "alone") in seconds:
            alone, whole = seconds[name, "alone"], seconds[name, "whole"]
            print(f"{name:16}{alone * 1e9:15.1f}{alone / one_pass:11.2f}x{whole / one_pass:11.2f}x")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=120_000)
    parser.add_argument("--relevant", type=float, nargs="+", default=[0.15, 0.48])
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    for relevant in asked.relevant:
        for length in (25, 120, 1000, "web30k"):
            table(length, relevant, asked.documents, asked.rounds)


if __name__ == "__main__":
    main()
