"""Time the kernels of one source tree; `compare_revisions.py` runs this file with each of two trees.

    PYTHONPATH=SRC python benchmarks/revision_timings.py [--only gradient,reader]

calls each row once, which compiles its kernels, and prints the path of the package and the labels of the rows
as JSON. For each label that it then reads it prints the processor seconds of the row. It uses names that both
trees have. Where a name has changed, the candidates are listed here and the first that the tree has is used;
a row is skipped if the tree has no name for it.
"""

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = os.environ["NUMBA_NUM_THREADS"] = "1"

import numpy as np

N_FEATURES = 136
SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)
LEAST_SECONDS = 0.02  # of one timing: shorter calls are repeated
FEW_RELEVANT = (0.85, 0.10, 0.03, 0.01, 0.01)
Calls = Iterator[tuple[str, Callable[[], Any]]]


def first_that_works(*makers: Callable[[], Any]) -> Any:
    """Return the result of the first function whose names the tree has; None if there is none."""
    for make in makers:
        try:
            return make()
        except (AttributeError, ImportError, TypeError, ValueError):
            continue
    return None


def drawn(n_queries: int, n_docs: int, shares=SHARES, seed=0):
    """Return queries of equal length with random features."""
    from directrank.data import QueryGroups

    rng = np.random.default_rng(seed)
    relevance = rng.choice(len(shares), n_queries * n_docs, p=shares).astype(float)
    X = rng.random((len(relevance), N_FEATURES), dtype=np.float32)
    return QueryGroups(X, relevance, np.repeat(np.arange(n_queries), n_docs))


def whole_gradients(surrogates: dict[str, Any], groups) -> Calls:
    """Yield gradients from parameters to parameters, in float32 on all shards."""
    from directrank.scorers import Linear
    from directrank.surrogates import Objective

    gradient = first_that_works(
        lambda: import_module("directrank.solvers.passes").value_and_gradient,
        lambda: import_module("directrank.solvers.smooth.gradient").value_and_gradient,
        lambda: import_module("directrank.solvers.gradient").value_and_gradient,
    )
    theta = np.random.default_rng(2).normal(size=N_FEATURES) / 30
    for label, surrogate in surrogates.items():
        if surrogate is not None:
            objective = Objective(surrogate, groups.queries, groups.shards)
            yield label, lambda o=objective: gradient(o, Linear(), theta, groups.features)


def gradient_rows() -> Calls:
    """The smooth approximations on whole gradients, with half and with few of the documents relevant."""
    from directrank.measures import AP, NDCG
    from directrank.surrogates import SmoothedPositions

    half, few = drawn(1500, 120), drawn(1500, 120, FEW_RELEVANT)
    flat = half.features.reshape(-1)
    yield "read pass (NumPy)", lambda: flat.sum()
    measures = {"ApproxNDCG": NDCG(), "ApproxNDCG@10": NDCG(10), "ApproxAP": AP()}
    yield from whole_gradients({name: SmoothedPositions(each) for name, each in measures.items()}, half)
    yield from whole_gradients({"ApproxAP, 15 % relevant": SmoothedPositions(AP())}, few)


def pairwise_rows() -> Calls:
    """The losses on pairs, on whole gradients."""
    from directrank import surrogates as s
    from directrank.measures import AP, DCG, NDCG

    losses = {
        "consistent, Huber": lambda: s.OrderPreserving(DCG()),
        "consistent, squared hinge": lambda: s.OrderPreserving(DCG(), margin="squared_hinge"),
        "RankSVM, squared hinge": lambda: s.Pairwise(margin="squared_hinge"),
        "preorder, Huber": lambda: s.Pairwise(),
        "RankNet, logistic": lambda: s.Pairwise(margin="logistic"),
    }
    found = {name: first_that_works(make) for name, make in losses.items()}
    found["RankSVM, hinge"] = first_that_works(lambda: s.PairwiseHinge(), lambda: s.Pairwise(margin="hinge"))
    weighted = first_that_works(lambda: s.SwapWeighted, lambda: s.LambdaWeighted)
    found["LambdaLoss"] = first_that_works(lambda: weighted(NDCG()))
    lambdarank = (lambda: weighted(AP(), weights="swap")), (lambda: weighted(AP()))
    found["LambdaRank of AP"] = first_that_works(*lambdarank)
    yield from whole_gradients(found, drawn(1000, 120))
    long_lists = {f"{name}, 4,000 documents": each for name, each in list(found.items())[:4]}
    yield from whole_gradients(long_lists, drawn(30, 4000))


def listwise_rows() -> Calls:
    """The listwise losses and the other smooth measures, on whole gradients of lists of three lengths."""
    from directrank import surrogates as s
    from directrank.measures import AP, ERR, NDCG, RR, P

    surrogates = {
        "ListNet": s.SoftmaxCrossEntropy(),
        "ListMLE": s.PlackettLuce(),
        "RankCosine": first_that_works(
            lambda: import_module("directrank.apps.papers").CosineDistance(), lambda: s.CosineDistance()
        ),
        "ApproxP@5": s.SmoothedPositions(P(5)),
        "ApproxRR": s.SmoothedPositions(RR()),
        "ApproxERR": s.SmoothedPositions(ERR(max_grade=4)),
    }
    for n_docs in (25, 120, 1000):
        both = {"ApproxNDCG": s.SmoothedPositions(NDCG()), "ApproxAP": s.SmoothedPositions(AP())}
        shown = surrogates if n_docs == 120 else surrogates | both
        rows = {f"{name}, {n_docs} documents": each for name, each in shown.items()}
        yield from whole_gradients(rows, drawn(60_000 // n_docs, n_docs))
    soft = {"SoftRank, 60 documents": s.GaussianNoise(NDCG(), noise=0.1)}
    yield from whole_gradients(soft, drawn(120, 60))


def evaluation_rows() -> Calls:
    """AP and nDCG@10 of 10,000 queries of 100 documents, from ready queries and from arrays."""
    from directrank import evaluate
    from directrank.data.grouping import group_rows
    from directrank.measures import AP, NDCG, mean_values

    rng = np.random.default_rng(0)
    for label, shares in {"48 % relevant": SHARES, "15 % relevant": FEW_RELEVANT}.items():
        relevance = rng.choice(len(shares), 1_000_000, p=shares).astype(float)
        scores, qid = rng.normal(size=len(relevance)) + 0.5 * relevance, np.repeat(np.arange(10_000), 100)
        queries, order = group_rows(relevance, qid)
        inner = scores[order]
        yield (
            f"AP and nDCG@10, {label}",
            lambda q=queries, s=inner: mean_values([AP(), NDCG(10)], q, s, n_threads=1),
        )
    yield "evaluate() of arrays", lambda: evaluate(relevance, scores, qid, measures=["AP", "nDCG@10"])


def reader_rows() -> Calls:
    """Reading of LETOR text of 136 features."""
    from directrank import read_letor, write_letor

    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "text.txt"
    write_letor(drawn(150, 120), path)

    def read(held=folder):  # the folder lives as long as the function
        return read_letor(path)

    yield "read_letor", read


def fit_rows() -> Calls:
    """Whole fits of twelve methods on 200,000 documents of 40 features; of six on a part of them.

    Boosting keeps its last round, as it always did before it chose the round on held-out queries.
    """
    import directrank as d

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 40)).astype(np.float32)
    utility = X[:, :5].sum(axis=1) + X[:, 5] * X[:, 6] + rng.normal(size=len(X))
    relevance = np.digitize(utility, [1.0, 3.0, 5.0]).astype(float)
    qid = np.repeat(np.arange(4000), 50)
    rankers = {
        "regression": lambda: d.Regression(),
        "ranksvm": lambda: d.RankSVM(),
        "listnet": lambda: d.ListNet(),
        "approxndcg": lambda: d.ApproxRank("nDCG@10"),
        "lambdarank": lambda: d.LambdaRank("nDCG@10"),
        "lambdaloss": lambda: d.LambdaLoss("nDCG@10"),
        "consistent-ndcg": lambda: d.ConsistentRank("nDCG@10"),
        "svmmap": lambda: d.StructuralSVM("AP"),
        "adarank": lambda: d.AdaRank("nDCG@10", variant="paper", rounds=50),
        "coordinate-ascent": lambda: d.CoordinateAscent("nDCG@10", cycles=2, runs=1),
        "rankboost": lambda: d.RankBoost(rounds=50),
        "frank": lambda: d.FRank(rounds=50),
        "trees": lambda: d.TreeRanker("lambdarank", measure="nDCG@10", rounds=20),
    }
    parts = {
        "svmmap": 5_000,
        "coordinate-ascent": 5_000,
        "adarank": 50_000,
        "rankboost": 50_000,
        "frank": 50_000,
        "trees": 50_000,
    }
    for label, ranker in rankers.items():
        rows = slice(parts.get(label))

        def fit(make=ranker, rows=rows):
            chosen = make()
            if "keep" in chosen.get_params():
                chosen.set_params(keep="last")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of fits that end at the number of rounds
                chosen.fit(X[rows], relevance[rows], qid=qid[rows])

        yield label, fit


BENCHMARKS = {
    "gradient": gradient_rows,
    "pairwise": pairwise_rows,
    "listwise": listwise_rows,
    "evaluation": evaluation_rows,
    "reader": reader_rows,
    "fits": fit_rows,
}


def timed(call: Callable[[], Any], times: int) -> float:
    """Return the mean processor time of some calls."""
    start = time.process_time()
    for _ in range(times):
        call()
    return max((time.process_time() - start) / times, 1e-9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(BENCHMARKS), help="benchmarks, separated by commas")
    names = parser.parse_args().only.split(",")
    calls = {f"{name}: {label}": call for name in names for label, call in BENCHMARKS[name]()}
    for call in calls.values():
        call()  # The first call compiles.
    times = {label: max(1, int(LEAST_SECONDS / timed(call, 1))) for label, call in calls.items()}
    import directrank

    print(json.dumps([directrank.__file__, list(calls)]), flush=True)
    for line in sys.stdin:
        label = line.rstrip("\n")
        print(timed(calls[label], times[label]), flush=True)


if __name__ == "__main__":
    main()
