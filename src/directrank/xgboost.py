"""XGBoost with our objectives and measures; see `directrank.apps.libraries.xgboost`."""

from directrank.apps.libraries.xgboost import eval_metric, objective

__all__ = ["eval_metric", "objective"]
