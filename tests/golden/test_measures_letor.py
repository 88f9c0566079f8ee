"""LETOR's own evaluation: single features of OHSUMED (LETOR 2.0) as scores, against the official workbook."""

import numpy as np
import pytest

from directrank import evaluate
from directrank.files import load_letor

pytestmark = pytest.mark.golden

#: NDCG@1 to NDCG@10 over all 106 queries. Features 5 to 7 are constant in a query: they test the tie rule.
PUBLISHED = {
    8: [0.5031, 0.4866, 0.4653, 0.4552, 0.4441, 0.4369, 0.4385, 0.4371, 0.4390, 0.4359],
    10: [0.5094, 0.4772, 0.4715, 0.4624, 0.4534, 0.4504, 0.4488, 0.4421, 0.4413, 0.4412],
    5: [0.1887, 0.2233, 0.2285, 0.2283, 0.2236, 0.2268, 0.2279, 0.2304, 0.2318, 0.2332],
    6: [0.1887, 0.2233, 0.2285, 0.2283, 0.2236, 0.2268, 0.2279, 0.2304, 0.2318, 0.2332],
    7: [0.1887, 0.2233, 0.2285, 0.2283, 0.2236, 0.2268, 0.2279, 0.2304, 0.2318, 0.2332],
}


@pytest.fixture(scope="module")
def rows(ohsumed_letor2):
    """Features, relevance and qid of all queries: the five test parts."""
    parts = [load_letor(ohsumed_letor2 / f"Fold{fold}")[2] for fold in range(1, 6)]
    return tuple(
        np.concatenate(each) for each in zip(*((p.X, p.relevance, p.qid) for p in parts), strict=True)
    )


@pytest.mark.parametrize("feature", PUBLISHED)
def test_single_features(rows, feature):
    X, relevance, qid = rows
    measures = [f"nDCG@{k}" for k in range(1, 11)]
    result = evaluate(relevance, X[:, feature - 1], qid, measures=measures, convention="letor3")
    assert [round(result[name], 4) for name in measures] == PUBLISHED[feature]
