"""Contributions against those of the package shap, on models of LightGBM and XGBoost."""

import lightgbm
import numpy as np
import pytest
import xgboost

from directrank import load, save

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


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("saved", [False, True])
def test_contributions_by_paths_are_those_of_shap_and_of_the_library(library, saved, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 8)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 0] * X[:, 1] + np.abs(X[:, 2])) + rng.normal(size=600), [0, 1])
    file = tmp_path / "model.json"
    if library == "lightgbm":
        model = lightgbm.LGBMRanker(n_estimators=30, num_leaves=15, verbose=-1).fit(X, y, group=[60] * 10)
        model.booster_.save_model(file)
        own = model.predict(X[:100], pred_contrib=True)[:, :-1]
    else:
        model = xgboost.XGBRanker(n_estimators=30, max_depth=5).fit(X, y, qid=np.arange(600) // 60)
        model.save_model(file)
        own = model.get_booster().predict(xgboost.DMatrix(X[:100]), pred_contribs=True)[:, :-1]
    ranker = load(file)
    if saved:
        save(ranker, tmp_path / "model.dr")
        ranker = load(tmp_path / "model.dr")
    found = ranker.explain(X, rows=np.arange(100), against="training")
    explainer = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    expected = explainer.shap_values(X[:100], check_additivity=False)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(found, expected, atol=1e-5 if library == "xgboost" else 1e-6)
    np.testing.assert_allclose(found, own, atol=1e-5 if library == "xgboost" else 1e-6)
    # Path-dependent values of a document add up to its score less a constant.
    rest = ranker.predict(X[:100]) - found.sum(axis=1)
    assert np.ptp(rest) < 1e-9
