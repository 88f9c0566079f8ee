"""Half precision of the features in training: an option of methods trained by L-BFGS."""

import numpy as np
import pytest
from sklearn.base import clone

from directrank import load, make_ranking, save
from directrank.estimators import ApproxRank, ConsistentRank, ListNet, RankSVM


@pytest.fixture(scope="module")
def groups():
    """One shard: arithmetic in float64."""
    return make_ranking(40, 15, 7, noise=0.5, random_state=0)


@pytest.mark.parametrize("cls", [ApproxRank, ConsistentRank, ListNet])
def test_half_precision_changes_coefficients_a_little(cls, groups):
    single = cls(max_iterations=30).fit(groups)
    half = clone(single).set_params(precision="half").fit(groups)
    assert half.coef_.dtype == np.float64
    change = np.abs(half.coef_ - single.coef_).max() / np.abs(single.coef_).max()
    assert 0 < change < 0.05
    assert half.score(groups) == pytest.approx(single.score(groups), abs=0.01)


def test_it_is_no_part_of_the_model(groups, tmp_path):
    half = ListNet(precision="half").fit(groups)
    save(half, tmp_path / "model.dr")
    np.testing.assert_array_equal(load(tmp_path / "model.dr").predict(groups.X), half.predict(groups.X))


@pytest.mark.parametrize("ranker", [RankSVM(), ApproxRank(solver="sgd")])
def test_other_solvers_refuse_it_by_name(ranker, groups):
    with pytest.raises(ValueError, match=r"trained by L-BFGS.*omit precision"):
        ranker.set_params(precision="half").fit(groups)
    with pytest.raises(ValueError, match="precision"):
        ListNet(precision="double").fit(groups)
