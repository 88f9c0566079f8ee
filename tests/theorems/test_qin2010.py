"""Qin, Liu, Li, "A general approximation framework for direct optimization of information retrieval
measures", Information Retrieval 13, 2010.

Every measure that has an approximation: its limit, its certified error (Theorems 2 and 3 and what follows in
the same way), its gradient, and that it stays finite. The paper's own statements, one by one, are in
`test_qin2010_core.py`.
"""

import math

import numpy as np
import pytest

from directrank.data.queries import Queries
from directrank.measures import AP, ERR, NDCG, NERR, RR, P
from directrank.measures.families.smooth import comparison_error, cutoff_error
from directrank.measures.families.stopping import StopsForm, stops_slopes
from directrank.surrogates import SmoothedPositions
from directrank.surrogates.positions.smoothed_kernels import soft_positions
from naive import soft_stops_naive
from oracles import (
    average_precision,
    expected,
    expected_reciprocal_rank,
    ndcg,
    precision,
    reciprocal_rank,
)


def queries_of(*relevances) -> Queries:
    """Queries with these relevances, each descending."""
    relevance = np.concatenate([np.asarray(each, dtype=float) for each in relevances])
    indptr = np.concatenate(([0], np.cumsum([len(each) for each in relevances]))).astype(np.int64)
    assert all((np.diff(each) <= 0).all() for each in relevances)
    return Queries(relevance, indptr, np.arange(len(relevance)), np.arange(len(relevances)))


def approximate_positions(s, alpha):
    """Eq. (12), as the library computes it."""
    n = np.array([len(s)])
    return soft_positions(np.asarray(s, dtype=float), np.array([0, len(s)]), n, alpha)[0]


def approximation(measure, queries, s, alpha, beta):
    """The smooth value of one query."""
    weights = np.zeros(queries.n_queries)
    weights[0] = 1.0
    oracles = SmoothedPositions(measure, steepness=alpha, truncation=beta).on(queries, weights)
    return 1.0 - oracles.value_and_gradient(s)[0]


def random_query(rng, largest=2):
    n = int(rng.integers(2, 9))
    y = np.sort(rng.integers(0, largest + 1, n))[::-1].astype(float)
    y[0] = max(y[0], 1.0)
    return y, rng.permutation(n) * 0.05 * (1 + rng.random()) + 0.01 * rng.random(n)


TABLE_1 = np.array([4.20074, 3.12378, 4.40918, 1.55258, 4.13330])


def test_theorem_2_is_attained_by_one_relevant_document():
    """It stands first of two: π̂ = 1 + ε, and 1 − 1/(1 + ε) tends to ε."""
    s, epsilon = np.array([0.02, 0.0]), 1 / (1 + math.exp(14.0))
    error = 1 - approximation(AP(), queries_of([1.0, 0.0]), s, 700.0, 10.0)
    assert error == pytest.approx(epsilon, rel=1e-5)


def logistic(z):
    return 1 / (1 + np.exp(-z))


@pytest.mark.parametrize("cutoff", [None, 2])
def test_reciprocal_rank_by_definition(cutoff):
    """Σ_y 1/π̂(y) Π_{x ≠ y} [1 − (14)] over relevant documents, with (16) for a cutoff."""
    s, beta = np.array([0.3, 0.1, 0.25, 0.2]), 2.0
    p = approximate_positions(s, 8.0)
    value = sum(
        (logistic(beta * (cutoff + 0.5 - p[y])) if cutoff else 1.0)
        / p[y]
        * np.prod([1 - logistic(beta * (p[y] - p[x])) for x in range(3) if x != y])
        for y in range(3)
    )
    assert approximation(RR(cutoff), queries_of([2, 1, 1, 0]), s, 8.0, beta) == pytest.approx(
        value, rel=1e-12
    )


@pytest.mark.parametrize("measure", [ERR(max_grade=2), NERR(max_grade=2)], ids=["ERR", "nERR"])
def test_expected_reciprocal_rank_by_definition(measure):
    """A document of grade x stops (2^x − 1)/4 of those who come; the best value is 3/4 + 1/4 · 1/4 · 1/2."""
    s, beta, stop = np.array([0.3, 0.1, 0.25]), 2.0, (0.75, 0.25, 0.0)
    p = approximate_positions(s, 8.0)
    value = sum(
        stop[y] / p[y] * np.prod([1 - stop[x] * logistic(beta * (p[y] - p[x])) for x in range(2) if x != y])
        for y in range(2)
    )
    value /= (3 / 4 + 1 / 4 * 1 / 4 * 1 / 2) if isinstance(measure, NERR) else 1.0
    assert approximation(measure, queries_of([2, 1, 0]), s, 8.0, beta) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("beta", [0.3, 3.0, 1e3])
def test_the_kernel_of_reciprocal_ranks_equals_its_twin(beta, dtype):
    rng = np.random.default_rng(8)
    for n in (1, 2, 9, 60):
        p, r = (1 + n * rng.random(n)).astype(dtype), np.sort(rng.random(n))[::-1].copy()
        r[0] = 1.0
        for cutoff in (math.inf, 3.0):
            form = StopsForm(np.array([0, n]), r, 1 - r, np.array([0.7]), cutoff, beta)
            slopes = np.empty(n, dtype)
            found = stops_slopes(form, 0, p, np.empty(n), slopes)
            value, gradient = soft_stops_naive(p.astype(float), r, 0.7, cutoff, beta)
            assert found == pytest.approx(value, rel=1e-9)
            size = np.abs(gradient).max()
            np.testing.assert_allclose(slopes, gradient, atol=size * (2e-6 if dtype == np.float32 else 1e-9))


@pytest.mark.share(4)
@pytest.mark.statement("Qin, Theorem 2")
@pytest.mark.statement("Qin, Theorem 3")
@pytest.mark.parametrize("tied", [False, True], ids=["strict", "tied"])
@pytest.mark.parametrize(
    ("measure", "strict"),
    [
        (NDCG(), ndcg()), (NDCG(3), ndcg(3)), (AP(), average_precision()), (AP(3), average_precision(3)),
        (AP(2, denominator="min"), average_precision(2, denominator="min")),
        (P(3), precision(3)), (RR(), reciprocal_rank()), (RR(2), reciprocal_rank(2)),
        (ERR(max_grade=4), expected_reciprocal_rank()), (ERR(3, max_grade=4), expected_reciprocal_rank(3)),
    ],
)  # fmt: skip
def test_the_certificate_bounds_the_error(measure, strict, tied):
    rng = np.random.default_rng(5)
    for _ in range(60):
        y, s = random_query(rng, largest=4)
        if tied:
            s = np.round(s, 1)
            y, s = y[:5], s[:5]
        alpha, beta = 10 ** rng.uniform(0.5, 3.5), 10 ** rng.uniform(0, 2)
        queries = queries_of(y)
        oracles = SmoothedPositions(measure, steepness=alpha, truncation=beta).on(queries, np.ones(1))
        errors, certified = oracles.approximation_errors(s)
        error = abs(1.0 - oracles.value_and_gradient(s)[0] - expected(strict, y, s))
        assert errors[0] == pytest.approx(error, abs=1e-12)
        assert error <= certified[0] + 1e-12


def test_the_errors_of_comparisons_are_attained():
    """Positions 1 and 2, each ε nearer to the other; and position k, ε nearer to k + 1/2."""
    for beta, epsilon in ((1.0, 0.3), (20.0, 0.45), (5.0, 0.8)):
        error = np.array([epsilon])
        nearer = (2 - epsilon) - (1 + epsilon)
        assert comparison_error(error, beta)[0] == pytest.approx(1 - logistic(beta * nearer), rel=1e-9)
        assert cutoff_error(error, beta, 3)[0] == pytest.approx(
            1 - logistic(beta * (3.5 - 3 - epsilon)), rel=1e-9
        )
    assert cutoff_error(np.array([0.3]), 1.0, None)[0] == 0.0


@pytest.mark.statement("Qin, Theorem 2")
def test_the_bound_of_ap_is_that_of_theorem_2():
    """[ε + (R − 1) τ] (1/R) Σ_i 1/max(1, i − ε), for R = 3, ε = 0.4, β = 10."""
    tau = 1 / (1 + math.exp(2.0))
    by_hand = (0.4 + 2 * tau) * (1 + 1 / 1.6 + 1 / 2.6) / 3
    queries = queries_of([1, 1, 1, 0, 0])
    assert AP().approximation_bound(queries, np.array([0.4]), 10.0)[0] == pytest.approx(by_hand, rel=1e-12)
    bound = NDCG().approximation_bound(queries, np.array([0.4]), 10.0)[0]
    assert bound == pytest.approx(0.4 / (2 * math.log(2)), rel=1e-12)


def test_the_bounds_of_reciprocal_ranks_and_precision():
    """R = 2, ε = 0.4, β = 10: a product is off by one comparison, 1/π̂ by ε, (16) by 1/(1 + e)."""
    tau, cut = 1 / (1 + math.exp(2.0)), 1 / (1 + math.exp(1.0))
    queries, error = queries_of([1, 1, 0, 0, 0]), np.array([0.4])
    sums = 1 + 1 / 1.6
    assert RR().approximation_bound(queries, error, 10.0)[0] == pytest.approx(tau * sums + 0.4)
    assert RR(2).approximation_bound(queries, error, 10.0)[0] == pytest.approx(tau * sums + 0.4 + cut)
    assert P(3).approximation_bound(queries, error, 10.0)[0] == pytest.approx(2 * cut / 3)
    half = ERR(max_grade=1).approximation_bound(queries, error, 10.0)[0]
    assert half == pytest.approx(0.5 * 0.5 * tau * sums + 0.4)


def test_the_certificate_counts_the_farthest_place_of_tied_documents():
    """Two documents tied at places 2 and 3, below one that is 0.1 higher: ε is the way to place 3."""
    oracles = SmoothedPositions(NDCG(), steepness=10.0).on(queries_of([1, 1, 0]), np.ones(1))
    farthest = 3 - (1.5 + logistic(1.0))
    certified = oracles.approximation_errors(np.array([0.0, 0.0, 0.1]))[1][0]
    assert certified == pytest.approx(farthest / (2 * math.log(2)), rel=1e-9)


def test_the_certificate_tightens_with_the_steepness():
    y, s = [2, 1, 1, 0, 0], TABLE_1
    for measure in (NDCG(), AP(), P(2), RR(), ERR(max_grade=2)):
        bounds = [
            SmoothedPositions(measure, steepness=alpha, truncation=30.0)
            .on(queries_of(y), np.ones(1))
            .approximation_errors(s)[1][0]
            for alpha in (10.0, 100.0, 1000.0)
        ]
        assert bounds[0] > bounds[1] > bounds[2]
        assert bounds[2] < 1e-5
