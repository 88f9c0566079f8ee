"""Feature selection: noise goes first, every set is trained anew, and the path ends at a significant loss."""

from itertools import pairwise

import numpy as np
import pytest

from directrank import RankSVM, evaluate, make_ranking, paired_test, select_features


@pytest.fixture(scope="module")
def parts():
    """Four features that decide relevance, and four that are noise."""
    made = make_ranking(80, 12, 8, n_useless=4, noise=0.1, random_state=0)
    return made.select(np.arange(40)), made.select(np.arange(40, 80))


def test_noise_goes_first_and_the_path_ends_at_a_significant_loss(parts):
    train, valid = parts
    useful = {"f1", "f2", "f3", "f4"}
    seen = []
    path = select_features(RankSVM(), train, valid, "AP", share=0.3, observe=seen.append)
    assert seen == path
    assert [len(each.features) for each in path[:4]] == [8, 6, 5, 4]
    assert set(path[3].features) == useful
    for before, after in pairwise(path):
        assert set(after.features) < set(before.features)
    assert not any(each.significant for each in path[:-1])
    assert path[-1].significant
    assert path[-1].loss > path[0].loss == 0.0 < path[-1].low


def test_every_loss_is_that_against_all_features(parts):
    """Also from the second step on, where the step before has lost some of it already."""
    path = select_features(RankSVM(), *parts, "AP", share=0.3)
    assert len({each.value for each in path}) > 3
    for each in path:
        assert each.loss == pytest.approx(path[0].value - each.value, abs=1e-12)


def test_values_are_those_of_models_that_are_trained_on_these_features_alone(parts):
    train, valid = parts
    path = select_features(RankSVM(), train, valid, "AP", share=0.5)

    def values(features):
        columns = [int(name[1:]) - 1 for name in features]
        ranker = RankSVM().fit(train.X[:, columns], train.relevance, qid=train.qid)
        return evaluate(valid, ranker.predict(valid.X[:, columns]), measures=["AP"], per_query=True)

    full = values(path[0].features)
    for each in path:
        found = values(each.features)
        assert each.value == pytest.approx(found["AP"], abs=1e-3)
        test = paired_test(full, found)
        assert (each.loss, each.low, each.high) == pytest.approx(
            (test.difference, test.low, test.high), abs=2e-3
        )
