"""The linear pass of training, scores and the product Xᵀg: one and two threads."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from benchmarks.case import Case, Work
from benchmarks.kernels.gradient import Echo, same_length_queries
from benchmarks.read_pass import read_pass
from directrank.contracts import Surrogate
from directrank.features.shards import make_shards, map_in_order
from directrank.kernels.aligned import aligned_zeros
from directrank.measures import NDCG
from directrank.scorers import Linear
from directrank.solvers.passes import value_and_gradient
from directrank.surrogates import Objective, SmoothedPositions, SwapWeighted

N_QUERIES, N_DOCS, N_FEATURES = 8_000, 120, 136


@cache
def data():
    """Return queries, features of 522 MB, and coefficients."""
    rng = np.random.default_rng(0)
    queries = same_length_queries(N_QUERIES, N_DOCS, rng)
    features = aligned_zeros((queries.n_docs, N_FEATURES), np.float32)
    rng.standard_normal(dtype=np.float32, out=features)
    return queries, features, rng.normal(size=N_FEATURES) / 50


def gradient(surrogate: Surrogate, n_threads: int = 1) -> Work:
    """Return a pass that computes the gradient by coefficients."""
    queries, features, w = data()
    shards = make_shards(queries.indptr, N_FEATURES)
    objective = Objective(surrogate, queries, shards, normalise=False, n_threads=n_threads)
    return lambda: value_and_gradient(objective, Linear(), w, features)


def linear() -> tuple[Work, Work]:
    """Return a pass with a gradient by scores that costs nothing, and a read pass."""
    return gradient(Echo()), lambda: read_pass(data()[1].reshape(-1))


def threads(surrogate: Surrogate) -> tuple[Work, Work]:
    """Return a pass on two threads, and on one."""
    return gradient(surrogate, n_threads=2), gradient(surrogate)


def reading() -> tuple[Work, Work]:
    """Return a read pass on two threads, and on one: what the memory of this machine allows."""
    pieces = np.array_split(data()[1].reshape(-1), 64)
    return lambda: map_in_order(read_pass, pieces, 2), lambda: map_in_order(read_pass, pieces)


def two_threads(key: str, what: str, prepare: Callable[[], tuple[Work, Work]], target: float | None) -> Case:
    """Return a case of two threads against one."""
    return Case(
        f"passes/two-threads{key}", f"{what}, two threads", "the same on one thread", prepare,
        faster=True, target=target, clock="elapsed",
    )  # fmt: skip


APPROX, LAMBDA = SmoothedPositions(NDCG()), SwapWeighted(NDCG())
CASES = (
    Case(
        "passes/linear",
        "scores of documents and Xᵀg, 522 MB of features in float32, one thread",
        "a read pass over the features",
        linear,
        target=1.6,
    ),
    two_threads("-read", "a read pass over the features", reading, None),
    two_threads("", "gradient of ApproxNDCG", partial(threads, APPROX), 1.7),
    two_threads("-lambdaloss", "gradient of LambdaLoss", partial(threads, LAMBDA), 1.7),
)
