"""Qin, Liu, Li, "A general approximation framework for direct optimization of information retrieval
measures", Information Retrieval 13, 2010.

Written from the paper. Positions and measures are computed here by definition; the library supplies the
approximations and their certificates.
"""

import math

import numpy as np
import pytest

from directrank.data.queries import Queries
from directrank.measures import AP, DCG, ERR, NDCG, NERR, RR, P
from directrank.surrogates import SmoothedPositions
from directrank.surrogates.smoothed_kernels import soft_positions
from oracles import (
    average_precision,
    expected,
    expected_reciprocal_rank,
    ndcg,
    precision,
    reciprocal_rank,
    slope,
)

DIFFERENTIABLE = (
    NDCG(), NDCG(3), NDCG(gain="linear"), NDCG(5, discount="letor"), DCG(4), AP(), AP(3),
    AP(4, denominator="min"),
    P(3), RR(), RR(3), ERR(max_grade=4), ERR(3, max_grade=2), NERR(max_grade=2), NERR(4, max_grade=3),
)  # fmt: skip
NAMES = [each.name for each in DIFFERENTIABLE]


def queries_of(*relevances) -> Queries:
    """Queries with these relevances, each descending."""
    relevance = np.concatenate([np.asarray(each, dtype=float) for each in relevances])
    indptr = np.concatenate(([0], np.cumsum([len(each) for each in relevances]))).astype(np.int64)
    assert all((np.diff(each) <= 0).all() for each in relevances)
    return Queries(relevance, indptr, np.arange(len(relevance)), np.arange(len(relevances)))


def positions(s):
    """Eq. (10)."""
    return 1 + (s[None, :] > s[:, None]).sum(axis=1)


def approximate_positions(s, alpha):
    """Eq. (12), as the library computes it."""
    n = np.array([len(s)])
    return soft_positions(np.asarray(s, dtype=float), np.array([0, len(s)]), n, alpha)[0]


def approximation(measure, queries, s, alpha, beta):
    """The smooth value of one query."""
    weights = np.zeros(queries.n_queries)
    weights[0] = 1.0
    bound = SmoothedPositions(measure, steepness=alpha, truncation=beta).bind(queries, weights)
    return 1.0 - bound.value_and_gradient(s)[0]


def ranked(y, s):
    return np.asarray(y)[np.argsort(-s)]


def random_query(rng, largest=2):
    n = int(rng.integers(2, 9))
    y = np.sort(rng.integers(0, largest + 1, n))[::-1].astype(float)
    y[0] = max(y[0], 1.0)
    return y, rng.permutation(n) * 0.05 * (1 + rng.random()) + 0.01 * rng.random(n)


# --- Section 3 ------------------------------------------------------------------------------------------


TABLE_1 = np.array([4.20074, 3.12378, 4.40918, 1.55258, 4.13330])


def test_table_1_positions():
    """Five documents, α = 100: the positions 2, 4, 1, 5, 3 to three digits."""
    np.testing.assert_array_equal(positions(TABLE_1), [2, 4, 1, 5, 3])
    smooth = approximate_positions(TABLE_1, 100.0)
    np.testing.assert_allclose(smooth, [2.00118, 4.00000, 1.00000, 5.00000, 2.99882], atol=5e-6)


def test_equation_12_gives_tied_documents_the_mean_of_their_places():
    np.testing.assert_allclose(approximate_positions([1.0, 1.0, 1.0, -9.0], 50.0), [2, 2, 2, 4], atol=1e-12)


@pytest.mark.parametrize("beta", [1.0, 3.0, 10.0])
def test_equation_16_one_half_is_the_best_offset(beta):
    """At whole positions the truncation errs by at most 1/(1 + e^{β/2}); any other offset errs by more."""
    queries, places = queries_of([1.0] + [0.0] * 8), np.arange(1.0, 10.0)
    errors = []
    for place in places:
        at = np.full(9, 9.0)
        at[0] = place
        errors.append(abs(P(4).position_gradient(queries, at, beta)[0][0] * 4 - (place <= 4)))
    assert max(errors) == pytest.approx(1 / (1 + math.exp(beta / 2)), abs=1e-12)
    for offset in (0.1, 0.3, 0.7):
        assert max(abs(1 / (1 + np.exp(beta * (places - 4 - offset))) - (places <= 4))) > max(errors)


# --- Section 4.1 ----------------------------------------------------------------------------------------


def test_theorem_1_and_corollary_1():
    """|π̂(x) − π(x)| ≤ (n − 1) / (exp(α δ_x) + 1); with δ the least δ_x, for every x."""
    rng = np.random.default_rng(1)
    for _ in range(500):
        s, alpha = rng.normal(size=rng.integers(2, 12)), 10 ** rng.uniform(-1, 3)
        error = np.abs(approximate_positions(s, alpha) - positions(s))
        gaps = np.abs(s[:, None] - s[None, :]) + np.where(np.eye(len(s)), np.inf, 0.0)
        bounds = (len(s) - 1) / (np.exp(np.minimum(alpha * gaps.min(axis=1), 700.0)) + 1)
        assert (error <= bounds + 1e-12).all()
        assert error.max() <= bounds.max() + 1e-12


def test_theorem_1_is_attained_by_two_documents():
    error = approximate_positions([0.3, 0.1], 7.0) - [1, 2]
    np.testing.assert_allclose(error, [1 / (1 + math.exp(1.4)), -1 / (1 + math.exp(1.4))], rtol=1e-12)


def test_equation_21_and_its_thousand_documents():
    """Of Table 1: 4/(e^{6.744} + 1) < 0.00473; with n = 1000 and α = 200, 999/(e^{13.488} + 1) < 0.0014."""
    delta = np.diff(np.sort(TABLE_1)).min()
    assert delta == pytest.approx(0.06744, abs=1e-9)
    assert 4 / (math.exp(100 * delta) + 1) == pytest.approx(0.00471, abs=5e-6)
    assert 999 / (math.exp(200 * delta) + 1) == pytest.approx(0.00139, abs=5e-6)
    assert np.abs(approximate_positions(TABLE_1, 100.0) - positions(TABLE_1)).max() < 0.00471


# --- Section 4.2 ----------------------------------------------------------------------------------------


def test_theorem_2_as_proved():
    r"""|ÂP − AP| ≤ [ε + (R − 1) τ] (1/R) Σ_i 1/max(1, i − ε), τ = 1/(1 + e^{β(1 − 2ε)})."""
    rng = np.random.default_rng(2)
    for _ in range(400):
        y, s = random_query(rng, largest=1)
        alpha, beta, r = 10 ** rng.uniform(1, 3), 10 ** rng.uniform(0, 2), int(y.sum())
        epsilon = np.abs(approximate_positions(s, alpha) - positions(s)).max()
        tau = 1 / (1 + math.exp(min(beta * (1 - 2 * epsilon), 700)))
        mean = sum(1 / max(1, i - epsilon) for i in range(1, r + 1)) / r
        error = abs(approximation(AP(), queries_of(y), s, alpha, beta) - average_precision()(ranked(y, s)))
        assert error <= (epsilon + (r - 1) * tau) * mean + 1e-12
        assert error <= epsilon + (r - 1) * tau + 1e-12


def test_theorem_2_is_attained_by_one_relevant_document():
    """It stands first of two: π̂ = 1 + ε, and 1 − 1/(1 + ε) tends to ε."""
    s, epsilon = np.array([0.02, 0.0]), 1 / (1 + math.exp(14.0))
    error = 1 - approximation(AP(), queries_of([1.0, 0.0]), s, 700.0, 10.0)
    assert error == pytest.approx(epsilon, rel=1e-5)


def test_theorem_3():
    """|N̂DCG − NDCG| ≤ ε / (2 ln 2)."""
    rng = np.random.default_rng(3)
    for _ in range(400):
        y, s = random_query(rng, largest=4)
        alpha = 10 ** rng.uniform(0, 3)
        epsilon = np.abs(approximate_positions(s, alpha) - positions(s)).max()
        error = abs(approximation(NDCG(), queries_of(y), s, alpha, 1.0) - ndcg()(ranked(y, s)))
        assert error <= epsilon / (2 * math.log(2)) + 1e-12


def test_theorem_3_on_table_1():
    """The paper's 0.00085 is ε/(2 ln 2) at the true error of the positions."""
    epsilon = np.abs(approximate_positions(TABLE_1, 100.0) - positions(TABLE_1)).max()
    assert epsilon / (2 * math.log(2)) == pytest.approx(0.00085, abs=5e-6)
    for y in ([4, 2, 1, 0, 0], [1, 1, 0, 0, 0], [4, 3, 2, 1, 0]):
        error = approximation(NDCG(), queries_of(y), TABLE_1, 100.0, 1.0) - ndcg()(ranked(y, TABLE_1))
        assert abs(error) < 0.00085


@pytest.mark.parametrize(
    ("measure", "strict"),
    [
        (NDCG(), ndcg()), (NDCG(3), ndcg(3)), (AP(), average_precision()), (AP(3), average_precision(3)),
        (P(3), precision(3)), (RR(), reciprocal_rank()), (RR(2), reciprocal_rank(2)),
        (ERR(max_grade=4), expected_reciprocal_rank()), (ERR(3, max_grade=4), expected_reciprocal_rank(3)),
    ],
)  # fmt: skip
def test_the_limit_is_the_measure(measure, strict):
    """ε → 0 and β → ∞ give the measure itself."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        y, s = random_query(rng, largest=4)
        value = approximation(measure, queries_of(y), s, 1e4, 100.0)
        assert value == pytest.approx(strict(ranked(y, s)), abs=1e-9)


# --- the certificate, for every measure -------------------------------------------------------------------


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
        bound = SmoothedPositions(measure, steepness=alpha, truncation=beta).bind(queries, np.ones(1))
        errors, certified = bound.approximation_errors(s)
        error = abs(1.0 - bound.value_and_gradient(s)[0] - expected(strict, y, s))
        assert errors[0] == pytest.approx(error, abs=1e-12)
        assert error <= certified[0] + 1e-12


def test_the_certificate_tightens_with_the_steepness():
    y, s = [2, 1, 1, 0, 0], TABLE_1
    for measure in (NDCG(), AP(), P(2), RR(), ERR(max_grade=2)):
        bounds = [
            SmoothedPositions(measure, steepness=alpha, truncation=30.0)
            .bind(queries_of(y), np.ones(1))
            .approximation_errors(s)[1][0]
            for alpha in (10.0, 100.0, 1000.0)
        ]
        assert bounds[0] > bounds[1] > bounds[2]
        assert bounds[2] < 1e-5


# --- Appendix: gradients ----------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", DIFFERENTIABLE, ids=NAMES)
def test_gradients_equal_differences(measure):
    rng = np.random.default_rng(6)
    largest = int(getattr(measure, "max_grade", None) or 3)
    for n in (2, 5, 9):
        y = np.sort(rng.integers(0, largest + 1, n))[::-1]
        y[0] = max(y[0], 1)
        for alpha, beta in ((1.0, 1.0), (3.0, 2.0)):
            queries = queries_of(y, [1.0, 0.0])
            surrogate = SmoothedPositions(measure, steepness=alpha, truncation=beta)
            bound = surrogate.bind(queries, np.array([0.75, 0.25]))
            s = rng.normal(size=n + 2)
            gradient = bound.value_and_gradient(s)[1]
            differences = slope(lambda x: bound.value_and_gradient(x)[0], s, step=2e-3)  # noqa: B023
            np.testing.assert_allclose(gradient, differences, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("measure", DIFFERENTIABLE, ids=NAMES)
def test_always_finite(measure, dtype):
    """Steepness up to 10⁴, scores up to 10⁶ apart, positions compared as steeply."""
    rng = np.random.default_rng(7)
    y = np.sort(rng.integers(0, 3, 40))[::-1]
    y[0] = min(2, getattr(measure, "max_grade", None) or 2)
    queries = queries_of(y)
    for spread in (0.0, 1e-6, 1.0, 1e3, 1e6):
        for alpha in (1e-3, 1.0, 100.0, 1e4):
            for beta in (1.0, 1e4):
                surrogate = SmoothedPositions(measure, steepness=alpha, truncation=beta)
                s = (spread * rng.random(40)).astype(dtype)
                value, gradient = surrogate.bind(queries, np.ones(1)).value_and_gradient(s)
                assert np.isfinite(value)
                assert np.isfinite(gradient).all()
                assert gradient.dtype == dtype
                assert abs(gradient.sum(dtype=float)) <= 1e-3 * max(1.0, np.abs(gradient).max()) * 40
