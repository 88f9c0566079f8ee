"""The best order of a run's documents: by hand, and as pytrec_eval sees a run that is ordered by grade."""

import math

import numpy as np
import pytest
import pytrec_eval

import directrank


def test_what_is_missing_by_hand():
    data, run = {"q": {"a": 3, "b": 1, "z": 2}}, {"q": {"x": 9.0, "b": 8.0, "a": 7.0}}
    ndcg, recall = directrank.ceiling(data, {"s": run}, measures=["nDCG@10", "R@10"])
    ideal = 7 + 3 / math.log2(3) + 1 / 2
    assert ndcg.value == pytest.approx((1 / math.log2(3) + 7 / 2) / ideal)
    assert ndcg.ceiling == pytest.approx((7 + 1 / math.log2(3)) / ideal)
    assert (recall.order, recall.retrieval) == (0.0, pytest.approx(1 / 3))
    assert ndcg.order + ndcg.retrieval == pytest.approx(1 - ndcg.value)


def test_a_run_of_all_judged_documents_misses_order_alone():
    data = {"q": {"a": 1, "b": 0}, "r": {"a": 0, "c": 2}}
    scores = {q: {d: -g for d, g in of.items()} for q, of in data.items()}
    for one in directrank.ceiling(data, {"s": scores}, measures=["AP", "RR", "nDCG@5"]):
        assert (one.ceiling, one.best, one.retrieval) == (1.0, 1.0, 0.0)


def test_the_ceiling_is_that_of_pytrec_eval_for_a_run_by_grade():
    rng = np.random.default_rng(0)
    data = {f"q{q}": {f"d{d}": int(g) for d, g in enumerate(rng.integers(0, 4, 15))} for q in range(30)}
    run = {
        q: {d: float(rng.normal()) for d in [*of, "x", "y"] if rng.random() < 0.5} for q, of in data.items()
    }
    by_grade = {q: {d: float(data[q].get(d, 0)) for d in of} for q, of in run.items()}
    names = {
        "map": "AP",
        "recip_rank": "RR",
        "ndcg_cut_5": "nDCG(dcg='log2')@5",
        "P_5": "P@5",
        "recall_10": "R@10",
    }
    judge = pytrec_eval.RelevanceEvaluator(data, {"map", "recip_rank", "ndcg_cut.5", "P.5", "recall.10"})
    found = {one.measure: one for one in directrank.ceiling(data, {"s": run}, measures=[*names.values()])}
    for ranking, field in (
        (run, "value"),
        (by_grade, "ceiling"),
        ({q: {d: float(g) for d, g in of.items()} for q, of in data.items()}, "best"),
    ):
        values = judge.evaluate(ranking)
        for theirs, ours in names.items():
            mean = sum(values[q][theirs] for q in data) / len(data)
            assert getattr(found[ours], field) == pytest.approx(mean, abs=1e-12)
