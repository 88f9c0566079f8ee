"""XGBoost with our objectives and measures; see `directrank.integrations.xgboost`."""

from directrank.integrations.xgboost import eval_metric, objective

__all__ = ["eval_metric", "objective"]
