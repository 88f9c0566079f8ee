"""Kernels beside the naive twins by which they are tested, and beside plain compiled loops."""

import math
from itertools import pairwise

import numba
import numpy as np

from benchmarks.case import Case, Work
from directrank.data.grouping import group_rows
from directrank.features.shards import make_shards
from directrank.measures import NDCG
from directrank.measures.positions import positions_of
from directrank.surrogates import Objective, Pairwise, PlackettLuce, SmoothedPositions, SoftmaxCrossEntropy
from directrank.surrogates.margins import pair_margin
from tests.naive import (
    backward_naive,
    cross_entropy_naive,
    likelihood_naive,
    pairs_naive,
    positions_naive,
    soft_positions_naive,
)

SHARES = [0.52, 0.32, 0.13, 0.02, 0.01]
N_QUERIES, N_DOCS, N_FEATURES, STEEPNESS = 400, 120, 136, 10.0


@numba.njit(error_model="numpy")
def plain_approx_ndcg(s, gain, ideal, indptr, alpha, gradient):
    value = 0.0
    for q in range(len(indptr) - 1):
        a, b = indptr[q], indptr[q + 1]
        for x in range(a, b):
            position = 0.5
            for y in range(a, b):
                position += 1.0 / (1.0 + math.exp(-alpha * (s[y] - s[x])))
            value += gain[x] / ideal[q] / math.log2(1.0 + position)
            slope = -gain[x] / ideal[q] * math.log(2.0) / ((1.0 + position) * math.log(1.0 + position) ** 2)
            for y in range(a, b):
                t = 1.0 / (1.0 + math.exp(-alpha * (s[y] - s[x])))
                gradient[y] += slope * alpha * t * (1.0 - t)
                gradient[x] -= slope * alpha * t * (1.0 - t)
    return value


def lists():
    """Return queries of equal length, and scores that go along with relevance."""
    rng = np.random.default_rng(0)
    relevance = rng.choice(len(SHARES), N_QUERIES * N_DOCS, p=SHARES).astype(float)
    queries, order = group_rows(relevance, np.repeat(np.arange(N_QUERIES), N_DOCS))
    scores = (rng.normal(size=len(relevance)) + 0.5 * relevance) / 5.0
    return queries, scores[order].astype(np.float32)


def gradient(surrogate, queries, scores) -> Work:
    """Return value and gradient by scores."""
    objective = Objective(surrogate, queries, make_shards(queries.indptr, N_FEATURES), normalise=False)
    objective.dtype = np.float32
    return lambda: objective.value_and_gradient(scores)


def query_by_query(queries, scores, naive) -> Work:
    """Return a naive gradient as a loop over queries."""

    def work():
        blocks = [slice(first, last) for first, last in pairwise(queries.indptr)]
        parts = [naive(scores[each].astype(float), queries.relevance[each])[1] for each in blocks]
        return np.concatenate(parts) / queries.n_queries

    return work


def checked(ours: Work, theirs: Work) -> tuple[Work, Work]:
    """Return both if their gradients agree."""
    if not np.allclose(ours()[1], theirs(), rtol=1e-2, atol=1e-6):
        raise ValueError("the gradients differ")
    return ours, theirs


def approx_ndcg_naive(s, y):
    """Value and gradient of ApproxNDCG for one query, by definition."""
    gain, positions = np.exp2(y) - 1.0, soft_positions_naive(s, STEEPNESS)
    gain /= (np.sort(gain)[::-1] / np.log2(1.0 + np.arange(1, len(s) + 1))).sum() or 1.0
    discount = np.log2(1.0 + positions)
    slopes = gain / (discount**2 * (1.0 + positions) * math.log(2.0))
    return 1.0 - (gain / discount).sum(), backward_naive(s, STEEPNESS, slopes)


def approx_ndcg() -> tuple[Work, Work]:
    """Return ApproxNDCG and its naive twin."""
    queries, scores = lists()
    surrogate = SmoothedPositions(NDCG(), steepness=STEEPNESS)
    return checked(gradient(surrogate, queries, scores), query_by_query(queries, scores, approx_ndcg_naive))


def approx_ndcg_by_loops() -> tuple[Work, Work]:
    """Return ApproxNDCG and plain loops over pairs."""
    queries, scores = lists()
    gain = (np.exp2(queries.relevance) - 1.0).astype(np.float32)
    ideal, out = np.ones(queries.n_queries), np.zeros(queries.n_docs)
    surrogate = SmoothedPositions(NDCG(), steepness=STEEPNESS)
    return gradient(surrogate, queries, scores), lambda: plain_approx_ndcg(
        scores, gain, ideal, queries.indptr, STEEPNESS, out
    )


def ranksvm() -> tuple[Work, Work]:
    """Return the squared hinge on pairs and its naive twin."""
    (queries, scores), margin = lists(), pair_margin("squared_hinge", 0.5)

    def naive(s, y):
        return pairs_naive(s, (y[:, None] > y[None, :]).astype(float), margin)

    ours = gradient(Pairwise(margin="squared_hinge"), queries, scores)
    return checked(ours, query_by_query(queries, scores, naive))


def softmax(y):
    """Return the target of ListNet."""
    e = np.exp(y - y.max())
    return e / e.sum()


def listnet() -> tuple[Work, Work]:
    """Return ListNet's cross entropy and its naive twin."""
    queries, scores = lists()
    naive = query_by_query(queries, scores, lambda s, y: cross_entropy_naive(s, softmax(y)))
    return checked(gradient(SoftmaxCrossEntropy(), queries, scores), naive)


def listmle() -> tuple[Work, Work]:
    """Return ListMLE's likelihood and its naive twin."""
    queries, scores = lists()
    return gradient(PlackettLuce(), queries, scores), query_by_query(queries, scores, likelihood_naive)


def positions() -> tuple[Work, Work]:
    """Return the positions of all documents, and comparing each with each by NumPy."""
    queries, scores = lists()
    exact = scores.astype(np.float64)
    return lambda: positions_of(queries, exact), lambda: positions_naive(queries, exact)


TWINS = {
    "approxndcg": ("ApproxNDCG", approx_ndcg),
    "ranksvm": ("RankSVM's squared hinge", ranksvm),
    "listnet": ("ListNet", listnet),
    "listmle": ("ListMLE", listmle),
}
WHAT = f"by scores, {N_QUERIES} queries of {N_DOCS} documents"
CASES = (
    *(
        Case(
            f"twins/{key}",
            f"value and gradient of {name} {WHAT}",
            "the naive twin in NumPy",
            prepare,
            faster=True,
        )
        for key, (name, prepare) in TWINS.items()
    ),
    Case(
        "twins/approxndcg-loops",
        f"value and gradient of ApproxNDCG {WHAT}",
        "plain loops over pairs with math.exp, compiled by numba",
        approx_ndcg_by_loops,
        faster=True,
    ),
    Case(
        "twins/positions",
        f"expected positions with ties, {N_QUERIES} queries of {N_DOCS} documents",
        "the naive twin in NumPy",
        positions,
        faster=True,
    ),
)
