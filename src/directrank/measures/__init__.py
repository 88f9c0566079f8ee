"""Measures of a ranking: functions of positions and relevance."""

from directrank.measures.average_precision import AP
from directrank.measures.bpref import Bpref
from directrank.measures.dcg import DCG, NDCG
from directrank.measures.diversity import ERRIA, AlphaNDCG, StRec
from directrank.measures.err import ERR, NERR
from directrank.measures.evaluation.conventions import CONVENTIONS, Convention
from directrank.measures.evaluation.evaluate import Evaluation, evaluate, mean_value, mean_values
from directrank.measures.inferred_ap import InfAP
from directrank.measures.judged import Judged
from directrank.measures.mean_ndcg import MeanNDCG
from directrank.measures.naming.names import DEFAULT_MEASURE, parse_measure
from directrank.measures.pairwise import WPD, ZeroOne
from directrank.measures.precision import WTA, P
from directrank.measures.r_precision import Rprec
from directrank.measures.rank_biased_precision import RBP, RBPResidual
from directrank.measures.recall import R
from directrank.measures.reciprocal_rank import RR, Success
from directrank.measures.retrieved_set import NumRel, NumRet, SetAP, SetF, SetP, SetR
from directrank.measures.table import MEASURES

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
    "evaluate",
    "mean_value",
    "mean_values",
    "parse_measure",
]
