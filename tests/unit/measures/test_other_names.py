"""Names that other tools have for measures: the same figure, or the reason in one line."""

import pytest

from directrank.measures import AP, parse_measure
from directrank.measures.names import OWN


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("ndcg_at_10", "nDCG(dcg='log2')@10"),
        ("map_at_100", "AP@100"),
        ("recall_at_5", "R@5"),
        ("precision_at_5", "P@5"),
        ("mrr_at_10", "RR@10"),
        ("accuracy_at_1", "Success@1"),
        ("pre@10", "P@10"),
        ("r-precision", "Rprec"),
        ("ndcg_burges@10", "nDCG@10"),
        ("ndcg_burges", "nDCG"),
        ("dcg_burges@5", "DCG@5"),
        ("f1", "SetF"),
        ("NDCG:top=10", "nDCG(dcg='log2')@10"),
        ("NDCG:top=10;type=Exp", "nDCG@10"),
        ("NDCG:type=Base", "nDCG(dcg='log2')"),
        ("DCG:top=5", "DCG(dcg='log2')@5"),
        ("PrecisionAt:top=5", "P@5"),
        ("RecallAt:top=5;border=0.5", "R@5"),
        ("MRR:top=10", "RR@10"),
        ("MAP:top=-1", "AP"),
        ("ndcg_cut_10", "nDCG(dcg='log2')@10"),
        ("nDCG_10", "nDCG@10"),
        ("nDCG@10", "nDCG@10"),
        ("0/1", "ZeroOne"),
        ("alpha-nDCG@5", "alpha_nDCG@5"),
    ],
)
def test_names_of_other_tools(name, ours):
    assert parse_measure(name) == parse_measure(ours)


def test_measures_of_ones_own_come_before_names_of_other_tools():
    for name in ("f1@5", "official"):
        word = name.partition("@")[0]
        OWN[word] = type(word, (AP,), {"bare_name": word})
        try:
            assert type(parse_measure(name)) is OWN[word]
        finally:
            del OWN[word]
