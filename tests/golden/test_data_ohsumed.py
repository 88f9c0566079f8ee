"""The reader and the data check on LETOR's own OHSUMED."""

from itertools import pairwise

import numpy as np
import pytest

from directrank.data import QueryGroups
from directrank.diagnostics import check_data
from directrank.diagnostics.data_check import constant_score_ap
from directrank.errors import DataFormatError
from directrank.files import find_folds, load_letor, read_letor

pytestmark = pytest.mark.golden

CONSTANT = [5, 6, 7, 20, 21, 22, 35, 36, 37]


@pytest.fixture(scope="module")
def tests_of_folds(ohsumed):
    return [fold.load()[2] for fold in find_folds(ohsumed)]


def concatenated(parts) -> QueryGroups:
    return QueryGroups(
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.relevance for part in parts]),
        np.concatenate([part.qid for part in parts]),
        name="OHSUMED",
    )


def test_sizes(ohsumed, tests_of_folds):
    whole = concatenated(tests_of_folds)
    assert (whole.n_queries, whole.n_docs, whole.n_features) == (106, 16140, 45)
    assert sorted(whole.queries.qid) == list(range(1, 107))
    assert np.unique(whole.relevance).tolist() == [0, 1, 2]
    assert [part.n_queries for part in tests_of_folds] == [22, 21, 21, 21, 21]
    train, vali, test = load_letor(ohsumed / "Fold1")
    assert [part.n_docs for part in (train, vali, test)] == [9219, 3538, 3383]
    assert test.docid[0] == "57950"
    assert test.X[0, :4].tolist() == np.float32([0.666667, 0.666666, 0.857143, 0.866241]).tolist()


def test_equals_scikit_learn(ohsumed):
    from sklearn.datasets import load_svmlight_file

    path = ohsumed / "Fold1" / "train.txt"
    X, y, qid = load_svmlight_file(path, query_id=True, dtype=np.float32)
    ours = read_letor(path)
    np.testing.assert_array_equal(ours.X, X.toarray())
    np.testing.assert_array_equal(ours.relevance, y)
    np.testing.assert_array_equal(ours.qid, qid)


def test_the_check_says_what_is_known(tests_of_folds):
    check = check_data(concatenated(tests_of_folds))
    found = {finding.code: finding for finding in check.findings}
    assert set(found) == {"no_relevant", "constant_features", "duplicate_documents", "order_leaks_relevance"}
    assert found["no_relevant"].count == 1
    assert found["no_relevant"].examples[0] in range(1, 22)
    assert found["constant_features"].count == len(CONSTANT)
    assert found["constant_features"].examples == [f"feature {k}" for k in CONSTANT[:5]]
    assert f"{found['duplicate_documents'].count / check.n_docs:.0%}" == "13%"
    assert "The order of the rows leaks the labels" in found["order_leaks_relevance"].message


def average_precision(relevance) -> float:
    hits = np.flatnonzero(relevance > 0) + 1
    return float(np.mean(np.arange(1, len(hits) + 1) / hits)) if len(hits) else 0.0


def test_a_constant_score_has_the_known_map(tests_of_folds):
    pairs = [constant_score_ap(part.queries) for part in tests_of_folds]
    assert np.mean([in_order.mean() for in_order, _ in pairs]) == pytest.approx(0.4274, abs=5e-5)
    backwards = [QueryGroups(part.X[::-1], part.relevance[::-1], part.qid[::-1]) for part in tests_of_folds]
    means = [constant_score_ap(part.queries)[0].mean() for part in backwards]
    assert np.mean(means) == pytest.approx(0.2685, abs=5e-5)
    # The expected value, by drawing 40 orders of each query; the standard error is below 0.001.
    rng = np.random.default_rng(0)
    drawn = [
        np.mean([average_precision(rng.permutation(part.queries.relevance[a:b])) for _ in range(40)])
        for part in tests_of_folds
        for a, b in pairwise(part.queries.indptr)
    ]
    expected = np.concatenate([expected for _, expected in pairs])
    assert np.mean(drawn) == pytest.approx(expected.mean(), abs=0.003)
    assert expected.mean() == pytest.approx(0.305, abs=0.003)


@pytest.mark.heavy
def test_letor_2_with_its_line_ends(ohsumed_letor2):
    folds = find_folds(ohsumed_letor2)
    whole = concatenated([fold.load()[2] for fold in folds])
    assert (whole.n_queries, whole.n_features) == (106, 25)
    test = load_letor(ohsumed_letor2 / "Fold1")[2]
    assert test.docid[0] == "7612"
    assert test.X[0, 22:].tolist() == np.float32([-4.6914, -4.65841, -4.63973]).tolist()
    found = {finding.code: finding for finding in check_data(whole).findings}
    assert {"feature 5", "feature 6", "feature 7"} <= set(found["constant_within_queries"].examples)


def test_null_is_refused_by_its_place_on_request(ohsumed_null):
    path = ohsumed_null / "Fold1" / "train.txt"
    first = next(
        (number, line.index(b"NULL") + 1)
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1)
        if b"NULL" in line
    )
    with pytest.raises(DataFormatError, match=r"found 'NULL'.*missing='query_min'") as caught:
        read_letor(path, missing="error")
    assert (caught.value.line, caught.value.column) == first
    assert str(caught.value).startswith(f"{path}:{first[0]}:{first[1]}: ")


# In the official normalised features a missing BM25 (of title, abstract and both, and its logarithm) is 0,
# and whatever else is missing is the least value within the query.
ZERO_IF_MISSING = np.array([11, 12, 26, 27, 41, 42]) - 1


@pytest.mark.heavy
def test_filled_and_normalised_features_are_the_official_ones(ohsumed, ohsumed_null):
    official = load_letor(ohsumed / "Fold1")
    least = load_letor(ohsumed_null / "Fold1", missing="query_min")
    zero = load_letor(ohsumed_null / "Fold1", missing=0.0)
    for filled, other, known in zip(least, zero, official, strict=True):
        filled.features[:, ZERO_IF_MISSING] = other.features[:, ZERO_IF_MISSING]
        np.testing.assert_array_equal(filled.qid, known.qid)
        assert filled.docid.tolist() == known.docid.tolist()
        for a, b in pairwise(filled.queries.indptr):
            X = filled.features[a:b].astype(float)
            low, high = X.min(axis=0), X.max(axis=0)
            scaled = np.where(high > low, (X - low) / np.where(high > low, high - low, 1), 0)
            np.testing.assert_allclose(scaled, known.features[a:b], atol=2e-5)
