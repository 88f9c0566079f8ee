"""Measures of a ranking: functions of positions and relevance."""

from directrank.measures.average_precision import AP
from directrank.measures.conventions import CONVENTIONS, Convention
from directrank.measures.dcg import DCG, NDCG
from directrank.measures.evaluation import Evaluation, evaluate, mean_value, settled
from directrank.measures.names import parse_measure
from directrank.measures.precision import P

#: Every measure, in order of importance: the order of printing.
MEASURES = (NDCG, AP, P, DCG)

__all__ = [
    "AP",
    "CONVENTIONS",
    "DCG",
    "MEASURES",
    "NDCG",
    "Convention",
    "Evaluation",
    "P",
    "evaluate",
    "mean_value",
    "parse_measure",
    "settled",
]
