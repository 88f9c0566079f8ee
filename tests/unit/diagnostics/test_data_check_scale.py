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


def test_values_that_float32_rounds_are_named():
    """Seconds of a day of 2023 are rounded to multiples of 128; days, and seconds of 30 years, are not."""
    X, when = normal(), np.random.default_rng(1)
    X[:, 1] = 1.7e9 + when.integers(0, 86_400, 400)
    X[:, 2] = 19_700 + when.integers(0, 365, 400)
    X[:, 3] = when.integers(7e8, 1.7e9, 400)
    check = check_data(QueryGroups(X, np.arange(400) % 3, np.arange(400) // 10))
    (finding,) = (finding for finding in check.findings if finding.code == "rounded_features")
    assert finding.message == (
        "1 feature has values so large and close together that float32 rounds them (feature 2 to multiples "
        "of 128): subtract a constant."
    )
    assert check.lines()[0] == finding.message
