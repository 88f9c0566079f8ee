"""PRPO against the enumeration of all rankings: the derivative of the clipped sum, by a PL policy."""

from itertools import permutations

import numpy as np
import pytest

from directrank.apps.clicks import ProximalPolicy
from directrank.data import QueryGroups, RealLabels
from directrank.measures import parse_measure
from directrank.surrogates import PolicyMeasure

LABELS = np.array([0.9, 0.1, -0.4, 0.6])
SCORES = np.array([1.0, 0.4, -0.6, -0.2])
#: Of the rows: it shows the third one first, and the first one last.
OTHER = np.array([-1.0, 2.0, 3.0, 1.0])
BY_RANK = 1 / np.log2(np.arange(2.0, 6.0))
RATIO = 1.25


def weights_of(scores):
    """The expected weight of each document, over all rankings of the Plackett-Luce model."""
    total = np.zeros(len(scores))
    for ranking in permutations(range(len(scores))):
        chance, left = 1.0, np.exp(scores)
        for document in ranking:
            chance *= left[document] / left.sum()
            left[document] = 0.0
        total[list(ranking)] += chance * BY_RANK
    return total


def clipped(scores):
    other = BY_RANK[np.argsort(np.argsort(-OTHER))]
    weights = weights_of(scores)
    raised, lowered = np.minimum(weights, RATIO * other), np.maximum(weights, other / RATIO)
    return float(LABELS @ np.where(LABELS >= 0, raised, lowered))


def mean_gradient(surrogate):
    queries = QueryGroups(np.zeros((4, 1)), RealLabels(LABELS), np.zeros(4)).queries
    inner, estimates = SCORES[queries.row], []
    oracles = surrogate.on(queries, np.ones(1))
    for surrogate.seed in range(20):
        oracles.reweigh(inner)
        gradient = np.empty(4)
        gradient[queries.row] = -oracles.value_and_gradient(inner)[1]
        estimates.append(gradient)
    return np.mean(estimates, axis=0), np.std(estimates, axis=0, ddof=1) / 20**0.5


@pytest.mark.heavy
def test_the_gradient_is_that_of_the_clipped_sum():
    measure = parse_measure("ClickDCG")
    other = BY_RANK[np.argsort(np.argsort(-OTHER))]
    # The first document is beyond the ratio, and no other; none is near it.
    assert (weights_of(SCORES) / other > RATIO).tolist() == [True, False, False, False]
    assert np.abs(weights_of(SCORES) / other - RATIO).min() > 0.08
    assert (weights_of(SCORES)[2] / other[2]) < 1 / RATIO - 0.05  # so that its negative label counts no more
    slope = [(clipped(SCORES + step) - clipped(SCORES - step)) / 2e-5 for step in np.eye(4) * 1e-5]
    found, error = mean_gradient(ProximalPolicy(measure, OTHER, ratio=RATIO, samples=400))
    assert (np.abs(found - slope) < 4 * error).all()
    plain, _ = mean_gradient(PolicyMeasure(measure, samples=400))
    assert np.abs(plain - slope).max() > 10 * error.max()


def test_a_ratio_that_is_never_reached_changes_nothing_and_arguments_are_checked():
    measure = parse_measure("ClickDCG")
    far, _ = mean_gradient(ProximalPolicy(measure, OTHER, ratio=1e6, samples=8))
    plain, _ = mean_gradient(PolicyMeasure(measure, samples=8))
    np.testing.assert_allclose(far, plain)
    with pytest.raises(ValueError, match="ratio must be above 1, not 1"):
        ProximalPolicy(measure, OTHER, ratio=1.0)
    with pytest.raises(ValueError, match="AP is no sum over documents"):
        ProximalPolicy(parse_measure("AP"), OTHER)
