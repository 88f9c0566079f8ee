"""Full gradients of training, from coefficients to coefficients, beside a read pass over the features."""

from functools import cache, partial

import numpy as np

from benchmarks.case import Case, Work
from benchmarks.kernels.listwise import collection
from benchmarks.kernels.web30k import make_web30k
from benchmarks.read_pass import read_pass
from directrank.contracts import Reweighable, Surrogate
from directrank.features.shards import make_shards
from directrank.kernels.aligned import aligned_zeros
from directrank.measures import AP, DCG, ERR, NDCG, RR
from directrank.scorers import Linear
from directrank.solvers.passes import value_and_gradient
from directrank.surrogates import Objective, OrderPreserving, Pairwise, SmoothedPositions, SwapWeighted

#: The share of the queries of MSLR-WEB30K: 7,882 queries, 510 MB of features.
SHARE = 0.25
LONG_LIST, LONG_LISTS, RELEVANT = 1000, 120, 0.48


@cache
def web30k():
    """Return queries and features with MSLR-WEB30K's list lengths."""
    groups = make_web30k(SHARE)
    return groups.queries, groups.features


@cache
def long_lists():
    """Return queries of 1,000 documents, and features."""
    queries, features = collection(LONG_LIST, LONG_LIST * LONG_LISTS, RELEVANT)
    aligned = aligned_zeros(features.shape, np.float32)
    aligned[:] = features
    return queries, aligned


def gradient(surrogate: Surrogate, data) -> tuple[Work, Work]:
    """Return a full gradient, and a read pass over the features; data is one of the functions above."""
    queries, features = data()
    n_features = features.shape[1]
    objective = Objective(surrogate, queries, make_shards(queries.indptr, n_features))
    objective.dtype = np.float32
    w = np.random.default_rng(2).normal(size=n_features) / 30
    if Reweighable in objective.offers:
        objective.reweigh(Linear().forward(w, features, np.float32))
    return (
        lambda: value_and_gradient(objective, Linear(), w, features),
        lambda: read_pass(features.reshape(-1)),
    )


def case(key: str, words: str, surrogate: Surrogate, data, target: float) -> Case:
    """Return the case of one surrogate."""
    lists = "lists as in MSLR-WEB30K" if data is web30k else "lists of 1,000 documents, 48 % relevant"
    return Case(
        f"gradients/{key}",
        f"full gradient of {words}, {lists}, one thread",
        "a read pass over the features",
        partial(gradient, surrogate, data),
        target=target,
    )


CASES = (
    case("consistent", "the consistent loss, squared hinge", OrderPreserving(DCG(), margin="squared_hinge"),
         web30k, 2.8),
    case("consistent-huber", "the consistent loss, Huber margin", OrderPreserving(DCG()), web30k, 2.8),
    case("ranksvm", "RankSVM, squared hinge", Pairwise(margin="squared_hinge"), web30k, 2.8),
    case("ranknet", "RankNet", Pairwise(margin="logistic"), web30k, 3.0),
    case("lambdaloss", "LambdaLoss", SwapWeighted(NDCG()), web30k, 4.0),
    case("lambdarank-ap", "LambdaRank of AP", SwapWeighted(AP(), weights="swap"), web30k, 5.0),
    case("approxndcg", "ApproxNDCG", SmoothedPositions(NDCG()), web30k, 3.0),
    case("approxap", "ApproxAP", SmoothedPositions(AP()), web30k, 3.5),
    case("approxerr-long", "ApproxERR", SmoothedPositions(ERR(max_grade=4)), long_lists, 10.0),
    case("approxrr-long", "ApproxRR", SmoothedPositions(RR()), long_lists, 10.0),
)  # fmt: skip
