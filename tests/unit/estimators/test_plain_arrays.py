"""Plain arrays, which are checked without scikit-learn, are refused where it would refuse them."""

import numpy as np
import pandas
import pytest

from directrank import QueryGroups, RankSVM, Regression, check_data

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


def seconds_since_1970():
    # From 2^30 to 2^31 float32 has the multiples of 2^7 alone.
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[:, 1] = 1.7e9 + np.arange(40)
    return X, np.arange(40) % 3, np.repeat(np.arange(4), 10)


def test_an_array_whose_numbers_float32_rounds_is_remarked_once(recwarn):
    X, y, qid = seconds_since_1970()
    for _ in range(2):
        Regression().fit(X, y, qid=qid)
    (seen,) = recwarn.list
    assert "float32 rounds them (feature 2 to multiples of 128): subtract a constant" in str(seen.message)
    assert seen.filename == __file__
    check = check_data(QueryGroups(X, y, qid))
    (finding,) = (each for each in check.findings if each.code == "rounded_features")
    assert "feature 2 to multiples of 128" in finding.message


def test_the_column_of_a_frame_that_float32_rounds_has_its_name():
    X, y, qid = seconds_since_1970()
    with pytest.warns(UserWarning, match=r"\(time to multiples of 128\)"):
        Regression().fit(pandas.DataFrame(X, columns=["a", "time", "b"]), y, qid=qid)


@pytest.mark.parametrize(
    "times",
    [
        np.arange(40.0),
        2.0**24 - 1 - np.arange(40),  # every whole number to 2^24 is one of float32
        1e9 * np.arange(40),  # rounded, and far apart
        np.full(40, np.nan),
    ],
)
def test_numbers_that_float32_tells_apart_are_not_remarked(times):
    X, y, qid = seconds_since_1970()
    X[:, 1] = times
    Regression().fit(X, y, qid=qid)


def test_a_feature_that_is_large_where_it_is_not_missing_is_remarked():
    X, y, qid = seconds_since_1970()
    X[::2, 1] = np.nan
    with pytest.warns(UserWarning, match="float32 rounds them"):
        Regression().fit(X, y, qid=qid)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.repeat(np.array(["2020-01-01", "2021-01-01"], "M8[D]"), 6), r"found datetime64\[D\]"),
        (np.repeat([1, 2], 6).astype("m8[s]"), r"found timedelta64\[s\]"),
        (Y.astype(complex), "Complex data not supported, found complex128"),
        (np.where(Y > 0, "good", "bad"), "row 0: found 'bad', expected a number"),
        (5, r"y has 1"),
    ],
)
def test_relevance_that_is_no_number_is_refused(y, message):
    with pytest.raises(ValueError, match=message):
        RankSVM().fit(X, y, qid=QID)
    if np.ndim(y):
        with pytest.raises(ValueError, match=message):
            QueryGroups(X, y, QID)


@pytest.mark.parametrize("y", [[], np.zeros((0, 1))])
def test_relevance_of_no_row_is_refused_with_what_to_pass(y, ranker):
    with pytest.raises(ValueError, match=r"^y is empty; expected the relevance of each row of X$"):
        Regression().fit([[1.0], [2.0]], y, qid=[0, 0])
    with pytest.raises(ValueError, match="y is empty"):
        ranker.score(np.zeros((2, ranker.n_features_in_)), y, qid=[0, 0])
