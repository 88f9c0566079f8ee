"""Logs of clicks: propensities, measures, training and evaluation.

Public names are imported on first use: a check of a log imports no rankers.
"""

from typing import TYPE_CHECKING

from directrank.lazy import lazy_names

if TYPE_CHECKING:
    from directrank.apps.clicks.baselines import BASELINES, baseline_propensities
    from directrank.apps.clicks.checking import LogCheck, check_clicks
    from directrank.apps.clicks.comparing import (
        CLICK_METHODS,
        compare_clicks,
        plan_clicks,
    )
    from directrank.apps.clicks.counterfactual import (
        Difference,
        click_credits,
        click_measure,
        evaluate_clicks,
        label_clicks,
        never_shown,
        predict_labels,
    )
    from directrank.apps.clicks.logs import ClickLog, read_clicks
    from directrank.apps.clicks.measures import ClickDCG, ClickP, ClickRBP
    from directrank.apps.clicks.pages import Pages
    from directrank.apps.clicks.propensities import (
        ALARM,
        Propensities,
        agreement_with,
        estimate_propensities,
        held_out_likelihood,
    )
    from directrank.apps.clicks.proximal import ProximalPolicy
    from directrank.apps.clicks.safety import Safe, safe_ranker
    from directrank.apps.clicks.simulator import click_chances, make_clicks
    from directrank.apps.clicks.training import UNBIASED, TrainingPart, click_methods
    from directrank.apps.clicks.trust import estimate_trust


__all__ = [
    "ALARM",
    "BASELINES",
    "CLICK_METHODS",
    "UNBIASED",
    "ClickDCG",
    "ClickLog",
    "ClickP",
    "ClickRBP",
    "Difference",
    "LogCheck",
    "Pages",
    "Propensities",
    "ProximalPolicy",
    "Safe",
    "TrainingPart",
    "agreement_with",
    "baseline_propensities",
    "check_clicks",
    "click_chances",
    "click_credits",
    "click_measure",
    "click_methods",
    "compare_clicks",
    "estimate_propensities",
    "estimate_trust",
    "evaluate_clicks",
    "held_out_likelihood",
    "label_clicks",
    "make_clicks",
    "never_shown",
    "plan_clicks",
    "predict_labels",
    "read_clicks",
    "safe_ranker",
]

__getattr__ = lazy_names(__name__)
