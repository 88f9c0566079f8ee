"""Synthetic collections whose features are comparable only within a query."""

from itertools import pairwise

import numpy as np
import pytest

from directrank import make_ranking


def test_offsets_and_factors_of_queries_do_not_change_their_order():
    options = {"query_offset": 2.0, "query_spread": 0.7, "tail": 3.0, "noise": 0, "return_weights": True}
    groups, weights = make_ranking(30, 12, 6, random_state=1, **options)
    scores = groups.to_inner(groups.X.astype(float) @ weights)
    for a, b in pairwise(groups.queries.indptr):
        y, s = groups.queries.relevance[a:b], scores[a:b]
        assert all(s[i] > s[j] for i in range(b - a) for j in range(b - a) if y[i] > y[j])


def test_features_are_comparable_only_within_a_query():
    def spreads(**options):
        groups = make_ranking(400, 30, 40, uneven=0, random_state=0, **options)
        X = groups.X.astype(float).reshape(400, 30, 40)  # a row for each query
        return X.mean(axis=1).std(axis=0), X.std(axis=1).mean(axis=1)

    between, within = spreads()
    assert between.max() < 0.25  # 1 / √30
    assert within.std() < 0.05
    between, _ = spreads(query_offset=1.0)
    assert 0.7 < between.mean() < 1.3  # exponential: its standard deviation is its mean
    assert 0.5 < between.std() < 1.5
    _, within = spreads(query_spread=0.5)
    assert np.log(within).std() == pytest.approx(0.5, abs=0.05)
    assert np.median(within) == pytest.approx(1.0, abs=0.1)
