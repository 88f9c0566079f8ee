"""The mean of standardised scores, query by query."""

import numpy as np

from directrank.scorers import Linear, StandardisedMean
from directrank.scorers.ensemble import standardised_scores

INDPTR = np.array([0, 3, 4, 4, 6])


def test_scores_have_mean_0_and_deviation_1_inside_each_query():
    scores = np.array([1.0, 2.0, 3.0, 7.0, 5.0, 9.0])
    expected = [-np.sqrt(1.5), 0.0, np.sqrt(1.5), 0.0, -1.0, 1.0]
    np.testing.assert_allclose(standardised_scores(scores, INDPTR), expected, rtol=1e-15)


def test_the_mean_over_members_ignores_their_scales():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0]], np.float32)
    first, second = Linear(np.array([1.0, 0.0])), Linear(np.array([0.0, 1e6]))
    whole = np.array([0, 3])
    by_hand = sum(standardised_scores(X[:, k].astype(float), whole) for k in (0, 1)) / 2
    found = StandardisedMean([first, second]).scores(X, whole)
    np.testing.assert_allclose(found, by_hand, rtol=1e-12)


def test_a_member_with_equal_scores_on_a_query_adds_nothing_there():
    X = np.array([[0.0, 1.0], [0.0, 3.0]], np.float32)
    constant, varying = Linear(np.array([1.0, 0.0])), Linear(np.array([0.0, 1.0]))
    alone = StandardisedMean([varying]).scores(X, np.array([0, 2]))
    both = StandardisedMean([varying, constant]).scores(X, np.array([0, 2]))
    np.testing.assert_array_equal(both, alone / 2)
