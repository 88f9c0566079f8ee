"""Logs of clicks: propensities, measures, training and evaluation.

Public names are imported on first use: a check of a log imports no rankers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from directrank.apps.clicks.baselines import BASELINES, baseline_propensities
    from directrank.apps.clicks.checking import LogCheck, check_clicks
    from directrank.apps.clicks.comparing import (
        CLICK_METHODS,
        UNBIASED,
        ClickComparison,
        TrainingPart,
        click_methods,
        compare_clicks,
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
    from directrank.apps.clicks.propensities import (
        ALARM,
        Propensities,
        agreement_with,
        estimate_propensities,
        held_out_likelihood,
    )
    from directrank.apps.clicks.safety import Safe, safe_ranker
    from directrank.apps.clicks.simulator import click_chances, make_clicks
    from directrank.apps.clicks.trust import estimate_trust

_NAMES = {
    "baselines": ("BASELINES", "baseline_propensities"),
    "checking": ("LogCheck", "check_clicks"),
    "comparing": (
        "CLICK_METHODS",
        "UNBIASED",
        "ClickComparison",
        "TrainingPart",
        "click_methods",
        "compare_clicks",
    ),
    "counterfactual": (
        "Difference",
        "click_credits",
        "click_measure",
        "evaluate_clicks",
        "label_clicks",
        "never_shown",
        "predict_labels",
    ),
    "logs": ("ClickLog", "read_clicks"),
    "propensities": (
        "ALARM",
        "Propensities",
        "agreement_with",
        "estimate_propensities",
        "held_out_likelihood",
    ),
    "safety": ("Safe", "safe_ranker"),
    "simulator": ("click_chances", "make_clicks"),
    "trust": ("estimate_trust",),
}

__all__ = [
    "ALARM",
    "BASELINES",
    "CLICK_METHODS",
    "UNBIASED",
    "ClickComparison",
    "ClickLog",
    "Difference",
    "LogCheck",
    "Propensities",
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
    "predict_labels",
    "read_clicks",
    "safe_ranker",
]


def __getattr__(name: str) -> Any:
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
