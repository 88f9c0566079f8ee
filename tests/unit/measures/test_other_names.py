"""Names that other tools have for measures: the same figure, or the reason in one line."""

import math

import ir_measures
import numpy as np
import pytest

from directrank import evaluate
from directrank.errors import MeasureNameError
from directrank.measures import parse_measure
from directrank.measures.other_names import translated


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


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ndcg@10-", "name ndcg@10"),
        ("map@5-", "name map@5"),
        ("f1@5", "F1 with a cutoff"),
        ("gm_map", "arithmetic"),
        ("iprec_at_recall", "interpolated"),
        ("iprec_at_recall_0.10", "interpolated"),
        ("11pt_avg", "interpolated"),
        ("num_q", "count"),
        ("official", "name each"),
        ("all_trec", "name each"),
        ("hole_at_10", "Judged"),
        ("nauc_ndcg_at_10_max", "nAUC"),
        ("main_score", "MTEB"),
        ("QueryAUC", "WPD"),
        ("QueryAUC:type=Ranking", "WPD"),
        ("MAP:top=5", "definitions of AP"),
        ("ERR:top=5", "probabilities"),
        ("NDCG:top=10;denominator=Position", "denominator=position"),
        ("PrecisionAt:top=5;border=1.5", "border=1.5"),
        ("PFound:top=5", "CatBoost's pfound"),
    ],
)
def test_what_is_not_here_is_refused_with_the_reason(name, reason):
    with pytest.raises(MeasureNameError, match=reason) as refused:
        parse_measure(name)
    message = str(refused.value)
    assert message.startswith(repr(name))
    assert "Did you mean" not in message
    assert len(message) < 160


def test_measures_of_ones_own_come_before_names_of_other_tools():
    assert translated("f1@5", {"f1"}) == "f1@5"
    assert translated("official", {"official"}) == "official"


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
