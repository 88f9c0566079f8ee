"""What other tools do, as arithmetic by hand.

Rows `lightgbm` and `xgboost` were compared with LightGBM 4.7 and XGBoost 3.2 on random queries.
"""

from math import log2

import numpy as np
import pytest

from directrank.apps.evaluation import CONVENTIONS, evaluate
from directrank.measures import AP, DCG, NDCG, P, parse_measure


def scored(ranked, measures, convention="standard", **options):
    """Evaluate one query whose relevance is given in ranked order."""
    scores = np.arange(len(ranked), 0, -1.0)
    return evaluate(ranked, scores, ["q"] * len(ranked), measures=measures, convention=convention, **options)


def test_the_presets():
    assert all(each.name == name and each.explanation for name, each in CONVENTIONS.items())


def test_letor_discounts_positions_one_and_two_alike():
    # Relevance 0, 2, 1 from the top, gains 0, 3, 1. LETOR discounts 1, 1, 1/log2(3).
    letor = (3 + 1 / log2(3)) / (3 + 1)
    standard = (3 / log2(3) + 1 / log2(4)) / (3 + 1 / log2(3))
    for convention in ("letor3", "letor4"):
        assert scored([0, 2, 1], "nDCG@3", convention)["nDCG@3"] == pytest.approx(letor, rel=1e-14)
    assert scored([0, 2, 1], "nDCG@3")["nDCG@3"] == pytest.approx(standard, rel=1e-14)
    assert (round(letor, 4), round(standard, 4)) == (0.9077, 0.6590)


def test_one_list_under_three_gains_and_discounts():
    ranked = [0, 2, 0, 1, 1]
    exponential = (3 / log2(3) + 1 / log2(5) + 1 / log2(6)) / (3 + 1 / log2(3) + 1 / log2(4))
    letor = (3 + 1 / log2(4) + 1 / log2(5)) / (3 + 1 + 1 / log2(3))
    linear = (2 / log2(3) + 1 / log2(5) + 1 / log2(6)) / (2 + 1 / log2(3) + 1 / log2(4))
    for convention, value in [
        ("standard", exponential), ("lightgbm", exponential), ("xgboost", exponential),
        ("letor3", letor), ("letor4", letor), ("sklearn", linear),
    ]:  # fmt: skip
        assert scored(ranked, "nDCG", convention)["nDCG"] == pytest.approx(value, rel=1e-14), convention
    trec = scored(ranked, "nDCG", "trec_eval", docid=list("abcde"))
    assert trec["nDCG"] == pytest.approx(linear, rel=1e-14)
    assert (round(exponential, 3), round(letor, 3), round(linear, 3)) == (0.656, 0.849, 0.664)


def test_average_precision_at_three_by_its_denominators():
    # Hits at 2 and 3; five relevant documents in all.
    ranked = [0, 1, 1, 1, 1, 1]
    hits = 1 / 2 + 2 / 3
    for convention in ("standard", "letor3", "letor4", "sklearn"):
        assert scored(ranked, "AP@3", convention)["AP@3"] == pytest.approx(hits / 5, rel=1e-14)
    for convention in ("lightgbm", "xgboost"):
        assert scored(ranked, "AP@3", convention)["AP@3"] == pytest.approx(hits / 3, rel=1e-14)
        assert scored(ranked, "AP", convention)["AP"] == pytest.approx((hits + 3 / 4 + 4 / 5 + 5 / 6) / 5)
    assert (round(hits / 5, 3), round(hits / 3, 3)) == (0.233, 0.389)


def test_ties_of_each_convention():
    # An irrelevant document before a relevant one, tied; docids a and b.
    relevance, scores, qid = [0, 1], [1.0, 1.0], ["q", "q"]
    expected = {"standard": 3 / 4, "sklearn": 3 / 4, "letor3": 1 / 2, "letor4": 1 / 2, "lightgbm": 1 / 2}
    for convention, value in expected.items():
        assert evaluate(relevance, scores, qid, measures="AP", convention=convention)["AP"] == value, (
            convention
        )
    for docid, value in ((["a", "b"], 1.0), (["b", "a"], 1 / 2), (["d9", "d10"], 1 / 2)):
        result = evaluate(relevance, scores, qid, docid=docid, measures="AP", convention="trec_eval")
        assert result["AP"] == value, docid  # the docid later in the alphabet comes first: d9 before d10


def test_queries_without_relevant_documents():
    # One query is perfect, one is empty.
    relevance, scores, qid = [1, 0, 0, 0], [2.0, 1.0, 2.0, 1.0], ["a", "a", "b", "b"]
    measures = ["AP", "nDCG@2", "P@2", "RR"]
    for convention in CONVENTIONS:
        result = (
            evaluate(relevance, scores, qid, docid=list("abcd"), measures=measures, convention=convention)
            if convention == "trec_eval"
            else evaluate(relevance, scores, qid, measures=measures, convention=convention)
        )
        empty = 1.0 if convention in ("lightgbm", "xgboost") else 0.0
        assert result["AP"] == result["nDCG@2"] == result["RR"] == (1 + empty) / 2
        assert result.n_empty == 1
    assert evaluate(relevance, scores, qid, measures="P@2", convention="xgboost")["P@2"] == (1 / 2 + 0) / 2


def test_lists_shorter_than_the_cutoff():
    # Two documents, the first relevant; beside them a query of four with one relevant at the top.
    relevance = [1, 0, 1, 0, 0, 0]
    scores = [2.0, 1.0, 4.0, 3.0, 2.0, 1.0]
    qid = ["a", "a", "b", "b", "b", "b"]
    expected = {
        # P@3 and nDCG@3 of the short query, then of the long one.
        "standard": ((1 / 3, 1), (1 / 3, 1)),
        "letor3": ((0, 0), (1 / 3, 1)),
        "letor4": ((1 / 3, 0), (1 / 3, 1)),
        "lightgbm": ((1 / 3, 1), (1 / 3, 1)),
        "xgboost": ((1 / 2, 1), (1 / 3, 1)),
    }
    for convention, (short, long) in expected.items():
        result = evaluate(
            relevance,
            scores,
            qid,
            measures=["P@3", "nDCG@3", "nDCG@2", "AP"],
            convention=convention,
            per_query=True,
        )
        assert result.per_query["P@3"].tolist() == pytest.approx([short[0], long[0]]), convention
        assert result.per_query["nDCG@3"].tolist() == [short[1], long[1]], convention
        assert result["nDCG@2"] == result["AP"] == 1, convention
        assert result["nDCG@3"] == (short[1] + long[1]) / 2, convention


def test_mean_ndcg_of_letor4():
    # Relevance 0, 2, 1: NDCG@1 = 0, NDCG@2 = 3/4, NDCG@3 = (3 + 1/log2(3)) / 4; divided by their ideals.
    at_two, at_three = 3 / (3 + 1), (3 + 1 / log2(3)) / (3 + 1)
    result = scored([0, 2, 1], "MeanNDCG", "letor4")
    assert result["MeanNDCG"] == pytest.approx((0 + at_two + at_three) / 3, rel=1e-14)
    assert result.computed["MeanNDCG"].name == "MeanNDCG(dcg='exp-letor')"


def test_single_precision_where_the_tool_has_it():
    scores = [1.0 + 1e-12, 1.0]
    for convention, value in {"xgboost": 1 / 2, "lightgbm": 1 / 2, "standard": 1 / 2}.items():
        assert evaluate([0, 1], scores, ["q", "q"], measures="AP", convention=convention)["AP"] == value
    # The other way round the tie shows: XGBoost keeps the row order, where the relevant document is last.
    assert evaluate([0, 1], scores[::-1], ["q", "q"], measures="AP", convention="xgboost")["AP"] == 1 / 2
    assert evaluate([0, 1], scores[::-1], ["q", "q"], measures="AP", convention="lightgbm")["AP"] == 1


def test_what_was_asked_for_with_another_gain_stays():
    letor3, trec = CONVENTIONS["letor3"], CONVENTIONS["trec_eval"]
    assert letor3.adjusted(NDCG(5)).name == "nDCG(dcg='exp-letor')@5"
    assert letor3.adjusted(DCG()).name == "DCG(dcg='exp-letor')"
    assert letor3.adjusted(NDCG(5, gain="linear")).name == "nDCG(dcg='log2')@5"
    assert trec.adjusted(NDCG(5, discount="letor")).name == "nDCG(dcg='exp-letor')@5"
    assert CONVENTIONS["lightgbm"].adjusted(AP(3, rel=2)).name == "AP(rel=2,denominator='min')@3"
    assert CONVENTIONS["lightgbm"].adjusted(AP()).name == "AP"
    assert CONVENTIONS["xgboost"].adjusted(P(3)).name == "P(denominator='list')@3"
    assert CONVENTIONS["letor3"].adjusted(parse_measure("RR@3")).name == "RR@3"
