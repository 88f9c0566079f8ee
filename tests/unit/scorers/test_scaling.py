"""Scalings: statistics against their naive twins, folding, huge values, constants, threads, the rule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from directrank import ListNet, RankSVM
from directrank.data.groups import QueryGroups
from directrank.features import ArrayFeatures
from directrank.features.statistics import (
    are_scaled_inside_queries,
    column_statistics,
    scaled_inside_queries,
)
from directrank.scorers import Linear, LogLinear, QueryLinear
from directrank.scorers.scaling import fit_scaling
from naive import column_statistics_naive, scaled_inside_queries_naive

KINDS = ("none", "standard", "log", "query")


def groups_of(X, n_queries=6):
    """Rows as queries of nearly equal size, in this order."""
    X = np.asarray(X, np.float32)
    return QueryGroups(X, np.zeros(len(X)), np.arange(len(X)) * n_queries // len(X))


def normal(n_docs=240, n_features=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n_docs, n_features))


@st.composite
def features(draw):
    """Columns of unlike kinds: ordinary, heavy-tailed, huge, tiny, far from 0, constant, few values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.normal(size=(draw(st.integers(6, 60)), 7))
    X[:, 1] = np.exp(3 * X[:, 1])
    X[:, 2] *= 1e20
    X[:, 3] *= 1e-20
    X[:, 4] += 1e5
    X[:, 5] = draw(st.sampled_from([0.0, -3.0, 1e30]))
    X[:, 6] = np.round(X[:, 6])
    return X.astype(np.float32)


@given(features(), st.integers(0, 127))
@settings(max_examples=25, deadline=None)
def test_statistics_equal_their_definition(X, bits):
    logarithm = (bits >> np.arange(7)) % 2 == 1
    found, naive = column_statistics(groups_of(X).source, logarithm), column_statistics_naive(X, logarithm)
    size = np.maximum(np.abs(naive.smallest), np.abs(naive.largest))
    assert (np.abs(found.mean - naive.mean) <= 1e-14 * size).all()
    assert (np.abs(found.deviation - naive.deviation) <= 1e-14 * size).all()
    np.testing.assert_allclose(found.smallest, naive.smallest, rtol=1e-15)
    np.testing.assert_allclose(found.largest, naive.largest, rtol=1e-15)
    assert not found.varies[5]


@given(features())
@settings(max_examples=25, deadline=None)
def test_the_scorer_of_raw_features_scores_as_the_scorer_of_scaled_ones(X):
    groups, weights = groups_of(X), np.linspace(-1.0, 1.0, 7)
    for kind in (*KINDS, "auto"):
        scaling = fit_scaling(kind, groups)
        scaled = scaling.of(groups)
        assert np.isfinite(scaled.features).all()
        if kind == "none" and not scaling.shift.size:
            assert scaled is groups
            continue
        scorer, queries = scaling.scorer(Linear(weights)), groups.queries.indptr
        raw = scorer.scores(X, queries) if kind == "query" else scorer.scores(X)
        pipeline = Linear(weights).scores(scaled.features)
        # No ranking depends on the constant by which they differ.
        difference = (raw - raw.mean()) - (pipeline - pipeline.mean())
        assert np.abs(difference).max() <= 1e-6 * np.ptp(pipeline)


@given(features(), st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_standardised_features_do_not_depend_on_units(X, seed):
    units = 2.0 ** np.random.default_rng(seed).integers(-26, 27, 7)
    both = [groups_of(each) for each in (X, X * units)]
    first, second = (fit_scaling("standard", groups).of(groups).features for groups in both)
    np.testing.assert_allclose(second, first, rtol=1e-6, atol=1e-6)


@given(features(), st.integers(1, 5))
@settings(max_examples=25, deadline=None)
def test_scaling_inside_queries_equals_its_definition(X, n_queries):
    groups = groups_of(X, n_queries)
    found, indptr = scaled_inside_queries(groups.features, groups.queries.indptr), groups.queries.indptr
    np.testing.assert_allclose(found, scaled_inside_queries_naive(groups.features, indptr), rtol=1e-6)
    assert found.min() >= 0
    assert found.max() <= 1
    assert are_scaled_inside_queries(ArrayFeatures(found, indptr))
    np.testing.assert_allclose(scaled_inside_queries(found, indptr), found, rtol=1e-6)


def test_mean_and_deviation_by_hand():
    X = np.array([[1.0, np.e - 1], [3.0, 0.0], [5.0, -(np.e - 1)]])
    scaling = fit_scaling("standard", groups_of(X, 1))
    np.testing.assert_allclose(scaling.shift, [3.0, 0.0], atol=1e-8)
    np.testing.assert_allclose(
        scaling.factor, [1 / np.sqrt(8 / 3), 1 / ((np.e - 1) * np.sqrt(2 / 3))], rtol=1e-6
    )
    logarithm = fit_scaling("log", groups_of(X, 1))
    np.testing.assert_allclose(logarithm.factor[1], 1 / np.sqrt(2 / 3), rtol=1e-6)
    folded = logarithm.scorer(Linear(np.array([0.0, 2.0])))
    assert isinstance(folded, LogLinear)
    np.testing.assert_allclose(
        folded.scores(X.astype(np.float32)), np.sqrt(6) * np.array([1, 0, -1]), rtol=1e-6
    )


def test_a_constant_feature_has_coefficient_0():
    X = normal()
    X[:, 2] = 0.1
    for kind in ("standard", "log"):
        scaling = fit_scaling(kind, groups_of(X))
        assert (scaling.of(groups_of(X)).features[:, 2] == 0).all()
        assert scaling.scorer(Linear(np.ones(5))).coefficients[2] == 0
        assert scaling.on_scaled(np.ones(5))[2] == 0


@pytest.mark.parametrize("offset", [1e4, 1e6, -1e7])
@pytest.mark.parametrize("ranker", [RankSVM, ListNet])
def test_without_scaling_an_offset_costs_no_digits(ranker, offset):
    """Of what float32 holds: the same values moved by hand have the same coefficients."""
    rng = np.random.default_rng(4)
    X = (rng.normal(size=(240, 5)) + offset).astype(np.float32)
    X[:, 2] = offset
    y, qid = np.clip(np.round(X[:, 0] - X[:, 0].mean() + 2), 0, 4), np.repeat(np.arange(12), 20)
    moved = (X.astype(np.float64) - np.float32(offset)).astype(np.float32)
    far, near = (ranker(scaling="none").fit(values, y, qid=qid) for values in (X, moved))
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-5, atol=1e-6)
    assert far.coef_[2] == 0
    assert far.certificate_["objective"] == pytest.approx(near.certificate_["objective"], rel=1e-6)
    assert far.notes_ == ["5 of 5 features are far from 0: training subtracts their medians"]
    assert near.notes_ == []
    # A gap in the order of two documents is one of the features.
    np.testing.assert_allclose(
        far.predict(X) - far.predict(X)[0], near.predict(moved) - near.predict(moved)[0], atol=1e-5
    )


def test_missing_values_of_features_far_from_0_are_filled():
    X = (normal() + 1e6).astype(np.float32)
    X[3, 1] = np.nan
    scaling = fit_scaling("none", groups_of(X))
    scaled = scaling.of(groups_of(X))
    middle = np.nanmedian(X, axis=0)
    expected = (np.where(np.isnan(X), middle, X) - middle.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(scaled.features, expected)
    assert scaling.scorer(Linear(np.arange(5.0))).coefficients.tolist() == [0, 1, 2, 3, 4]


def test_coefficients_of_raw_and_of_scaled_features_are_each_others_inverse():
    groups, raw = groups_of(np.exp(normal())), np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    for kind in KINDS:
        scaling = fit_scaling(kind, groups)
        back = scaling.scorer(Linear(scaling.on_scaled(raw)))
        np.testing.assert_allclose(back.coefficients, raw, rtol=1e-14)
        assert scaling.reads_as(back)
    assert not fit_scaling("log", groups).reads_as(Linear(raw))
    assert not fit_scaling("standard", groups).reads_as(QueryLinear(raw))


def test_a_query_of_weight_0_is_not_read_and_weight_2_is_a_copy():
    X = normal(60, 3)
    groups = groups_of(X, 6)
    plain = np.full(3, False)
    X[:10] = 1e6
    weighted = column_statistics(groups_of(X, 6).source, plain, np.repeat([0.0, 1, 1, 1, 1, 2], 10))
    copied = column_statistics(groups_of(np.concatenate((X[10:], X[50:])), 6).source, plain)
    np.testing.assert_allclose(weighted.mean, copied.mean, rtol=1e-12)
    np.testing.assert_allclose(weighted.deviation, copied.deviation, rtol=1e-12)
    assert (weighted.largest == groups.features[10:].max(axis=0)).all()
