"""Logs of clicks: propensities, measures, training and evaluation."""

from directrank.apps.clicks.logs import ClickLog, read_clicks
from directrank.apps.clicks.propensities import Propensities, estimate_propensities
from directrank.apps.clicks.rivals import RIVALS, rival_propensities
from directrank.apps.clicks.simulator import click_chances, make_clicks
from directrank.apps.clicks.trust import estimate_trust

__all__ = [
    "RIVALS",
    "ClickLog",
    "Propensities",
    "click_chances",
    "estimate_propensities",
    "estimate_trust",
    "make_clicks",
    "read_clicks",
    "rival_propensities",
]
