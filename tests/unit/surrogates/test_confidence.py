"""Confidence of labels: products of both documents of a pair, and copies of documents where it is whole."""

from dataclasses import replace

import numpy as np
import pytest

from directrank import QueryGroups, Regression
from directrank.data.grouping import group_rows
from directrank.measures import parse_measure
from directrank.surrogates import (
    ExponentialPairs,
    Pairwise,
    PairwiseHinge,
    SquaredError,
    gain_difference,
)
from directrank.surrogates.margins import Logistic
from directrank.surrogates.pairs.runs import SwapDrop
from groups import first_group
from naive import pairs_naive

SURROGATES = [
    SquaredError(),
    Pairwise(),
    Pairwise(margin="squared_hinge", normalise=True),
    Pairwise(margin="logistic"),
    Pairwise(margin="logistic", normalise=True),
    Pairwise(weight=gain_difference),
    PairwiseHinge(),
    PairwiseHinge(normalise=True),
    ExponentialPairs(),
    ExponentialPairs(normalise=True),
]


def case(seed, sizes, whole):
    """Queries with a confidence of each document, and their scores, in the inner order."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, sum(sizes)).astype(float)
    queries, _ = group_rows(y, np.repeat(np.arange(len(sizes)), sizes))
    c = rng.integers(0, 4, queries.n_docs).astype(float) if whole else rng.random(queries.n_docs)
    return replace(queries, confidence=c), rng.normal(size=queries.n_docs)


def copies_of(queries, scores):
    """The same with each document as often as its confidence says, and where the copies come from."""
    rows = np.repeat(np.arange(queries.n_docs), queries.confidence.astype(int))
    number = np.repeat(np.arange(queries.n_queries), queries.sizes)[rows]
    indptr = np.append(0, np.cumsum(np.bincount(number, minlength=queries.n_queries)))
    return replace(
        queries, relevance=queries.relevance[rows], indptr=indptr, row=np.arange(len(rows)), confidence=None,
        _cache={},
    ), scores[rows], rows  # fmt: skip


@pytest.mark.share(4)
@pytest.mark.parametrize("dtype", first_group([np.float64, np.float32], lambda dtype: dtype is np.float64))
@pytest.mark.parametrize("surrogate", SURROGATES, ids=lambda each: each.name)
def test_whole_confidences_are_copies(surrogate, dtype):
    for seed in range(20):
        queries, scores = case(seed, [7, 1, 12, 40], whole=True)
        copied, of_copies, rows = copies_of(queries, scores)
        weights = np.array([1.0, 2.0, 0.5, 3.0])
        oracles, other = surrogate.on(queries, weights), surrogate.on(copied, weights)
        value, gradient = oracles.value_and_gradient(scores.astype(dtype))
        expected, of_each = other.value_and_gradient(of_copies.astype(dtype))
        tolerance = 1e-11 if dtype == np.float64 else 2e-4
        assert value == pytest.approx(expected, rel=tolerance)
        summed = np.bincount(rows, of_each, queries.n_docs)
        np.testing.assert_allclose(gradient, summed, rtol=tolerance, atol=tolerance * max(1, abs(value)))
        curved = np.bincount(rows, other.derivatives(of_copies.astype(dtype))[2], queries.n_docs)
        np.testing.assert_allclose(
            oracles.derivatives(scores.astype(dtype))[2],
            curved,
            rtol=1e-3 if dtype == np.float32 else 1e-9,
            atol=1e-4,
        )


@pytest.mark.parametrize("weight", [None, gain_difference, SwapDrop(parse_measure("nDCG@3"))])
def test_pairs_weigh_the_product_of_both_confidences(weight):
    queries, scores = case(5, [15], whole=False)
    y, c = queries.relevance, queries.confidence
    table = (y[:, None] > y) * c[:, None] * c
    if weight is not None:
        of_grades = weight.estimated(queries, np.ones(1)) if isinstance(weight, SwapDrop) else weight
        shares = [[of_grades(np.array([a]), np.array([b]))[0] if a > b else 0.0 for b in y] for a in y]
        table = table * np.array(shares)
    value, gradient = (
        Pairwise(margin="logistic", weight=weight).on(queries, np.ones(1)).value_and_gradient(scores)
    )
    expected, slopes = pairs_naive(scores, table, Logistic())
    assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-8, atol=1e-10)


def test_squared_errors_are_multiplied():
    queries, scores = case(5, [4, 3], whole=False)
    error = scores - queries.relevance
    value, gradient = SquaredError().on(queries, np.ones(2)).value_and_gradient(scores)
    assert value == pytest.approx((queries.confidence * error**2).sum(), rel=1e-14)
    np.testing.assert_allclose(gradient, 2 * queries.confidence * error, rtol=1e-14)


def test_regression_of_twice_the_weight_is_of_two_documents():
    rng = np.random.default_rng(2)
    X, y, qid = (
        rng.normal(size=(60, 3)).astype(np.float32),
        rng.integers(0, 3, 60),
        np.repeat(np.arange(6), 10),
    )
    times = rng.integers(1, 4, 60)
    weighted = Regression(scaling="none").fit(QueryGroups(X, y, qid), sample_weight=times)
    copied = Regression(scaling="none").fit(
        np.repeat(X, times, 0), np.repeat(y, times), qid=np.repeat(qid, times)
    )
    np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-9)
    # All weights times a number change nothing: they are shares.
    scaled = Regression(scaling="none").fit(X, y, qid=qid, sample_weight=times * 0.3)
    np.testing.assert_allclose(scaled.coef_, copied.coef_, rtol=1e-9)
