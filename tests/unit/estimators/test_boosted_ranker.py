"""Rankers over weak rankers: options, stages, weak rankers of scikit-learn, files."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from directrank import FRank, NDCGBoost, QueryGroups, RankBoost, load, save
from directrank.estimators.presets.boosted import tree_of_classifier

PRESETS = (NDCGBoost, RankBoost, FRank)
every = pytest.mark.parametrize("preset", PRESETS)


def collection(seed=0, n_queries=12, n_docs=15, levels=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_docs, 4))
    if levels:
        X = np.round(X * levels) / levels
    truth = X @ [1.0, -0.7, 0.4, 0.0] + rng.normal(size=len(X))
    return QueryGroups(X, np.digitize(truth, [0.5, 1.5]), np.repeat(np.arange(n_queries), n_docs))


@every
def test_stages_are_rounds(preset):
    train, test = collection(), collection(1)
    ranker = preset(rounds=8, keep="last").fit(train, eval_set=test)
    stages = list(ranker.staged_predict(test))
    assert len(stages) == 8
    np.testing.assert_array_equal(stages[-1], ranker.predict(test))
    np.testing.assert_array_equal(list(ranker.staged_predict(test.X))[-1], ranker.predict(test))
    shorter = preset(rounds=3, keep="last").fit(train)
    np.testing.assert_array_equal(stages[2], shorter.predict(test))


@every
def test_the_best_round_is_kept(preset):
    train, vali = collection(), collection(7, n_queries=6)
    ranker = preset(rounds=40, keep="best", select_by="nDCG@3").fit(train, eval_set=vali)
    judged = [row["monitor"] for row in ranker.history_]
    best = int(np.argmax(judged))
    assert ranker.scorer_.n_rounds == best + 1
    assert ranker.score(vali) == pytest.approx(judged[best], abs=1e-12)
    stages = list(preset(rounds=40, keep="last").fit(train).staged_predict(vali))
    np.testing.assert_array_equal(ranker.predict(vali), stages[best])


@every
def test_patience_ends_a_run(preset):
    train, vali = collection(), collection(7, n_queries=6)
    full = preset(rounds=60, keep="best").fit(train, eval_set=vali)
    judged = np.array([row["monitor"] for row in full.history_])
    ranker = preset(rounds=60, keep="best", patience=4).fit(train, eval_set=vali)
    best_so_far = np.maximum.accumulate(judged)
    first = next((t for t in range(4, len(judged)) if best_so_far[t] == best_so_far[t - 4]), len(judged) - 1)
    assert len(ranker.history_) == first + 1
    assert [row["monitor"] for row in ranker.history_] == judged[: first + 1].tolist()


@every
def test_bins_of_few_values_train_the_same_model(preset):
    groups = collection(levels=8)
    exact, binned = (preset(rounds=15, search=how).fit(groups) for how in ("exact", "histogram"))
    np.testing.assert_allclose(exact.predict(groups), binned.predict(groups), atol=1e-9)


def test_a_tree_sends_rows_where_scikit_learn_does():
    rng = np.random.default_rng(4)
    for depth in (1, 2, 5):
        X = np.repeat(rng.normal(size=(60, 3)), 4, axis=0).astype(np.float32)
        X[1::2] = np.nextafter(X[1::2], np.float32(9))  # neighbours in float32, with a midpoint between them
        y = rng.integers(0, 2, len(X))
        classifier = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y)
        tree = tree_of_classifier(classifier)
        np.testing.assert_array_equal(tree.scores(X), classifier.predict(X))
        near = np.concatenate([np.nextafter(X, np.float32(side)) for side in (-9, 9)])
        np.testing.assert_array_equal(tree.scores(near), classifier.predict(near))


def test_a_tree_sends_missing_values_where_scikit_learn_does():
    rng = np.random.default_rng(5)
    for depth in (1, 2, 5):
        X = rng.normal(size=(200, 3)).astype(np.float32)
        y = (X[:, 0] > 0).astype(int)
        X[:, 0][(y == 1) & (rng.random(200) < 0.7)] = np.nan
        X[:, 1][rng.random(200) < 0.3] = np.nan
        X[:, 2] = np.where(y == 1, 1.0, np.nan)[::-1]
        classifier = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y)
        other = np.where(rng.random(X.shape) < 0.5, np.nan, X[::-1]).astype(np.float32)
        tree = tree_of_classifier(classifier)
        for rows in (X, other):
            np.testing.assert_array_equal(tree.scores(rows), classifier.predict(rows))


def test_a_split_between_values_and_missing_ones_is_saved(tmp_path):
    X, y = np.zeros((40, 1)), np.arange(40) % 2
    X[y == 1] = np.nan
    groups = QueryGroups(X, y, np.arange(40) // 10)
    ranker = NDCGBoost(rounds=2, weak_ranker=DecisionTreeClassifier(max_depth=1)).fit(groups)
    assert ranker.score(groups) == 1.0
    save(ranker, tmp_path / "model.dr")
    assert load(tmp_path / "model.dr").predict(groups).tobytes() == ranker.predict(groups).tobytes()


def test_any_classifier_trains_and_predicts_but_only_trees_are_saved(tmp_path):
    groups = collection()
    for classifier in (LogisticRegression(), RandomForestClassifier(3, max_depth=2, random_state=0)):
        ranker = NDCGBoost(rounds=5, weak_ranker=classifier).fit(groups)
        np.testing.assert_allclose(list(ranker.staged_predict(groups))[-1], ranker.predict(groups))
        assert ranker.history_[-1]["objective"] < 1.0
        assert len(ranker.feature_importances_) == 4
        with pytest.raises(TypeError, match=f"{type(classifier).__name__} weak rankers cannot be saved"):
            save(ranker, tmp_path / "model.dr")


def test_shrinkage_takes_that_share_of_each_step():
    train = collection()
    whole, share = (RankBoost(rounds=1, shrinkage=each).fit(train) for each in (1.0, 0.25))
    # From the same scores, the same stump with a quarter of its step: scores of all documents too.
    assert share.history_[0]["feature"] == whole.history_[0]["feature"]
    assert share.history_[0]["coefficient"] == 0.25 * whole.history_[0]["coefficient"]
    np.testing.assert_allclose(share.predict(train), 0.25 * whole.predict(train), rtol=1e-12)
