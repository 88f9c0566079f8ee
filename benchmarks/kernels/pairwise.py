"""Losses on pairs as multiples of one read pass over the features.

    python -m benchmarks.kernels.pairwise [--multiple 0.1] [--pieces 1] [--documents 200000] [--rounds 7]

First the kernels alone, on lists of 25, 120 and 1,000 documents, in both forms: the vectorised loop over
pairs, and sorting with prefix sums; then the list length from which sorting is faster. Then whole gradients,
from parameters to parameters, on a collection shaped like MSLR-WEB30K; `--multiple 1 --pieces 10` uses all
of it, 0.2 GB at a time. The yardstick is the sum of all features (136 for each document) in the same
process; times are minima of processor time on one thread.
"""

import argparse
import time

import numpy as np

from benchmarks.kernels.web30k import make_web30k
from directrank.contracts import HessianVector
from directrank.data.grouping import group_rows
from directrank.kernels.compile import kernel
from directrank.measures import AP, DCG, NDCG
from directrank.scorers import Linear
from directrank.solvers.newton import hessian_vector
from directrank.solvers.passes import value_and_gradient
from directrank.surrogates import (
    Objective,
    OrderPreserving,
    Pairwise,
    PairwiseHinge,
    SmoothedPositions,
    SwapWeighted,
)
from directrank.surrogates.pairs import hinges as pair_sorting

N_FEATURES = 136
SHARES = [0.52, 0.32, 0.13, 0.02, 0.01]
SURROGATES = {
    "consistent, squared hinge": OrderPreserving(DCG(), margin="squared_hinge"),
    "consistent, Huber": OrderPreserving(DCG()),
    "RankSVM, squared hinge": Pairwise(margin="squared_hinge"),
    "preorder, Huber": Pairwise(),
    "RankNet, logistic": Pairwise(margin="logistic"),
    "RankSVM, hinge": PairwiseHinge(),
    "LambdaLoss": SwapWeighted(NDCG()),
    "LambdaRank of AP": SwapWeighted(AP(), weights="swap"),
}
#: Timed on whole gradients only, for comparison; `listwise.py` has the details.
SMOOTH = {"ApproxNDCG": SmoothedPositions(NDCG()), "ApproxAP": SmoothedPositions(AP())}
READ = "(read pass)"


@kernel
def read_pass(X):
    """Sum all features: the least work that reading them once can take."""
    total = np.float32(0)
    for k in range(len(X)):
        total += X[k]
    return total


def least_time(run, rounds):
    """Return the least processor time of some runs, in seconds, after one run that compiles."""
    run()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def lists(n_docs, length, seed=0):
    """Return queries of equal length, and scores correlated with relevance."""
    rng = np.random.default_rng(seed)
    n_queries = max(1, n_docs // length)
    relevance = rng.choice(len(SHARES), n_queries * length, p=SHARES).astype(float)
    queries, order = group_rows(relevance, np.repeat(np.arange(n_queries), length))
    scores = rng.normal(size=len(relevance)) + 0.5 * relevance
    return queries, scores[order].astype(np.float32)


def in_form(surrogate, queries, pairs_per_document):
    """Return the oracles, with the list length set at which sorting replaces the loop."""
    default, pair_sorting.PAIRS_PER_DOCUMENT = pair_sorting.PAIRS_PER_DOCUMENT, pairs_per_document
    try:
        return surrogate.on(queries, np.full(queries.n_queries, 1.0 / queries.n_queries))
    finally:
        pair_sorting.PAIRS_PER_DOCUMENT = default


def kernels(n_docs, rounds):
    print("Value and gradient on scores: passes (ns per document) of the loop over pairs | of sorting")
    lengths = (25, 120, 1000)
    print(f"{'documents per query':<28}" + "".join(f"{n:>32}" for n in lengths))
    data = {n: lists(n_docs, n) for n in lengths}
    features = np.random.default_rng(1).random((n_docs, N_FEATURES), dtype=np.float32).ravel()
    one_pass = least_time(lambda: read_pass(features), rounds) / n_docs
    print(f"{'(one read pass)':<28}" + f"{f'1.00 ({one_pass * 1e9:.1f})':>32}" * len(lengths))
    for name, surrogate in SURROGATES.items():
        cells = []
        for n in lengths:
            queries, scores = data[n]
            texts = []
            for form in (1e18, 0.0):
                if form == 0.0 and ("logistic" in name or "Lambda" in name):
                    continue
                oracles = in_form(surrogate, queries, form)
                spent = least_time(lambda b=oracles, s=scores: b.value_and_gradient(s), rounds) / len(scores)
                texts.append(f"{spent / one_pass:.2f} ({spent * 1e9:.1f})")
            cells.append(" | ".join(texts))
        print(f"{name:<28}" + "".join(f"{cell:>32}" for cell in cells))


def switch_point(n_docs, rounds):
    print("\nTime of the loop over pairs / time of sorting, by documents per query")
    lengths = (500, 1000, 1500, 2000, 3000, 4000, 6000, 8000)
    print(f"{'':<28}" + "".join(f"{n:>8}" for n in lengths))
    for name, surrogate in list(SURROGATES.items())[:4]:
        ratios = []
        for n in lengths:
            queries, scores = lists(max(n_docs // 4, 2 * n), n)
            spent = []
            for form in (1e18, 0.0):
                oracles = in_form(surrogate, queries, form)
                spent.append(least_time(lambda b=oracles, s=scores: b.value_and_gradient(s), rounds))
            ratios.append(spent[0] / spent[1])
        print(f"{name:<28}" + "".join(f"{ratio:>8.2f}" for ratio in ratios))


def whole_gradients(multiple, pieces, rounds):
    """Print full-batch gradients in read passes; pieces are drawn one after the other and summed."""
    theta = np.random.default_rng(2).normal(size=N_FEATURES) / 30
    total, n_queries, n_docs = {}, 0, 0
    for piece in range(pieces):
        groups = make_web30k(multiple / pieces, random_state=piece)
        n_queries, n_docs = n_queries + groups.n_queries, n_docs + groups.n_docs
        for name, seconds in fastest(dict(candidates(groups, theta)), rounds).items():
            total[name] = total.get(name, 0.0) + seconds
    one_pass = total.pop(READ)
    print(
        f"\nweb30k x {multiple:g} in {pieces} piece(s): {n_queries} queries, {n_docs} documents, "
        f"{N_FEATURES} features\nFull-batch gradients in read passes of {one_pass * 1e3:.1f} ms, "
        f"{n_docs * N_FEATURES * 4 / one_pass / 1e9:.1f} GB/s"
    )
    for name, seconds in total.items():
        print(f"{name:<40}{seconds / one_pass:8.2f}")


def candidates(groups, theta):
    """Yield the read pass, and gradients from parameters to parameters on the same documents."""
    X, flat = groups.features, groups.features.ravel()
    yield READ, lambda: read_pass(flat)
    for name, surrogate in {**SURROGATES, **SMOOTH}.items():
        objective = Objective(surrogate, groups.queries, groups.shards)
        objective.dtype = np.float32  # the whole collection has several shards and uses float32
        yield name, lambda o=objective: value_and_gradient(o, Linear(), theta, X)
        if HessianVector in surrogate.offers:
            scores = Linear().forward(theta, X, np.float32)
            yield (
                f"{name}, with the Hessian",
                lambda o=objective, s=scores: hessian_vector(o, Linear(), theta, s, X),
            )


def fastest(calls, rounds):
    """Return the seconds of the fastest call of each; calls take turns, so that other load disturbs all."""
    seconds = dict.fromkeys(calls, np.inf)
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.thread_time()
            call()
            seconds[name] = min(seconds[name], time.thread_time() - start)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--multiple", type=float, default=0.1, help="of the queries of MSLR-WEB30K")
    parser.add_argument("--pieces", type=int, default=1, help="draw the collection in pieces, one in memory")
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only-whole", action="store_true", help="only the gradients on the collection")
    options = parser.parse_args()
    if not options.only_whole:
        kernels(options.documents, options.rounds)
        switch_point(options.documents, options.rounds)
    whole_gradients(options.multiple, options.pieces, options.rounds)


if __name__ == "__main__":
    main()
