"""A fit that fails leaves the ranker as it was: with the scorer of an earlier fit, and what that reads."""

import numpy as np
import pandas
import pytest

from directrank import RankBoost, RankSVM, TreeRanker

X, Y, QID = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 3, np.arange(12) // 6


def interrupt(name, value):
    raise KeyboardInterrupt


@pytest.mark.parametrize("make", [RankSVM, RankBoost, lambda: TreeRanker(rounds=3, keep="last")])
def test_scores_are_those_before_a_fit_that_failed(make):
    frame = pandas.DataFrame(X, columns=list("abc"))
    ranker = make().fit(frame, Y, qid=QID)
    before, scores = dict(vars(ranker)), ranker.predict(frame)
    for features, y, error in (
        (frame[["c", "b", "a"]], Y - 1, ValueError),
        (frame[["a"]], Y[:-1], ValueError),
        (frame[["b", "a"]], np.zeros(12), ValueError),  # nothing to learn
    ):
        with pytest.raises(error):
            ranker.fit(features, y, qid=QID)
        assert vars(ranker) == before
        np.testing.assert_array_equal(ranker.predict(frame), scores)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(X[:, :2], Y, qid=QID, eval_set=(X[:, :2], Y, QID), callbacks=[interrupt])
    np.testing.assert_array_equal(ranker.predict(frame), scores)


def test_a_first_fit_that_failed_leaves_nothing():
    ranker = RankSVM()
    with pytest.raises(ValueError, match="relevance of row 0 is -1"):
        ranker.fit(X, Y - 1, qid=QID)
    assert not hasattr(ranker, "n_features_in_")
