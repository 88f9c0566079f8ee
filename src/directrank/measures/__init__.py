"""Measures of a ranking: functions of positions and relevance."""

from typing import TYPE_CHECKING, Any

from directrank.measures.average_precision import AP
from directrank.measures.dcg import DCG, NDCG, MeanNDCG
from directrank.measures.err import ERR, NERR
from directrank.measures.families.definition import best_values
from directrank.measures.names import (
    CORE,
    DEFAULT_MEASURE,
    default_measure,
    distinct_measures,
    is_own,
    name_of,
    parse_measure,
    with_gains,
)
from directrank.measures.pairwise import WPD, ZeroOne
from directrank.measures.precision import WTA, P, R, Rprec
from directrank.measures.rank_biased_precision import RBP
from directrank.measures.reciprocal_rank import RR, Success
from directrank.measures.values import mean_value, mean_values, ranked_last, values_of, weighted_mean

__all__ = [
    "AP",
    "DCG",
    "DEFAULT_MEASURE",
    "ERR",
    "MEASURES",
    "NDCG",
    "NERR",
    "RBP",
    "RR",
    "WPD",
    "WTA",
    "MeanNDCG",
    "P",
    "R",
    "Rprec",
    "Success",
    "ZeroOne",
    "best_values",
    "default_measure",
    "distinct_measures",
    "is_own",
    "mean_value",
    "mean_values",
    "name_of",
    "parse_measure",
    "ranked_last",
    "values_of",
    "weighted_mean",
    "with_gains",
]


# A measure needs no line above: with one, type checkers know its class.
_unlisted = {cls.__name__: cls for cls in CORE if cls.__name__ not in __all__}
globals().update(_unlisted)
__all__ += _unlisted  # pyright: ignore[reportUnsupportedDunderAll]

if TYPE_CHECKING:
    from directrank.measures.names import MEASURES


def __getattr__(name: str) -> Any:
    if name == "MEASURES":  # with those of plug-ins
        from directrank.measures import names

        return names.MEASURES
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
