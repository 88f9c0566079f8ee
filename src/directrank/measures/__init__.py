"""Measures of a ranking: functions of positions and relevance."""

from directrank.measures.dcg import DCG, NDCG

#: Every measure, in order of importance: the order of printing.
MEASURES = (NDCG, DCG)
