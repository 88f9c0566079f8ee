"""Regression against numpy's least squares, and gradients against automatic differentiation."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from directrank.data.grouping import group_rows
from directrank.estimators import Regression
from directrank.measures import NDCG
from directrank.surrogates import SmoothedPositions


def rows(seed, n_docs=300, n_features=6):
    rng = np.random.default_rng(seed)
    # Few significant bits, so that dependent features are exactly so in float32.
    X = (np.round(rng.normal(size=(n_docs, n_features)) * 256) / 256).astype(np.float32)
    return X, rng.integers(0, 5, n_docs).astype(float), np.repeat(np.arange(n_docs // 10), 10)


def least_squares(X, y):
    """With an intercept, of minimum norm."""
    with_one = np.column_stack((X.astype(float), np.ones(len(X))))
    return np.linalg.lstsq(with_one, y, rcond=None)[0][:-1]


def test_equals_least_squares_where_singular():
    # Predictions are unique where coefficients are not.
    X, y, qid = rows(7)
    X[:, 1], X[:, 2], X[:, 5] = 3.0, X[:, 0], 0.5 * X[:, 3] - 2.0
    found = Regression().fit(X, y, qid=qid).scorer_.coefficients
    centred = X.astype(float) - X.astype(float).mean(axis=0)
    np.testing.assert_allclose(centred @ found, centred @ least_squares(X, y), rtol=0, atol=1e-6)
    assert found[1] == 0.0


def test_minimum_norm_in_standardised_features():
    X, y, qid = rows(8)
    X[:, 1] = 2.0 * X[:, 0]  # a multiple: equal once standardised
    found = Regression().fit(X, y, qid=qid).scorer_.coefficients
    scaler = StandardScaler().fit(X.astype(float))
    standardised = np.linalg.lstsq(scaler.transform(X.astype(float)), y - y.mean(), rcond=None)[0]
    np.testing.assert_allclose(found, standardised / scaler.scale_, rtol=1e-6)


def test_ridge_equals_scikit_learn_on_standardised_features():
    X, y, qid = rows(10)
    scaler = StandardScaler().fit(X.astype(float))
    theirs = Ridge(alpha=0.2 * len(y)).fit(scaler.transform(X.astype(float)), y)
    ours = Regression(ridge=0.2).fit(X, y, qid=qid)
    np.testing.assert_allclose(ours.scorer_.coefficients * scaler.scale_, theirs.coef_, rtol=1e-6)


def approximate_ndcg(scores, gains, ideal, alpha, log, exp):
    """NDCG^ of one query by (12) and (13), in any arithmetic."""
    total = 0.0
    for x in range(len(gains)):
        position = 0.5  # the document itself is one half of the sum
        for y in range(len(gains)):
            position = position + 1.0 / (1.0 + exp(alpha * (scores[x] - scores[y])))
        total = total + gains[x] * np.log(2.0) / log(1.0 + position)
    return total / ideal


def gradient_and_parts(alpha):
    rng = np.random.default_rng(11)
    queries, _ = group_rows(rng.integers(0, 4, 14).astype(float), np.zeros(14))
    scores = rng.normal(size=14)
    oracles = SmoothedPositions(NDCG(), steepness=alpha).on(queries, np.ones(1))
    gains = np.exp2(queries.relevance) - 1
    ideal = (gains / np.log2(1 + np.arange(1, 15))).sum()
    return oracles.value_and_gradient(scores), scores, gains, ideal


@pytest.mark.parametrize("alpha", [0.5, 3.0, 20.0])
def test_gradient_equals_complex_steps(alpha):
    """The imaginary part of f(s + ih)/h is the derivative to the last digits, without a difference."""
    (value, gradient), scores, gains, ideal = gradient_and_parts(alpha)
    by_steps = []
    for i in range(14):
        stepped = scores.astype(complex)
        stepped[i] += 1e-30j
        by_steps.append(approximate_ndcg(stepped, gains, ideal, alpha, np.log, np.exp))
    assert value == pytest.approx(1 - by_steps[0].real, rel=1e-12)
    slopes = -np.array([each.imag / 1e-30 for each in by_steps])
    np.testing.assert_allclose(gradient, slopes, rtol=0, atol=1e-12 * np.abs(slopes).max())
