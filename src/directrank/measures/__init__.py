"""Measures of a ranking: functions of positions and relevance."""

from directrank.measures.average_precision import AP
from directrank.measures.bpref import Bpref, InfAP, Judged
from directrank.measures.clicks import ClickDCG, ClickP, ClickRBP
from directrank.measures.dcg import DCG, NDCG, MeanNDCG
from directrank.measures.diversity import ERRIA, AlphaNDCG, StRec
from directrank.measures.err import ERR, NERR
from directrank.measures.evaluation import (
    CONVENTIONS,
    Convention,
    Evaluation,
    checked_scores,
    evaluate,
    mean_value,
    mean_values,
    ranked_last,
    values_of,
)
from directrank.measures.families.definition import best_values
from directrank.measures.names import (
    DEFAULT_MEASURE,
    MEASURES,
    default_measure,
    distinct_measures,
    is_own,
    name_of,
    parse_measure,
    with_gains,
)
from directrank.measures.pairwise import WPD, ZeroOne
from directrank.measures.precision import WTA, P, R, Rprec
from directrank.measures.rank_biased_precision import RBP, RBPResidual
from directrank.measures.reciprocal_rank import RR, Success
from directrank.measures.retrieved_set import NumRel, NumRet, SetAP, SetF, SetP, SetR

__all__ = [
    "AP",
    "CONVENTIONS",
    "DCG",
    "DEFAULT_MEASURE",
    "ERR",
    "ERRIA",
    "MEASURES",
    "NDCG",
    "NERR",
    "RBP",
    "RR",
    "WPD",
    "WTA",
    "AlphaNDCG",
    "Bpref",
    "ClickDCG",
    "ClickP",
    "ClickRBP",
    "Convention",
    "Evaluation",
    "InfAP",
    "Judged",
    "MeanNDCG",
    "NumRel",
    "NumRet",
    "P",
    "R",
    "RBPResidual",
    "Rprec",
    "SetAP",
    "SetF",
    "SetP",
    "SetR",
    "StRec",
    "Success",
    "ZeroOne",
    "best_values",
    "checked_scores",
    "default_measure",
    "distinct_measures",
    "evaluate",
    "is_own",
    "mean_value",
    "mean_values",
    "name_of",
    "parse_measure",
    "ranked_last",
    "values_of",
    "with_gains",
]
