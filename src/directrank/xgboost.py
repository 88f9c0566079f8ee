"""XGBoost with our objectives and measures; see `directrank.integrations.xgboost`."""

from directrank.integrations.xgboost import XGBoostTrees, eval_metric, objective

__all__ = ["XGBoostTrees", "eval_metric", "objective"]
