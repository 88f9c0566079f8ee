"""Documents of one score and one relevance are told apart by their rows alone: they get the same numbers."""

import numpy as np
import pytest

from directrank.apps.papers import NoisyNeighbours
from directrank.data.grouping import group_rows
from directrank.measures import parse_measure
from directrank.surrogates import (
    GainCrossEntropy,
    PolicyMeasure,
    SwapWeighted,
    expected_exposure,
)
from directrank.surrogates.exchange.tables import ranks_and_twins

#: Documents 1 and 2, and 4 to 6, are twins; 0 and 3 have the score of others, but not their relevance.
RELEVANCE = np.array([2.0, 1, 1, 1, 0, 0, 0])
SCORES = np.array([1.0, 1, 1, 0, 0, 0, 0])
TWINS = ((1, 2), (4, 5, 6))
DRAWING = [
    NoisyNeighbours(parse_measure("nDCG"), seed=3),
    NoisyNeighbours(parse_measure("AP"), seed=3),
    PolicyMeasure(parse_measure("nDCG"), seed=3),
    PolicyMeasure(parse_measure("AP"), seed=3),
    GainCrossEntropy("uniform", seed=3),
    SwapWeighted(parse_measure("AP"), weights="swap"),
    SwapWeighted(parse_measure("MeanNDCG"), weights="swap"),
    SwapWeighted(parse_measure("nDCG")),
]


@pytest.mark.parametrize("surrogate", DRAWING, ids=lambda each: each.name)
def test_twins_have_one_gradient_and_one_curvature(surrogate):
    queries, _ = group_rows(RELEVANCE, np.zeros(7))
    oracles = surrogate.on(queries, np.ones(1))
    oracles.reweigh(SCORES)
    for numbers in (oracles.value_and_gradient(SCORES)[1], oracles.derivatives(SCORES)[2]):
        assert np.ptp(numbers) > 1e-3
        for twins in TWINS:
            np.testing.assert_allclose(numbers[[*twins]], numbers[twins[0]], rtol=1e-12)


def test_documents_of_equal_scores_have_one_expected_exposure():
    exposure = expected_exposure(SCORES, np.zeros(7), samples=20, seed=3)
    np.testing.assert_allclose(exposure[:3], exposure[0], rtol=1e-12)
    np.testing.assert_allclose(exposure[3:], exposure[3], rtol=1e-12)
    assert exposure.sum() == pytest.approx((1 / np.log2(np.arange(2, 9))).sum())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_that_round_alike_are_ranked_by_relevance(dtype):
    """Near scores are tied: then the more relevant come first, and the rows tell twins apart."""
    queries, _ = group_rows(np.array([2.0, 1, 1, 0, 1, 0]), np.repeat([0, 1], [4, 2]))
    rank, twin = ranks_and_twins(queries, np.array([1.0, 3.0, 3.0001, 3.0, 5.0, 6.0], dtype))
    assert rank.tolist() == [3, 0, 1, 2, 1, 0]
    assert twin.tolist() == [0, 1, 1, 3, 4, 5]
