"""LightGBM with our objectives and measures; see `directrank.apps.libraries.lightgbm`."""

from directrank.apps.libraries.lightgbm import eval_metric, objective

__all__ = ["eval_metric", "objective"]
