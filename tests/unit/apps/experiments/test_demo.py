"""The collection of the demo: optimising the measure beats least squares, whatever the seed."""

import numpy as np

from directrank import ApproxRank, Regression, StructuralSVM, evaluate, make_ranking
from directrank.apps.experiments.demos import COLLECTION, N_QUERIES
from directrank.measures import DEFAULT_MEASURE


def test_direct_optimisation_beats_least_squares_over_seeds():
    gains = {ApproxRank: [], StructuralSVM: []}
    for seed in range(5):
        groups = make_ranking(N_QUERIES, **COLLECTION, random_state=100 + seed)
        train, test = groups.select(range(N_QUERIES // 2)), groups.select(range(N_QUERIES // 2, N_QUERIES))

        def value(ranker, train=train, test=test):
            return evaluate(test, ranker.fit(train).predict(test), measures=DEFAULT_MEASURE)[DEFAULT_MEASURE]

        base = value(Regression())
        for cls, found in gains.items():
            found.append(value(cls()) - base)
    assert all(min(found) > 0 and np.mean(found) > 0.01 for found in gains.values()), gains
