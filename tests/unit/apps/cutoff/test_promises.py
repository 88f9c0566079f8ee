"""The two promises, against their definitions, enumeration and MAPIE."""

import math
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from directrank.apps.cutoff.promises import (
    holds_in_the_mean,
    holds_nine_in_ten,
    largest_threshold,
    least_queries,
)


def curves(rng, n_queries):
    """Return values, weights and queries of the relevant documents of some queries, with ties."""
    sizes = rng.integers(1, 5, n_queries)
    query = np.repeat(np.arange(n_queries), sizes)
    return rng.integers(0, 8, len(query)).astype(float), 1.0 / sizes[query], query


def loss(values, query, one, threshold):
    mine = values[query == one]
    return Fraction(int((mine < threshold).sum()), len(mine))


@pytest.mark.parametrize("limit", [Fraction(1, 10), Fraction(1, 5), Fraction(2, 5)])
@pytest.mark.parametrize("n_queries", [3, 9, 24])
def test_the_threshold_is_the_largest_that_the_formula_allows(limit, n_queries):
    for seed in range(20):
        values, weights, query = curves(np.random.default_rng(seed), n_queries)
        allowed = [-math.inf] * (Fraction(1, n_queries + 1) <= limit)
        for threshold in [*np.unique(values), 9.0]:
            mean = sum(loss(values, query, one, threshold) for one in range(n_queries)) / n_queries
            if Fraction(n_queries, n_queries + 1) * mean + Fraction(1, n_queries + 1) <= limit:
                allowed.append(float(threshold))
        threshold = largest_threshold(values, weights, query, n_queries, holds_in_the_mean, float(limit))
        assert threshold == max(allowed, default=-math.inf)


@pytest.mark.parametrize("limit", [0.15, 0.2, 0.3, 0.5])
def test_the_mean_over_which_query_is_new_keeps_the_promise(limit):
    # Conformal risk control, enumerated: of n + 1 queries each is the new one once, the others calibrate.
    plug_in = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 9))
        values, weights, query = curves(rng, n + 1)
        total, total_of_plug_in = Fraction(0), Fraction(0)
        for new in range(n + 1):
            others = query != new
            given = values[others], weights[others], query[others] - (query[others] > new), n
            threshold = largest_threshold(*given, holds_in_the_mean, limit)
            total += loss(values, query, new, threshold)
            without = largest_threshold(*given, lambda losses, n, a: losses @ n <= a * n.sum(), limit)
            total_of_plug_in += loss(values, query, new, without)
        assert total / (n + 1) <= limit
        plug_in += total_of_plug_in / (n + 1) > limit
    assert plug_in > 10


@pytest.mark.parametrize("limit", [0.05, 0.1, 0.3])
def test_nine_in_ten_are_right_of_all_samples_of_zeros_and_ones(limit):
    # Losses of 0 and 1 with a mean just above the limit: the chance of a wrong promise, exactly.
    for n in (10, 30, 60, 150):
        true = limit + 1e-9
        wrong = sum(
            comb(n, k) * true**k * (1 - true) ** (n - k)
            for k in range(n + 1)
            if holds_nine_in_ten(np.array([0.0, 1.0]), np.array([n - k, k]), limit)
        )
        assert wrong <= 0.1


def test_nine_in_ten_are_right_of_all_samples_of_three_losses():
    limit, chance = 0.25, {0.0: Fraction(9, 16), 0.5: Fraction(6, 16), 1.0: Fraction(1, 16)}
    assert sum(loss * share for loss, share in chance.items()) == limit
    n, wrong = 40, Fraction(0)
    for halves, ones in product(range(n + 1), repeat=2):
        counts = n - halves - ones, halves, ones
        if counts[0] < 0 or not holds_nine_in_ten(np.array([*chance]), np.array(counts), limit):
            continue
        ways = comb(n, ones) * comb(n - ones, halves)
        wrong += ways * math.prod(share**count for share, count in zip(chance.values(), counts, strict=True))
    assert 0 < wrong <= Fraction(1, 10)


def test_nine_in_ten_is_the_mean_over_bets_of_their_products():
    rng = np.random.default_rng(0)
    for _ in range(200):
        limit, n = float(rng.uniform(0.05, 0.5)), int(rng.integers(1, 40))
        losses = rng.integers(0, 4, n) / 3 * (rng.random(n) < limit)
        wealth = [
            math.prod(1 + j / 40 / (1 - limit) * (limit - loss) for loss in losses.tolist())
            for j in range(1, 41)
        ]
        assert holds_nine_in_ten(*np.unique(losses, return_counts=True), limit) == (sum(wealth) / 40 >= 10)


def test_so_many_queries_can_promise():
    assert [least_queries(holds_in_the_mean, limit) for limit in (0.5, 0.2, 0.1, 0.01)] == [1, 4, 9, 99]
    for limit in (0.3, 0.1, 0.02):
        least = least_queries(holds_nine_in_ten, limit)
        wealth = [
            sum((1 + j / 40 * limit / (1 - limit)) ** n for j in range(1, 41)) for n in (least - 1, least)
        ]
        assert wealth[0] < 400 <= wealth[1]


@pytest.mark.heavy
def test_mapie_keeps_the_same_documents():
    controllers = pytest.importorskip("mapie.risk_control")
    for seed in range(5):
        rng = np.random.default_rng(seed)
        relevance = (rng.random((40, 12)) < 0.2).astype(int)
        relevance[:, 0] = 1  # MAPIE needs a label a row
        scores = np.round(rng.random((40, 12)) * 0.6 + 0.3 * relevance, 3)
        grid = np.unique(scores) - 0.0005  # it keeps what is above
        controller = controllers.MultiLabelClassificationController(
            lambda X: X, risk="recall", method="crc", target_level=0.8, predict_params=grid
        )
        controller.calibrate(scores, relevance)
        kept = controller.predict(scores)[:, :, 0]
        query, column = np.nonzero(relevance)
        weights = 1.0 / relevance.sum(1)[query]
        threshold = largest_threshold(scores[query, column], weights, query, 40, holds_in_the_mean, 0.2)
        # Between two relevant documents any threshold has the same loss; ours is the largest.
        assert ((scores >= threshold) <= kept).all()
        assert not (kept & (scores < threshold) & (relevance > 0)).any()
