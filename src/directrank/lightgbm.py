"""LightGBM with our objectives and measures; see `directrank.integrations.lightgbm`."""

from directrank.integrations.lightgbm import eval_metric, objective

__all__ = ["eval_metric", "objective"]
