"""The collection of the demo: comparing within queries beats least squares, and trees beat weighted sums."""

import numpy as np
import pytest

from directrank import LambdaLoss, RankBoost, Regression, evaluate
from directrank.apps.cli.demos.shop import FIXED, N_FOLDS, N_QUERIES, demo_collection
from directrank.measures import DEFAULT_MEASURE


def mean(groups, scores) -> float:
    return evaluate(groups, scores, measures=DEFAULT_MEASURE)[DEFAULT_MEASURE]


@pytest.mark.heavy
def test_each_step_of_the_story_holds_over_seeds():
    rows = []
    for seed in range(3):
        groups, best = demo_collection(N_QUERIES, 100 + seed)
        third = N_QUERIES // N_FOLDS
        train, test = groups.select(range(third)), groups.select(range(third, N_QUERIES))
        rankers = (
            Regression(),
            LambdaLoss(measure="nDCG@10", penalty=0.1),
            RankBoost(weak_ranker="tree", **FIXED["trees-rankboost"]),
        )
        values = [mean(test, ranker.fit(train).predict(test)) for ranker in rankers]
        rows.append([*values, mean(groups, best)])
    steps = np.diff(rows, axis=1)
    assert (steps > 0).all(), rows
    assert (steps.mean(axis=0) > 0.02).all(), rows


def test_the_best_scores_are_those_that_the_grades_come_from():
    groups, best = demo_collection(30, 0)
    assert len(best) == groups.n_docs
    assert groups.X.shape[1] == 8
    assert set(groups.relevance) == {0.0, 1.0, 2.0, 3.0, 4.0}
    # Half of the documents are irrelevant, and a twentieth is perfect.
    assert abs(np.mean(groups.relevance == 0) - 0.5) < 0.01
    assert abs(np.mean(groups.relevance == 4) - 0.05) < 0.01
