"""What reweighted clicks can estimate: exactly the measures that are affine in labels, by enumeration.

The theorem: a measure has an unbiased estimate a(π) + Σ w_d(π) c_d from single clicks iff it is affine in the
labels for every ranking π. A document of label y_d, shown at a rank of propensity p_d, is clicked with
probability p_d y_d.
"""

from itertools import permutations, product

import numpy as np
import pytest

from directrank import QueryGroups, evaluate
from directrank.apps.clicks import click_measure
from directrank.data import RealLabels
from directrank.errors import MeasureNameError

P = np.array([1.0, 0.6, 0.35])
N = len(P)
BINARY = np.array(list(product((0.0, 1.0), repeat=N)))


def values(measure: str, ranking, labels, *, real: bool = False) -> np.ndarray:
    """Return the measure of a ranking, documents by rank, for each row of labels."""
    n = len(labels)
    scores = np.tile(-np.argsort(ranking).astype(float), n)
    y = labels.ravel()
    qid = np.repeat(np.arange(n), N)
    groups = QueryGroups(np.zeros((n * N, 1)), RealLabels(y) if real else y, qid)
    found = evaluate(groups, scores, measures=measure, per_query=True)
    (column,) = found.per_query.values()
    return column


def expectations(labels: np.ndarray) -> np.ndarray:
    """Return the expectations of 1 and of each click over all outcomes, for each row of labels."""
    rows = []
    for y in labels:
        total = np.zeros(N + 1)
        for clicks in product((0.0, 1.0), repeat=N):
            c = np.array(clicks)
            total += np.prod(np.where(c > 0, P * y, 1 - P * y)) * np.append(1.0, c)
        rows.append(total)
    return np.array(rows)


def distance(values: np.ndarray, labels: np.ndarray) -> float:
    """Return the largest bias of the estimate of least squared bias, over all labels."""
    design = expectations(labels)
    best = np.linalg.lstsq(design, values, rcond=None)[0]
    return float(np.abs(design @ best - values).max())


@pytest.mark.parametrize("measure", ["DCG(dcg='log2')", "DCG(dcg='log2')@2", "P@2", "RBP", "P@1"])
def test_affine_measures_have_an_unbiased_estimate(measure):
    for ranking in permutations(range(N)):
        assert distance(values(measure, ranking, BINARY), BINARY) < 1e-12
    click_measure(measure)


@pytest.mark.parametrize("measure", ["AP", "nDCG", "nDCG@2", "RR", "ERR(max=1)"])
def test_other_measures_have_none_for_some_ranking(measure):
    assert (
        max(distance(values(measure, ranking, BINARY), BINARY) for ranking in permutations(range(N))) > 0.02
    )
    with pytest.raises(MeasureNameError, match="affine in the labels"):
        click_measure(measure)


def test_gains_that_are_not_linear_have_none():
    labels = np.array(list(product((0.0, 0.5, 1.0), repeat=N)))
    assert distance(values("DCG", (0, 1, 2), labels), labels) > 0.02
    assert distance(values("DCG(dcg='log2')", (0, 1, 2), labels), labels) < 1e-12


@pytest.mark.parametrize("measure", ["ClickDCG", "ClickDCG@2", "ClickP@2", "ClickRBP"])
def test_clicks_over_propensities_are_unbiased_in_the_measures_of_real_labels(measure):
    y = np.array([0.7, 0.2, 0.9])
    for ranking in permutations(range(N)):
        truth = values(measure, ranking, y[None, :], real=True)[0]
        outcomes = np.array(list(product((0.0, 1.0), repeat=N)))
        chance = np.prod(np.where(outcomes > 0, P * y, 1 - P * y), axis=1)
        assert chance @ values(measure, ranking, outcomes / P, real=True) == pytest.approx(truth, abs=1e-12)
