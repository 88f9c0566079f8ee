"""SVM^map and PermuRank on LETOR 3.0's OHSUMED with their defaults, and an audit of what was trained."""

import numpy as np
import pytest

from directrank.diagnostics import audit
from directrank.estimators import PermuRank, StructuralSVM
from directrank.estimators.methods import configured
from directrank.files import find_folds
from directrank.measures import evaluate

# The first group has test_methods_ohsumed.py.
pytestmark = [pytest.mark.golden, pytest.mark.heavy]


@pytest.fixture(scope="module")
def folds(ohsumed):
    return [fold.load() for fold in find_folds(ohsumed)]


def on_test(folds, method):
    """Mean AP and nDCG@3 of the test parts in LETOR's convention; AP on validation chooses."""
    rows = []
    for train, vali, test in folds:
        fitted = [method.build(point).fit(train, eval_set=vali) for point in method.points()]
        values = [evaluate(vali, each.predict(vali), measures="AP")["AP"] for each in fitted]
        scores = fitted[int(np.argmax(values))].predict(test)
        found = evaluate(test, scores, measures=["AP", "nDCG@3"], convention="letor3")
        rows.append([found["AP"], found["nDCG@3"]])
    return np.mean(rows, axis=0)


def test_svmmap(folds):
    """LETOR 3.0's table has .4453."""
    assert on_test(folds, configured("svmmap")[0])[0] >= 0.4450


def test_permurank(folds):
    ap, ndcg = on_test(folds, configured("permurank(AP)")[0])
    assert ap >= 0.4460
    assert ndcg >= 0.460


def test_two_seeds_reach_one_solution(folds):
    train = folds[0][0]
    first, second = (StructuralSVM("AP", C=10.0, random_state=seed).fit(train) for seed in (0, 1))
    w, v = first.scorer_.coefficients, second.scorer_.coefficients
    gaps = first.certificate_["duality_gap"] + second.certificate_["duality_gap"]
    assert 0.5 * np.square(w - v).sum() <= 2.0 * gaps
    assert first.status_ == second.status_ == "converged"


def test_the_sum_over_working_sets_does_not_end_but_the_maximum_does(folds):
    train = folds[0][0]
    assert PermuRank("AP", aggregate="max", C=1.0, rounds=30).fit(train).status_ == "converged"
    summed = PermuRank("AP", rounds=12).fit(train)
    assert summed.status_ == "budget"
    assert summed.history_[-1]["imperfect"] == 13


@pytest.mark.parametrize("measure", ["AP", "nDCG@10"])
def test_bounds_hold_on_every_query_of_a_trained_model(folds, measure):
    train, _, test = folds[0]
    found = audit(StructuralSVM("AP", C=10.0).fit(train), test, measure)
    assert len(found.rows) >= 10
    for row, summary in zip(found.rows, found.summaries(), strict=True):
        if row.is_bound:
            assert (row.values >= found.loss - 1e-9).all(), row.name
            assert summary.error <= 1e-3, row.name
