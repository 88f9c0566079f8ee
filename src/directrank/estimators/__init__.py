"""Estimators: learning to rank behind scikit-learn's interface.

Public names are imported on first use: a method imports its own surrogate and solver, not those of all.
"""

from typing import TYPE_CHECKING

from directrank.lazy import lazy_names

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

__getattr__ = lazy_names(__name__)
