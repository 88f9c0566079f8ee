"""LightGBM with our objectives and measures; see `directrank.integrations.lightgbm`."""

from directrank.integrations.lightgbm import LightGBMTrees, eval_metric, objective

__all__ = ["LightGBMTrees", "eval_metric", "objective"]
