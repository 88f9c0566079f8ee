"""The rule of scaling="auto": which features ask for which scaling."""

import numpy as np
import pytest

from directrank.data.groups import QueryGroups
from directrank.features.statistics import scaled_inside_queries
from directrank.scorers.scaling import fit_scaling

N_DOCS = 1000


def normal(seed=0):
    return np.random.default_rng(seed).normal(size=(N_DOCS, 6))


def chosen(X):
    return fit_scaling("auto", QueryGroups(X, np.zeros(len(X)), np.arange(len(X)) // 20))


def test_features_of_one_size_are_left_alone():
    for X in (normal(), 0.3 * normal(), np.random.default_rng(0).random((N_DOCS, 6)), normal() + 5.0):
        found = chosen(X)
        assert found.kind == "none"
        assert "alike" in found.reason


def test_features_scaled_inside_queries_are_left_alone_even_if_sparse():
    X = np.where(np.random.default_rng(0).random((N_DOCS, 6)) < 0.02, np.exp(normal()), 0.0)
    X[:, 0] = normal()[:, 0]
    scaled = scaled_inside_queries(X.astype(np.float32), np.arange(0, N_DOCS + 1, 20))
    found = chosen(scaled)
    assert (found.kind, found.reason) == ("none", "features are scaled to [0, 1] inside queries")
    # Six digits of a text file, and a query or two with other values, do not matter.
    rounded = np.round(scaled, 6)
    rounded[:20] *= 0.5
    assert chosen(rounded).kind == "none"


@pytest.mark.parametrize("unit", [1e-8, 1e-3, 1e3, 1e8, 1e20])
def test_one_feature_of_another_size_asks_for_standardising(unit):
    X = normal()
    X[:, 2] *= unit
    found = chosen(X)
    assert found.kind == "standard"
    assert not found.logarithm.any()


def test_a_mean_far_from_0_asks_for_standardising():
    X = normal()
    X[:, 4] += 1e4
    assert chosen(X).kind == "standard"


def heavy_tailed():
    rng = np.random.default_rng(1)
    X = normal()
    X[:, 1] = np.exp(2.5 * X[:, 1])
    X[:, 3] = rng.poisson(np.exp(3.0 + 1.5 * X[:, 3]))
    X[:, 5] = np.sign(X[:, 5]) * np.expm1(3 * np.abs(X[:, 5]))
    return X


@pytest.mark.parametrize("column", [1, 3, 5])
def test_a_heavy_tail_asks_for_the_logarithm_of_its_feature(column):
    X = normal()
    X[:, column] = heavy_tailed()[:, column]
    found = chosen(X)
    assert found.kind == "log"
    np.testing.assert_array_equal(np.flatnonzero(found.logarithm), [column])
    assert "1 of 6 features" in found.reason


def test_many_heavy_tails_ask_for_the_logarithm_of_all_features():
    found = chosen(heavy_tailed())
    assert found.kind == "log"
    assert found.logarithm.all()
    assert "3 of 6 features" in found.reason


def test_one_outlier_changes_the_scaling_of_its_feature_alone():
    X = normal()
    X[17, 2] = 1e9
    np.testing.assert_array_equal(np.flatnonzero(chosen(X).logarithm), [2])


def test_a_rare_flag_is_no_heavy_tail():
    """The logarithm of 0 and 1 is 0 and log 2: it changes nothing."""
    X = normal()
    X[:, 0] = np.arange(N_DOCS) % 50 == 0
    assert chosen(X).kind == "none"


def test_constant_features_are_ignored():
    X = normal()
    X[:, 3] = 1e12
    assert chosen(X).kind == "none"
    assert chosen(np.full((N_DOCS, 6), 3.0)).kind == "none"
