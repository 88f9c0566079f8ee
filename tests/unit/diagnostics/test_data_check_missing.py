"""The data check on missing values."""

import numpy as np

from directrank import QueryGroups, check_data


def test_the_share_of_missing_cells_is_given_by_feature():
    X = np.random.default_rng(0).normal(size=(40, 4))
    X[:10, 1], X[:, 3] = np.nan, np.nan
    check = check_data(QueryGroups(X, np.arange(40) % 3, np.arange(40) // 10))
    (finding,) = [each for each in check.findings if each.code == "missing_values"]
    assert finding.message == (
        "2 features have missing values, 31.2% of all cells (feature 2 25%, feature 4 100%)."
    )
    assert finding.values == {"feature 2": 0.25, "feature 4": 1.0}
    assert finding.count == 2


def test_columns_that_miss_the_same_values_are_duplicates():
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[::3, 0] = np.nan
    X[:, 2] = X[:, 0]
    findings = {each.code: each for each in check_data(QueryGroups(X, [0, 1] * 20, [1] * 40)).findings}
    assert findings["duplicate_features"].examples == ["feature 3 = feature 1"]
    assert "constant_features" not in findings
