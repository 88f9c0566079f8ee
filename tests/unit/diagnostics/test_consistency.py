"""The yardstick of consistency itself."""

import itertools

import numpy as np
import pytest

from directrank.diagnostics.consistency import Distribution, best_order, check, merged
from directrank.measures import AP, DCG, NDCG
from directrank.surrogates import (
    OrderPreserving,
    SmoothedPositions,
    SquaredError,
    TypeOneBound,
)

THEOREM_3 = [(0.5, (1, 1, 0, 0)), (0.5, (0, 0, 1, 1))]


def test_best_order_by_hand():
    """AP of one of two documents: the likelier first, .7 + .3 / 2."""
    value, ranking = best_order(AP(), Distribution([(0.3, (1, 0)), (0.7, (0, 1))]))
    assert (value, ranking) == (pytest.approx(0.85), (1, 0))


def test_supervision_for_ap_cannot_work():
    """The gain is constant in expectation, the minimiser ties all documents, and ties are not best for AP."""
    verdict = check(OrderPreserving(DCG()), AP(), THEOREM_3)
    np.testing.assert_allclose(verdict.scores, 0, atol=1e-6)
    assert not verdict.consistent
    assert verdict.supervision is None
    assert verdict.best_value == pytest.approx(17 / 24)


def test_ties_of_the_minimiser_are_ties():
    assert merged(np.array([0.0, 1e-9, 1.0])).tolist() == [0, 0, 1]
    assert merged(np.zeros(3)).tolist() == [0, 0, 0]
    assert merged(np.array([3.0, 1.0, 2.0])).tolist() == [2, 0, 1]


def test_squared_error_on_gains_is_consistent_with_linear_gain():
    """Regression on relevance is order-preserving (section 3), with E[y] as its minimiser."""
    linear = DCG(gain="linear")
    rng = np.random.default_rng(0)
    for _ in range(10):
        labels = rng.integers(0, 4, (3, 4))
        probability = rng.dirichlet(np.ones(3))
        verdict = check(SquaredError(), linear, list(zip(probability, labels.tolist(), strict=True)))
        expected = probability @ labels
        np.testing.assert_allclose(verdict.scores, expected - expected.mean(), atol=1e-5)
        np.testing.assert_allclose(verdict.supervision, expected, atol=1e-12)
        assert verdict.consistent


def test_any_surrogate_with_a_value():
    assert check(SmoothedPositions(NDCG(), steepness=3.0), NDCG(), [(1.0, (1, 0))]).consistent
    with pytest.raises(TypeError, match="cannot be minimised"):
        check(TypeOneBound(AP()), AP(), THEOREM_3)


def test_many_orders_at_once_equal_one_at_a_time():
    outcomes = Distribution([(0.2, (3, 0, 1)), (0.8, (0, 1, 2))])
    orders = -np.array(list(itertools.permutations(range(3))), float)
    together = outcomes.expected_values(NDCG(2), orders)
    alone = [outcomes.expected_values(NDCG(2), order[None])[0] for order in orders]
    np.testing.assert_allclose(together, alone, rtol=1e-15)
