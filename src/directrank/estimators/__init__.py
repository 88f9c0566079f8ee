"""Estimators: learning to rank behind scikit-learn's interface.

Public names are imported on first use: a method imports its own surrogate and solver, not those of all.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from directrank.estimators.linear_ranker import SurrogateRanker
    from directrank.estimators.presets.boosted import FRank, NDCGBoost, RankBoost
    from directrank.estimators.presets.bounds import (
        AdaRank,
        CoordinateAscent,
        PermuRank,
        StructuralSVM,
    )
    from directrank.estimators.presets.listwise import (
        XENDCG,
        ApproxRank,
        LambdaLoss,
        LambdaRank,
        ListMLE,
        ListNet,
        PLRank,
        SoftRank,
    )
    from directrank.estimators.presets.pairs import ConsistentRank, Preorder, RankNet, RankSVM, Regression
    from directrank.estimators.presets.trees import TreeRanker
    from directrank.estimators.ranker import Ranker

#: The module of each public name.
_NAMES = {
    "linear_ranker": "SurrogateRanker",
    "presets.boosted": "FRank NDCGBoost RankBoost",
    "presets.bounds": "AdaRank CoordinateAscent PermuRank StructuralSVM",
    "presets.listwise": "XENDCG ApproxRank LambdaLoss LambdaRank ListMLE ListNet PLRank SoftRank",
    "presets.pairs": "ConsistentRank Preorder RankNet RankSVM Regression",
    "presets.trees": "TreeRanker",
    "ranker": "Ranker",
}

__all__ = [
    "XENDCG",
    "AdaRank",
    "ApproxRank",
    "ConsistentRank",
    "CoordinateAscent",
    "FRank",
    "LambdaLoss",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "NDCGBoost",
    "PLRank",
    "PermuRank",
    "Preorder",
    "RankBoost",
    "RankNet",
    "RankSVM",
    "Ranker",
    "Regression",
    "SoftRank",
    "StructuralSVM",
    "SurrogateRanker",
    "TreeRanker",
]


def __getattr__(name: str) -> Any:
    for module, names in _NAMES.items():
        if name in names.split():
            value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
