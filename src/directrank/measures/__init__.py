"""Measures of a ranking: functions of positions and relevance."""

from directrank.measures.average_precision import AP
from directrank.measures.dcg import DCG, NDCG
from directrank.measures.names import parse_measure
from directrank.measures.precision import P

#: Every measure, in order of importance: the order of printing.
MEASURES = (NDCG, AP, P, DCG)

__all__ = ["AP", "DCG", "MEASURES", "NDCG", "P", "parse_measure"]
