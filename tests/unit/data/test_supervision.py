"""Preference graphs and observed rankings in place of relevance."""

import numpy as np
import pytest

from directrank import ConsistentRank, ObservedRankings, PreferenceGraph, QueryGroups, RankSVM
from directrank.errors import DataError
from directrank.measures import WPD, ZeroOne

QID = np.array(["b", "b", "b", "a", "a"])


class TestPreferenceGraph:
    def test_edges_of_several_observers_add_up(self):
        once = PreferenceGraph([0, 3], [2, 4], [3.0, 1.0]).standard_form(QID)
        thrice = PreferenceGraph([0, 0, 0, 3], [2, 2, 2, 4]).standard_form(QID)
        np.testing.assert_array_equal(once, thrice)


class TestInGroups:
    def groups(self, supervision):
        return QueryGroups(np.arange(10.0).reshape(5, 2), supervision, QID)

    def test_the_standard_form_is_the_supervision(self):
        graph = PreferenceGraph([0, 1, 4], [1, 0, 3], [2.0, 1.0, 3.0])
        groups = self.groups(graph)
        assert groups.queries.standardised
        np.testing.assert_array_equal(groups.to_caller(WPD().supervision(groups.queries)), [2, 0, 1, 0, 6])
        rankings = self.groups(ObservedRankings([3, 1, 2, 2, 1]))
        np.testing.assert_array_equal(
            rankings.to_caller(ZeroOne().supervision(rankings.queries)), [1, 3, 2, 1, 2]
        )
        assert not self.groups([0, 1, 2, 0, 1]).queries.standardised


class TestFit:
    @pytest.fixture
    def data(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 4))
        return X, X @ [1.0, -1.0, 0.5, 0.0] + 0.3 * rng.normal(size=300), np.repeat(np.arange(30), 10)

    def test_preferences(self, data):
        X, worth, qid = data
        rng = np.random.default_rng(1)
        first, second = rng.integers(0, 300, (2, 20_000))
        kept = (qid[first] == qid[second]) & (worth[first] > worth[second])
        graph = PreferenceGraph(first[kept], second[kept])
        ranker = ConsistentRank("WPD").fit(X, graph, qid, eval_set=(X, graph, qid))
        assert np.corrcoef(ranker.predict(X), worth)[0, 1] > 0.9
        # Edges are few and drawn at random: their net weights are a noisy order of their own.
        with pytest.raises(DataError, match=r"nDCG@10 needs grades, .*: set select_by"):
            ranker.score(X, graph, qid)
        assert ranker.set_params(select_by="WPD").score(X, graph, qid) > 0.75
        assert RankSVM(select_by="WPD").fit(X, graph, qid).score(X, graph, qid) > 0.75

    def test_weights_of_queries(self, data):
        X, worth, qid = data
        positions = np.concatenate([np.argsort(np.argsort(-w)) + 1 for w in worth.reshape(30, 10)])
        weights = np.where(qid < 15, 2.0, 1.0)

        def coefficients(X, positions, qid, **options):
            ranker = ConsistentRank("ZeroOne").fit(X, ObservedRankings(positions), qid, **options)
            return ranker.scorer_.coefficients

        weighted = coefficients(X, positions, qid, sample_weight=weights)
        # A query of weight two is two copies of it.
        copies = np.concatenate((np.arange(300), np.flatnonzero(qid < 15)))
        names = np.concatenate((qid, 30 + qid[qid < 15]))
        np.testing.assert_allclose(weighted, coefficients(X[copies], positions[copies], names), rtol=1e-5)
        assert np.abs(weighted - coefficients(X, positions, qid)).max() > 1e-4
