"""Against scikit-learn: ndcg_score and roc_auc_score; and where average_precision_score differs.

``ndcg_score`` averages over ties as we do, has the linear gain, and refuses queries of one document.
"""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, dcg_score, ndcg_score, roc_auc_score

from directrank import evaluate
from strategies import random_case

TOLERANCE = 1e-12


def test_ndcg_and_dcg_query_by_query():
    case = random_case(np.random.default_rng(3), 300, 8)
    result = evaluate(
        case.relevance, case.scores, case.qid,
        measures=["nDCG@5", "DCG@5"], convention="sklearn", per_query=True,
    )  # fmt: skip
    for q in result.qid:
        y, s = case.relevance[case.qid == q][None], case.scores[case.qid == q][None]
        if y.size > 1:
            assert result.per_query["nDCG@5"][q] == pytest.approx(ndcg_score(y, s, k=5), abs=TOLERANCE)
            assert result.per_query["DCG@5"][q] == pytest.approx(dcg_score(y, s, k=5), abs=TOLERANCE)


def test_pairwise_agreement_of_two_grades_is_the_area_under_the_curve():
    case = random_case(np.random.default_rng(4), 300, 8, max_grade=1)
    result = evaluate(
        case.relevance, case.scores, case.qid, measures=["WPD", "WPD(complement=1)"], per_query=True
    )
    for q in result.qid:
        y, s = case.relevance[case.qid == q], case.scores[case.qid == q]
        if len(set(y)) == 2:
            assert result.per_query["WPD(complement=1)"][q] == pytest.approx(
                roc_auc_score(y, s), abs=TOLERANCE
            )
            assert result.per_query["WPD"][q] == pytest.approx(1 - roc_auc_score(y, s), abs=TOLERANCE)


def test_average_precision_with_ties_differs():
    # scikit-learn takes a tied block as one step of the precision-recall curve: precision at its end for all
    # of its relevant documents. One relevant document tied with an irrelevant one: 1/2, not (1 + 1/2)/2.
    assert average_precision_score([1, 0], [0.0, 0.0]) == 0.5
    assert evaluate([1, 0], [0.0, 0.0], ["q", "q"], measures="AP", convention="sklearn")["AP"] == 0.75
