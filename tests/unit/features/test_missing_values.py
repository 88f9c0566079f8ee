"""Missing values of linear scorers: the medians, what they fill, and the scaling of what remains."""

import numpy as np
import pytest

from directrank.data.groups import QueryGroups
from directrank.features import ArrayFeatures
from directrank.features.statistics import (
    are_scaled_inside_queries,
    medians,
    scaled_inside_queries,
)
from directrank.scorers import Linear, LogLinear, QueryLinear
from directrank.scorers.scaling import Scaling, fit_scaling
from naive import scaled_inside_queries_naive


def holed(seed=0, n=300, d=20, share=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[rng.random(X.shape) < share] = np.nan
    return X


def groups_of(X):
    return QueryGroups(X, np.arange(len(X)) % 3, np.arange(len(X)) // 10)


def test_medians_by_definition():
    X = holed()
    X[:, 3] = np.nan
    X[:, 4] = np.round(X[:, 4])
    expected = [np.median(column[~np.isnan(column)]) if k != 3 else 0.0 for k, column in enumerate(X.T)]
    np.testing.assert_array_equal(medians(X), np.array(expected, np.float32))
    largest = np.finfo(np.float32).max
    assert medians(np.array([[largest], [largest]], np.float32)) == largest


def test_medians_depend_on_values_alone():
    X = holed(1)
    X[:, 0] = np.where(np.arange(300) % 2, 0.0, -0.0)
    assert medians(X[::-1]).tobytes() == medians(X).tobytes()
    # More columns than are read at a time, on one thread and on three.
    wide = groups_of(holed(2, 200, 50))
    one, three = (fit_scaling("standard", wide, n_threads=n) for n in (1, 3))
    assert one.fill.tobytes() == three.fill.tobytes() == medians(wide.features).tobytes()


def test_queries_without_weight_have_no_part_in_the_medians():
    X = holed()
    groups = groups_of(X)
    weights = (np.arange(groups.n_queries) % 2).astype(float)
    kept = groups.select(weights > 0)
    found = fit_scaling("standard", groups, weights).fill
    assert found.tobytes() == fit_scaling("standard", kept).fill.tobytes()


@pytest.mark.parametrize("kind", Scaling.choices)
def test_a_scorer_is_that_of_the_filled_features(kind):
    groups = groups_of(holed())
    scaling = fit_scaling(kind, groups)
    scaled = scaling.of(groups)
    assert np.isfinite(scaled.features).all()
    weights = np.linspace(-1, 1, groups.n_features)
    scorer, queries = scaling.scorer(Linear(weights)), groups.queries.indptr
    scores = scorer.scores(groups.features, queries) if kind == "query" else scorer.scores(groups.features)
    difference = scores - Linear(weights).scores(scaled.features)
    assert np.ptp(difference) <= 1e-5 * np.ptp(scores)
    n_missing = int(np.isnan(groups.features).sum())
    assert scaling.notes == [f"filled {n_missing} missing values of 20 features by their training medians"]


def test_a_column_without_any_value_is_0_and_said():
    X = holed(d=3, share=0.0)
    X[:, 1] = np.nan
    for kind in Scaling.choices:
        scaling = fit_scaling(kind, groups_of(X))
        assert not scaling.of(groups_of(X)).features[:, 1].any()
        (note,) = scaling.notes
        assert note.endswith("of 1 feature by their training medians; 1 of them without any value became 0")


def test_rows_are_scored_one_by_one():
    X, weights, fill = holed(), np.linspace(-1, 1, 20), np.arange(20, dtype=np.float32)
    for scorer in (Linear(weights, fill), LogLinear(weights, np.arange(20) % 2 == 0, fill)):
        one_by_one = np.concatenate([scorer.scores(row[None]) for row in X])
        assert scorer.at(weights).scores(X).tobytes() == one_by_one.tobytes()
        assert np.isfinite(one_by_one).all()
    assert QueryLinear(weights, fill).at(weights).fill is fill


def test_ranges_are_those_of_the_values_there_are():
    X, indptr = holed(3, 60, 4, 0.5), np.array([0, 1, 11, 30, 60])
    X[11:30, 2] = np.nan
    X[30:60, 3] = 7.0
    X[30, 3] = np.nan
    out = scaled_inside_queries(X, indptr)
    np.testing.assert_allclose(out, scaled_inside_queries_naive(X, indptr), rtol=1e-6)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(X))


def test_holes_do_not_hide_that_features_are_scaled():
    X, indptr = holed(4, 600, 8, 0.0), np.arange(0, 601, 30)
    scaled = scaled_inside_queries(X, indptr)
    holes = np.random.default_rng(0).random(X.shape) < 0.3
    scaled[holes] = np.nan
    assert are_scaled_inside_queries(ArrayFeatures(scaled, indptr))
    assert not are_scaled_inside_queries(ArrayFeatures(np.where(holes, np.nan, X), indptr))
    # Small values never reach 1.
    assert not are_scaled_inside_queries(ArrayFeatures(0.01 * scaled, indptr))


@pytest.mark.parametrize("n", [1, 2, 299, 300])
def test_medians_of_few_and_many_shards_are_those_by_definition(n, monkeypatch):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 8)).astype(np.float32)
    X[:, 0] = np.nan
    X[:, 1] = np.where(np.arange(n) % 2, 0.0, -0.0)
    X[:, 2] = np.round(X[:, 2])
    X[:, 3] = np.finfo(np.float32).max
    X[:, 4] *= np.float32(1e-42)  # subnormal numbers
    X[rng.random(X.shape) < 0.3] = np.nan
    one = medians(X)
    known = [column[~np.isnan(column)].astype(float) for column in X.T]
    expected = [np.median(column) + 0.0 if len(column) else 0.0 for column in known]
    np.testing.assert_array_equal(one, np.array(expected, np.float32))
    monkeypatch.setattr("directrank.features.shards.SHARD_BYTES", 2**9)
    monkeypatch.setattr("directrank.features.statistics.FEWEST_ROWS", 200)
    assert medians(groups_of(X).source).tobytes() == one.tobytes()


@pytest.mark.parametrize("fewest", [30, 2**12])
def test_medians_leave_out_documents_that_do_not_count(fewest, monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    monkeypatch.setattr("directrank.features.statistics.FEWEST_ROWS", fewest)
    counted = np.repeat(np.array([0.0, 1, 2, 0, 1, 1]) > 0, 10)
    groups = groups_of(X)
    expected = np.median(groups.features[counted].astype(float), axis=0).astype(np.float32)
    np.testing.assert_array_equal(medians(groups.source, counted), expected)
