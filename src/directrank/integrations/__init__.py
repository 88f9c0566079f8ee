"""Other libraries that train for our objectives; each is an extra, imported when it is used."""

from directrank.registries import register_engine


@register_engine("lightgbm")
def _of_lightgbm() -> type:
    from directrank.integrations.lightgbm import LightGBMTrees

    return LightGBMTrees


@register_engine("xgboost")
def _of_xgboost() -> type:
    from directrank.integrations.xgboost import XGBoostTrees

    return XGBoostTrees
