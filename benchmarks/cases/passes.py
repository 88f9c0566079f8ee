"""The linear pass of training, scores and the product Xᵀg: single and half precision, one and two threads."""

from functools import cache, partial

import numpy as np

from benchmarks.case import Case, Work
from benchmarks.kernels.gradient import Echo, same_length_queries
from benchmarks.read_pass import read_pass
from directrank.contracts import Surrogate
from directrank.data.shards import make_shards
from directrank.kernels.aligned import aligned_zeros
from directrank.measures import NDCG
from directrank.scorers import Linear
from directrank.solvers.smooth.passes import halved, value_and_gradient
from directrank.surrogates import Objective, SmoothedPositions

N_QUERIES, N_DOCS, N_FEATURES = 8_000, 120, 136


@cache
def data():
    """Return queries, features of 522 MB, and coefficients."""
    rng = np.random.default_rng(0)
    queries = same_length_queries(N_QUERIES, N_DOCS, rng)
    features = aligned_zeros((queries.n_docs, N_FEATURES), np.float32)
    rng.standard_normal(dtype=np.float32, out=features)
    return queries, features, rng.normal(size=N_FEATURES) / 50


def gradient(surrogate: Surrogate, precision: str = "single", n_threads: int = 1) -> Work:
    """Return a pass that computes the gradient by coefficients."""
    queries, features, w = data()
    shards = make_shards(queries.indptr, N_FEATURES)
    objective = Objective(surrogate, queries, shards, normalise=False, n_threads=n_threads)
    held = halved(objective, features) if precision == "half" else features
    return lambda: value_and_gradient(objective, Linear(), w, held)


def linear(precision: str) -> tuple[Work, Work]:
    """Return a pass with a gradient by scores that costs nothing, and a read pass."""
    return gradient(Echo(), precision), lambda: read_pass(data()[1].reshape(-1))


def threads(surrogate: Surrogate) -> tuple[Work, Work]:
    """Return a pass on two threads, and on one."""
    return gradient(surrogate, n_threads=2), gradient(surrogate)


PASS = "scores of documents and Xᵀg, 522 MB of features in {}, one thread"
CASES = (
    Case(
        "passes/linear",
        PASS.format("float32"),
        "a read pass over the features",
        partial(linear, "single"),
        asked=1.6,
    ),
    Case(
        "passes/linear-half",
        PASS.format("half precision"),
        "a read pass over the features in float32",
        partial(linear, "half"),
        asked=1.0,
    ),
    Case(
        "passes/two-threads",
        "gradient of ApproxNDCG, two threads",
        "the same on one thread",
        partial(threads, SmoothedPositions(NDCG())),
        faster=True,
        asked=1.7,
        clock="elapsed",
    ),
)
