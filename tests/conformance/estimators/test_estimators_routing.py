"""Every estimator in searches and pipelines: qid follows its rows."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from directrank import DataError, QueryGroups, RankSVM
from estimator_examples import representatives, rows


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def grid_of(estimator):
    name = next(
        name for name in ("ridge", "rounds", "penalty", "random_state") if name in estimator.get_params()
    )
    return {name: [0, 1] if name == "random_state" else [1, 2]}


@pytest.mark.share(2)
@representatives
@pytest.mark.usefixtures("routing")
def test_grid_search_routes_qid(estimator):
    X, y, qid = rows()
    cv = GroupKFold(3).set_split_request(groups="qid")
    search = GridSearchCV(clone(estimator), grid_of(estimator), cv=cv).fit(X, y, qid=qid)
    # The same by hand: train, then score the held-out queries, one by one.
    by_hand = []
    for train, test in GroupKFold(3).split(X, y, groups=qid):
        assert not set(qid[train]) & set(qid[test])
        best = clone(estimator).set_params(**search.best_params_).fit(X[train], y[train], qid=qid[train])
        by_hand.append(best.score(X[test], y[test], qid=qid[test]))
    assert search.best_score_ == pytest.approx(np.mean(by_hand), rel=1e-12)
    assert search.score(X, y, qid=qid) == search.best_estimator_.score(X, y, qid=qid)


@pytest.mark.share(2)
@representatives
@pytest.mark.usefixtures("routing")
def test_a_pipeline_routes_qid_and_weights(estimator):
    """A pipeline passes sample_weight to score, whether it was given or not."""
    X, y, qid = rows()
    pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), clone(estimator))
    assert pipe.fit(X, y, qid=qid).score(X, y, qid=qid) > 0.5
    weights = np.where(qid == "q0", 3.0, 1.0)
    assert pipe.score(X, y, qid=qid, sample_weight=weights) > 0.5
    cv = GroupKFold(3).set_split_request(groups="qid")
    grid = {f"{pipe.steps[-1][0]}__{name}": values for name, values in grid_of(estimator).items()}
    search = GridSearchCV(clone(pipe), grid, cv=cv, error_score="raise").fit(X, y, qid=qid)
    assert 0.5 < search.best_score_ <= 1.0
    result = cross_validate(clone(pipe), X, y, cv=cv, params={"qid": qid}, error_score="raise")
    assert (result["test_score"] > 0.5).all()


def test_cross_validation_without_routing_is_refused_and_the_remedies_work():
    X, y, qid = rows(n_queries=30)
    with pytest.raises(ValueError, match=r"qid is missing for \d+ rows: pass qid=… .*set_score_request"):
        cross_val_score(RankSVM(), X, y, groups=qid, cv=GroupKFold(3))
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = RankSVM().set_fit_request(qid=True).set_score_request(qid=True)
        cv = GroupKFold(3).set_split_request(groups="qid")
        found = cross_val_score(ranker, X, y, cv=cv, params={"qid": qid})
    by_hand = [
        RankSVM().fit(QueryGroups(X[a], y[a], qid[a])).score(QueryGroups(X[b], y[b], qid[b]))
        for a, b in GroupKFold(3).split(X, y, groups=qid)
    ]
    assert found.tolist() == pytest.approx(by_hand, rel=1e-12)


def test_permutation_importance_without_qid_is_refused_and_the_remedy_works():
    X, y, qid = rows(n_queries=30)
    ranker = RankSVM().fit(X, y, qid=qid)
    with pytest.raises(
        DataError, match=r"qid is missing .*permutation_importance passes no qid: use scoring="
    ):
        permutation_importance(ranker, X, y, random_state=0)
    found = permutation_importance(
        ranker, X, y, random_state=0, scoring=lambda ranker, X, y: ranker.score(X, y, qid=qid)
    )
    assert found.importances_mean[0] > 0
