"""`feature_importances_` of linear rankers, by the formula that its docstring states."""

import numpy as np
import pytest

from directrank import Ensemble, ListNet, RankBoost, RankSVM, Regression, load, make_ranking, save

READ = {"none": np.array, "standard": np.array, "log": lambda X: np.sign(X) * np.log1p(np.abs(X))}


def data():
    groups = make_ranking(12, 6, 4, random_state=0)
    return np.exp(2.0 * groups.X) * [1, 10, 100, 0.1], groups.relevance, groups.qid


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scaling", READ)
def test_it_is_the_share_of_coefficients_times_deviations_inside_queries(scaling, weighted, tmp_path):
    X, y, qid = data()
    weights = np.linspace(0.0, 2.0, 12) if weighted else np.ones(12)
    ranker = Regression(scaling=scaling).fit(X, y, qid=qid, sample_weight=weights)
    deviations = [READ[scaling](X)[qid == q].std(axis=0) for q in dict.fromkeys(qid)]
    parts = abs(ranker.coef_) * np.average(deviations, axis=0, weights=weights)
    np.testing.assert_allclose(ranker.feature_importances_, parts / parts.sum(), rtol=1e-4)
    save(ranker, tmp_path / "model.dr")
    loaded = load(tmp_path / "model.dr").feature_importances_
    np.testing.assert_array_equal(loaded, ranker.feature_importances_)


def test_a_feature_that_differs_between_queries_alone_has_none():
    X, y, qid = data()
    X[:, 1] = np.unique(qid, return_inverse=True)[1]
    ranker = Regression(scaling="none").fit(X, y, qid=qid)
    assert ranker.feature_importances_[1] < 1e-9


def test_an_ensemble_of_one_linear_scorer_has_it_and_a_sum_of_unlike_ones_has_not():
    X, y, qid = data()
    ranker = Ensemble([RankSVM(), ListNet()]).fit(X, y, qid=qid)
    assert ranker.feature_importances_.sum() == pytest.approx(1.0)
    both = Ensemble([RankSVM(), RankBoost(rounds=2)]).fit(X, y, qid=qid)
    with pytest.raises(AttributeError, match=r"use directrank\.importance"):
        both.feature_importances_  # noqa: B018
    with pytest.raises(AttributeError, match="not fitted"):
        RankSVM().feature_importances_  # noqa: B018
