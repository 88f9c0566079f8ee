"""Contributions against those of the package shap, on models of LightGBM and XGBoost."""

import lightgbm
import numpy as np
import pytest
import xgboost

from directrank import load

shap = pytest.importorskip("shap")
pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_contributions_are_those_of_shap(library, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 8)).astype(np.float32)
    y = np.digitize(X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + rng.normal(size=600), [0, 1])
    file = tmp_path / "model.json"
    if library == "lightgbm":
        model = lightgbm.LGBMRanker(n_estimators=30, num_leaves=15, verbose=-1).fit(X, y, group=[60] * 10)
        model.booster_.save_model(file)
    else:
        model = xgboost.XGBRanker(n_estimators=30, max_depth=5).fit(X, y, qid=np.arange(600) // 60)
        model.save_model(file)
    rows, against = np.arange(100), np.arange(100, 180)
    explainer = shap.TreeExplainer(model, X[against], feature_perturbation="interventional")
    expected = explainer.shap_values(X[rows], check_additivity=False)
    found = load(file).explain(X, rows=rows, against=against)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(found, expected, atol=1e-6)
