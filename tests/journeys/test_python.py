"""The page on Python: a frame of a shop, fitted, saved, loaded and evaluated, beside scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GridSearchCV, GroupKFold

import directrank
from journeys.shop import ndcg


@pytest.fixture(scope="module")
def months(folder):
    return [pd.read_csv(name) for name in ("shop.csv", "next.csv")]


def parts(month):
    features = month.drop(columns=["search_id", "product_id", "relevance", "day"])
    return features, month.relevance, month.search_id


def test_a_ranker_of_a_frame_is_saved_and_ranks_the_next_month(months, folder):
    month, later = months
    X, y, qid = parts(month)
    ranker = directrank.TreeRanker(measure="nDCG@10").fit(X, y, qid=qid)
    directrank.save(ranker, folder / "frame.dr")
    loaded = directrank.load(folder / "frame.dr")
    X, y, qid = parts(later)
    scores = ranker.predict(X)
    assert scores.shape == (len(later),)
    np.testing.assert_array_equal(loaded.predict(X[X.columns[::-1]]), scores)
    assert np.unique(scores).size > len(later) / 2

    queries = [qid == each for each in qid.unique()]
    wanted = np.mean([ndcg(y[inside], scores[inside]) for inside in queries])
    found = directrank.evaluate(y, scores, qid=qid, measures=["nDCG@10"])
    assert found["nDCG@10"] == pytest.approx(wanted, abs=1e-9)
    assert ranker.score(X, y, qid=qid) == pytest.approx(wanted, abs=1e-9)
    gains = [2.0 ** y[inside].to_numpy() - 1 for inside in queries]
    theirs = [
        ndcg_score([gain], [scores[inside]], k=10)
        for gain, inside in zip(gains, queries, strict=True)
        if gain.any()
    ]
    assert wanted == pytest.approx(np.sum(theirs) / len(queries), abs=1e-6)

    inside = queries[3]
    order = loaded.rank(X[inside])
    assert sorted(order) == list(range(int(inside.sum())))
    assert (np.diff(scores[inside][order]) <= 0).all()
    assert wanted > np.mean([ndcg(y[inside], X.text_match[inside]) for inside in queries])


def test_a_grid_search_of_scikit_learn_tries_every_point_on_every_fold(months):
    X, y, qid = parts(months[0])
    search = GridSearchCV(directrank.RankSVM(), {"penalty": [10.0, 0.1, 0.001]}, cv=GroupKFold(3))
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        search.estimator = directrank.RankSVM().set_fit_request(qid=True).set_score_request(qid=True)
        search.fit(X, y, qid=qid, groups=qid)
    values = np.column_stack([search.cv_results_[f"split{k}_test_score"] for k in range(3)])
    assert values.shape == (3, 3)
    assert np.isfinite(values).all()
    assert search.best_score_ == pytest.approx(values.mean(1).max())
    assert search.best_estimator_.penalty == [10.0, 0.1, 0.001][int(values.mean(1).argmax())]
