"""Documents that a ranking does not hold: they add nothing, and count in what a measure is divided by."""

import math

import numpy as np
import pytest

from directrank import evaluate

RELEVANCE, QID = [2, 1, 0, 1, 1, 0], ["a", "a", "a", "a", "b", "b"]
SCORES = [1.0, 9.0, 2.0, 3.0, 8.0, 7.0]
#: In query a the second document is not retrieved, though its score would be the best; in b none is.
RETRIEVED = [True, False, True, True, False, False]


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        ("AP", (1 / 1 + 2 / 3) / 3),  # ranked: grades 1, 0, 2; three are relevant
        ("AP@2", 1 / 3),
        ("P@2", 1 / 2),
        ("RR", 1.0),
        ("RR(rel=2)", 1 / 3),
        ("DCG", 1 + 3 / 2),
        ("nDCG", (1 + 3 / 2) / (3 + 1 / math.log2(3) + 1 / 2)),
        ("ERR(max=2)", 1 / 4 + (3 / 4) * (3 / 4) / 3),
        ("WTA(rel=max)", 0.0),
        ("R@2", 1 / 3),
        ("SetP", 2 / 3),
        ("SetR", 2 / 3),
        ("SetF", 2 / 3),
        ("SetF(rel=2,beta=3)", 4 * (1 / 3) / (3 * 1 / 3 + 1)),  # precision 1/3, recall 1
        ("SetAP", 4 / 9),
        ("NumRet", 3.0),
        ("num_rel_ret", 2.0),
        ("Success@1", 1.0),
        ("Success(rel=2)@2", 0.0),
        ("Rprec", 2 / 3),
        ("RBP(p=0.5)", 0.5 * (1 + 0.5**2)),
    ],
)
def test_values_by_hand(measure, value):
    found = evaluate(
        RELEVANCE, SCORES, QID, measures=measure, per_query=True, retrieved=RETRIEVED
    ).per_query  # fmt: skip
    assert next(iter(found.values())).tolist() == pytest.approx([value, 0.0])


def test_measures_of_pairs_rank_documents_left_out_last_and_tied():
    """Of the pairs of query a, 2 over 1 (the one left out) and 1 over 0 are right; b is a tie."""
    options = {"per_query": True, "retrieved": RETRIEVED}
    found = evaluate(RELEVANCE, SCORES, QID, measures=["WPD", "WPD(complement=1)"], **options).per_query
    assert found["WPD"].tolist() == pytest.approx([3 / 5, 1 / 2])
    assert found["WPD(complement=1)"].tolist() == pytest.approx([2 / 5, 1 / 2])


@pytest.mark.share(3)
@pytest.mark.parametrize("measure", ["AP", "nDCG@3", "RR", "ERR(max=2)", "MeanNDCG", "P@3"])
def test_a_relevant_document_left_out_is_as_one_after_infinitely_many(measure):
    """With ever more documents that are not relevant before it, a ranked document adds ever less."""
    left_out = evaluate(RELEVANCE, SCORES, QID, measures=measure, retrieved=RETRIEVED)
    if measure == "MeanNDCG":  # it is a mean over the ranks of the list, which would grow
        assert 0 < left_out[measure] < 1
        return
    n = 200_000
    relevance, qid = [*RELEVANCE, *[0] * n, *[0] * n], [*QID, *["a"] * n, *["b"] * n]
    scores = [*np.where(RETRIEVED, SCORES, -2.0), *[-1.0] * n, *[-1.0] * n]
    filled = evaluate(relevance, scores, qid, measures=measure)
    assert left_out[measure] == pytest.approx(filled[measure], abs=1e-4)


@pytest.mark.parametrize("convention", ["standard", "lightgbm", "xgboost"])
def test_a_query_that_the_run_lacks_counts_0_in_every_convention(convention):
    # Neither query has a relevant document; the run holds the first one alone.
    result = evaluate(
        [0, 0],
        [1, 1],
        ["a", "b"],
        measures="AP",
        convention=convention,
        retrieved=[True, False],
        per_query=True,
    )
    assert result.per_query["AP"].tolist() == [float(convention != "standard"), 0.0]
