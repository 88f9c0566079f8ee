"""The data check on the scale of features."""

import numpy as np

from directrank import QueryGroups, check_data


def found(X):
    check = check_data(QueryGroups(X, np.arange(len(X)) % 3, np.arange(len(X)) // 10))
    return {finding.code: finding for finding in check.findings}.get("scale")


def normal():
    return np.random.default_rng(0).normal(size=(400, 5))


def test_heavy_tails_are_named():
    X = normal()
    X[:, 3] = np.exp(3 * X[:, 3])
    assert found(X).message == (
        "1 feature has a heavy tail (feature 4): linear methods take the logarithm first (scaling=auto)."
    )
    X[:, 1] = X[:, 3] + 1.0
    finding = found(X)
    assert finding.count == 2
    assert finding.examples == ["feature 2", "feature 4"]
    assert "linear methods take the logarithm of every feature" in finding.message


def test_unlike_deviations_are_given():
    X = normal() * [1.0, 1.0, 1e4, 1.0, 1e-3]
    finding = found(X)
    assert "linear methods standardise them (scaling=auto)" in finding.message
    assert finding.values["largest_deviation"] > 5e3
    assert finding.values["smallest_deviation"] < 2e-3
