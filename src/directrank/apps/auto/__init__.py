"""Ensembles of rankers: a plug-in of directrank's own, with the method ``auto``."""

from directrank.apps.auto.ensembles import AutoRanker, Ensemble
from directrank.apps.auto.prior import CorrelationRanker
from directrank.estimators.method import Method

__all__ = ["PLUGINS", "AutoRanker", "CorrelationRanker", "Ensemble"]

PLUGINS = (Method("auto", AutoRanker, takes_measure=True),)
