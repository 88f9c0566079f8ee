"""Names that other tools have for measures: the same figure, or the reason in one line."""

import math

import ir_measures
import numpy as np
import pytest

from directrank import evaluate
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


def test_keys_of_mteb_by_hand():
    """One relevant document of grade 1 at rank 2; of grades 3 and 1 the gains are y, not 2^y - 1."""
    assert evaluate([1, 0], [1.0, 2.0], [1, 1], measures="ndcg_at_10")["ndcg_at_10"] == pytest.approx(
        1 / math.log2(3)
    )
    expected = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert evaluate([3, 1], [1.0, 2.0], [1, 1], measures="ndcg_at_10")["ndcg_at_10"] == pytest.approx(
        expected
    )


@pytest.mark.parametrize(
    ("key", "theirs"),
    [
        ("ndcg_at_5", "nDCG@5"),
        ("map_at_5", "AP@5"),
        ("recall_at_5", "R@5"),
        ("precision_at_5", "P@5"),
        ("mrr_at_5", "RR@5"),
    ],
)
def test_keys_of_mteb_have_the_figures_of_trec_eval(key, theirs):
    rng = np.random.default_rng(0)
    grades, scores = rng.integers(0, 4, (9, 12)), rng.normal(size=(9, 12))
    qrels = {f"q{q}": {f"d{d}": int(grades[q, d]) for d in range(12)} for q in range(9)}
    run = {f"q{q}": {f"d{d}": float(scores[q, d]) for d in range(12)} for q in range(9)}
    expected = ir_measures.calc_aggregate([ir_measures.parse_measure(theirs)], qrels, run)
    found = evaluate(grades.ravel(), scores.ravel(), np.repeat(np.arange(9), 12), measures=key)
    assert found[key] == pytest.approx(next(iter(expected.values())))
