"""Plain arrays, which are checked without scikit-learn, are refused where it would refuse them."""

import numpy as np
import pandas
import pytest

from directrank import RankSVM

X, Y, QID = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 3, np.arange(12) // 6


@pytest.fixture
def ranker():
    return RankSVM().fit(X, Y, qid=QID)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300])
def test_numbers_without_end_are_not_ranked(ranker, value):
    wrong = X.copy()
    wrong[7, 1] = value
    with pytest.raises(ValueError, match="X contains infinity or a value too large"):
        ranker.predict(wrong)


def test_missing_values_are_no_infinities(ranker):
    missing = X.copy()
    missing[7, 1] = np.nan
    assert np.isfinite(ranker.predict(missing)).all()


@pytest.mark.parametrize("n_features", [2, 4])
def test_the_number_of_features_is_that_of_training(ranker, n_features):
    with pytest.raises(ValueError, match=f"X has {n_features} features, but RankSVM is expecting 3 features"):
        ranker.predict(np.zeros((5, n_features)))


def test_an_array_has_no_names_of_features_before_it():
    ranker = RankSVM().fit(pandas.DataFrame(X, columns=list("abc")), Y, qid=QID)
    assert vars(ranker)["feature_names_in_"].tolist() == ["a", "b", "c"]
    assert not hasattr(ranker.fit(X[:, :2], Y, qid=QID), "feature_names_in_")
    assert ranker.n_features_in_ == 2


def test_arrays_of_other_layouts_and_types_are_the_same_numbers(ranker):
    whole = np.rint(4 * X)
    scores = ranker.predict(whole)
    for other in (
        np.asfortranarray(whole),
        whole.astype(np.int64),
        whole.astype(np.float16),
        whole[::-1][::-1],
    ):
        np.testing.assert_array_equal(ranker.predict(other), scores)
