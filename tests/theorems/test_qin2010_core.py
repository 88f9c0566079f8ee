"""Smooth positions and what their error costs a measure: one test a statement of the paper.

T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information retrieval
measures", Information Retrieval 13, 2010.
"""

import math

import numpy as np
import pytest

from directrank.data.grouping import group_rows
from directrank.measures import AP, NDCG, P
from directrank.measures.positions import positions_of
from directrank.surrogates import SmoothedPositions
from directrank.surrogates.positions.smoothed_kernels import soft_positions

# Table 1: five documents, α = 100.
TABLE_1 = np.array([4.20074, 3.12378, 4.40918, 1.55258, 4.13330])


def smooth(scores, alpha):
    """π̂ of one query."""
    n = len(scores)
    return soft_positions(np.asarray(scores, float), np.array([0, n]), np.array([n]), alpha)[0]


def hard(scores):
    """π by (10): one plus the number of documents with a higher score."""
    return 1 + (scores[None, :] > scores[:, None]).sum(axis=1)


def query_of(relevance, scores):
    """One query, and its scores in the inner order."""
    queries, order = group_rows(np.asarray(relevance, float), np.zeros(len(scores)))
    return queries, np.asarray(scores, float)[order]


def approximation(measure, queries, scores, alpha, beta=1.0):
    """Ê and its gradient with respect to scores."""
    oracles = SmoothedPositions(measure, steepness=alpha, truncation=beta).on(queries, np.ones(1))
    loss, gradient = oracles.value_and_gradient(scores)
    return 1.0 - loss, -gradient


def exact(measure, queries, scores):
    return measure.query_values(queries, positions_of(queries, scores))[0]


def random_queries(count=150, seed=0):
    """Relevance, scores without ties, α and β; from smooth to nearly hard."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(2, 25))
        relevance = np.append(rng.integers(0, 4, n - 1), 1).astype(float)
        yield relevance, rng.normal(size=n), 10.0 ** rng.uniform(0, 3), 10.0 ** rng.uniform(-1, 2.5)


def test_table_1_positions():
    positions = smooth(TABLE_1, 100.0)
    assert hard(TABLE_1).tolist() == [2, 4, 1, 5, 3]
    np.testing.assert_allclose(positions, [2.00118, 4.00000, 1.00000, 5.00000, 2.99882], atol=5e-6)


@pytest.mark.statement("Qin, Corollary 1")
def test_table_1_error_is_below_equation_21():
    # "For the example in Table 1": δ = 4.20074 − 4.13330, n = 5, so 4 / (e^6.744 + 1) = 0.00471.
    error = np.abs(smooth(TABLE_1, 100.0) - hard(TABLE_1)).max()
    assert error == pytest.approx(0.001177, abs=1e-6)
    bound = 4 / (math.exp(100 * (4.20074 - 4.13330)) + 1)
    assert bound == pytest.approx(0.00471, abs=5e-6)
    assert error <= bound


@pytest.mark.statement("Qin, Theorem 1")
@pytest.mark.statement("Qin, Corollary 1")
def test_theorem_1_and_corollary_1_bound_the_position_error():
    """|π̂(x) − π(x)| ≤ (n − 1)/(exp(α δ_x) + 1), and its maximum with δ = min δ_x."""
    for _, scores, alpha, _ in random_queries():
        n = len(scores)
        error = np.abs(smooth(scores, alpha) - hard(scores))
        gaps = np.abs(scores[:, None] - scores[None, :]) + np.diag(np.full(n, np.inf))
        each = (n - 1) / (np.exp(np.minimum(alpha * gaps.min(axis=1), 700.0)) + 1)
        assert (error <= each * (1 + 1e-9) + 1e-12).all()
        assert error.max() <= each.max() * (1 + 1e-9) + 1e-12


@pytest.mark.statement("Qin, Corollary 1")
def test_corollary_1_the_certificate_reads_the_largest_error():
    """The library's certificate of NDCG is ε/(2 ln 2) with ε = max |π̂ − π| over documents with a gain."""
    below = 0
    for relevance, scores, alpha, _ in random_queries(80, seed=9):
        queries, inner = query_of(relevance, scores)
        oracles = SmoothedPositions(NDCG(), steepness=alpha).on(queries, np.ones(1))
        n, gain = len(scores), queries.relevance > 0
        error = np.abs(smooth(inner, alpha) - hard(inner))[gain]
        certified = oracles.approximation_errors(inner)[1][0] * 2 * math.log(2)
        if certified < 0.99 * 2 * math.log(2) * 0.1:  # beyond, the range of the measure is less
            assert certified == pytest.approx(error.max(), rel=1e-9, abs=1e-12)
            below += error.min() < 0.5 * error.max()
        gaps = np.abs(inner[:, None] - inner[None, :]) + np.diag(np.full(n, np.inf))
        corollary = (n - 1) / (math.exp(min(alpha * gaps.min(), 700.0)) + 1)
        assert certified <= corollary * (1 + 1e-9) + 1e-12
    assert below > 10


@pytest.mark.statement("Qin, Theorem 1")
def test_theorem_1_is_attained_by_two_documents():
    scores = np.array([0.3, 0.1])
    error = np.abs(smooth(scores, 4.0) - hard(scores))
    np.testing.assert_allclose(error, 1 / (math.exp(4.0 * 0.2) + 1), rtol=1e-12)


def test_equation_13_ndcg_by_definition():
    for relevance, scores, alpha, _ in random_queries(40):
        queries, inner = query_of(relevance, scores)
        positions, gains = smooth(inner, alpha), 2**queries.relevance - 1
        ideal = sum(g / math.log2(1 + p) for p, g in enumerate(gains, start=1))
        by_definition = sum(gains / np.log2(1 + positions)) / ideal
        assert approximation(NDCG(), queries, inner, alpha)[0] == pytest.approx(by_definition, rel=1e-10)


def logistic(z):
    return 1 / (1 + np.exp(np.clip(-z, -700, 700)))


def test_equations_14_and_15_ap_by_definition():
    for relevance, scores, alpha, beta in random_queries(40):
        queries, inner = query_of(relevance, scores)
        relevant = smooth(inner, alpha)[queries.relevance >= 1]
        total = 0.0
        for y, p in enumerate(relevant):
            before = sum(logistic(beta * (p - q)) for x, q in enumerate(relevant) if x != y)
            total += (1 + before) / p
        value = approximation(AP(), queries, inner, alpha, beta)[0]
        assert value == pytest.approx(total / len(relevant), rel=1e-9)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_equation_16_cutoffs_by_definition(k):
    for relevance, scores, alpha, beta in random_queries(40, seed=k):
        queries, inner = query_of(relevance, scores)
        positions = smooth(inner, alpha)
        inside = logistic(-beta * (positions - k - 0.5))
        precision = inside[queries.relevance >= 1].sum() / k
        assert approximation(P(k), queries, inner, alpha, beta)[0] == pytest.approx(
            precision, rel=1e-9, abs=1e-12
        )
        gains = 2**queries.relevance - 1
        ideal = sum(g / math.log2(1 + p) for p, g in enumerate(gains[:k], start=1))
        ndcg = sum(gains * inside / np.log2(1 + positions)) / ideal
        assert approximation(NDCG(k), queries, inner, alpha, beta)[0] == pytest.approx(
            ndcg, rel=1e-9, abs=1e-12
        )


def test_the_half_in_equation_16_is_minimax():
    # Hard positions are integers: at k and at k + 1 the error is 1/(1 + e^(β/2)), elsewhere less.
    queries, inner = query_of([1, 0, 0, 0, 0], [0.0, 3.0, 2.0, 1.0, -1.0])  # position 4
    for k, beta in ((3, 2.0), (4, 2.0), (2, 2.0)):
        value = approximation(P(k), queries, inner, 1e4, beta)[0] * k
        worst = 1 / (1 + math.exp(beta / 2))
        error = abs(value - exact(P(k), queries, inner) * k)
        assert error == pytest.approx(worst, rel=1e-9) if k >= 3 else error < worst
