"""Loss-augmented rankings equal the best of all permutations, for every measure that has the oracle."""

import itertools
from functools import cache

import numpy as np
import pytest

from directrank.data.grouping import group_rows
from directrank.measures import parse_measure
from directrank.surrogates import Objective, TypeTwoBound
from directrank.surrogates.rankings import two_class_search
from directrank.surrogates.rankings.two_class_search import ConvexCutPlugin, CutPlugin, most_violated_rankings
from groups import first_group
from naive import best_sequence_naive
from oracles import ndcg, precision


@cache
def permutations(n):
    """All rankings and their positions, (n!, n)."""
    rankings = np.array(list(itertools.permutations(range(n))))
    positions = np.empty_like(rankings)
    np.put_along_axis(positions, rankings, np.arange(1, n + 1)[None, :], axis=1)
    return rankings, positions


def values(strict, y):
    """The measure of every permutation."""
    rankings, _ = permutations(len(y))
    labels, which = np.unique(y[rankings], axis=0, return_inverse=True)
    return np.array([strict(each) for each in labels])[which.ravel()]


def literal_F(s):
    n = len(s)
    _, positions = permutations(n)
    return (n + 1 - 2 * positions) @ s / (n * (n - 1))


def one_query(y):
    return group_rows(np.asarray(y, float), np.zeros(len(y), int))[0]


def violated(surrogate, y, s):
    """The bound of one query from its cut."""
    losses, direction = surrogate.on(one_query(y), np.ones(1)).most_violated(s)
    return losses[0] + direction @ s, losses[0], direction


GRADED = {"nDCG": ndcg(None), "nDCG@2": ndcg(2), "nDCG@3": ndcg(3), "P(rel=2)@2": precision(2, rel=2)}


@pytest.mark.parametrize("name", GRADED)
def test_graded_gains_by_assignment(name):
    rng, strict = np.random.default_rng(3), GRADED[name]
    surrogate = TypeTwoBound(parse_measure(name), grades="all", feature_map="pairs")
    for _ in range(60):
        n = int(rng.integers(2, 7))
        y = np.sort(rng.integers(0, 4, n))[::-1].astype(float)
        if y[0] == y[-1]:
            continue
        s = rng.normal(size=n) if rng.random() < 0.5 else rng.integers(0, 3, n) / 2.0
        E, F = values(strict, y), literal_F(s)
        rankings, _ = permutations(n)
        descending = (np.diff(y[rankings], axis=1) <= 0).all(axis=1)
        bound, loss, direction = violated(surrogate, y, s)
        assert bound == pytest.approx(float((1 - E + F).max() - F[descending].mean()), abs=1e-12)
        assert bound >= loss + direction @ s - 1e-12
        ranking = np.argsort(-s, kind="stable")
        assert bound >= 1 - strict(y[ranking]) - 1e-12


def test_the_two_forms_of_the_search_agree():
    """The search rank by rank reaches what the programme without any assumption reaches."""
    rng = np.random.default_rng(5)
    for name in ("AP", "nDCG", "RR", "WPD"):
        measure = parse_measure(name)
        for R, N in ((1, 40), (30, 1), (8, 20), (12, 50), (600, 700)):
            scores = rng.normal(size=R + N) * rng.choice([0.05, 0.5, 5.0])
            terms = measure.relevant_terms(np.array([R + N]), np.array([R]))
            stacked = np.stack((terms.level, terms.growth, terms.first))
            c, curve = 2.0 / (R * N), terms.curve
            arrays = (
                np.array([0, R + N]), R + N, np.array([R]), stacked, curve, np.cumsum(curve), np.array([c]),
                np.zeros(1),
            )  # fmt: skip
            found = []
            for plugin in (ConvexCutPlugin(*arrays), CutPlugin(*arrays)):
                losses, direction = np.empty(1), np.empty(R + N)
                most_violated_rankings(plugin, scores, losses, direction)
                found.append(losses[0] + direction @ scores)
            assert found[0] == pytest.approx(found[1], abs=1e-10)
            if R * N < 1000:
                p, q = -np.sort(-scores[:R]), -np.sort(-scores[R:])
                u = stacked[0, 0] + stacked[1, 0] * np.arange(1, R + 1) + stacked[2, 0] * (np.arange(R) == 0)
                assert found[0] == pytest.approx(best_sequence_naive(p, q, u, terms.curve, c)[0], abs=1e-12)


def test_grades_are_said_to_be_two_classes():
    queries = group_rows(np.array([2.0, 1, 0, 1, 0]), np.array([0, 0, 0, 1, 1]))[0]
    assert TypeTwoBound(parse_measure("AP(rel=2)")).notes(queries) == [
        "3 grades taken as two classes: 1 documents relevant to AP(rel=2), 4 not"
    ]
    assert TypeTwoBound(parse_measure("nDCG"), grades="all", feature_map="pairs").notes(queries) == []
    left = Objective(TypeTwoBound(parse_measure("AP(rel=2)")), queries, ())
    assert left.left_out.tolist() == [False, True]


#: The search that ends at the cutoff in short lists too: compiled once for all measures.
CUT = two_class_search.cut_by(two_class_search.programme_from(0))


@pytest.mark.parametrize("times", first_group([1, 5], lambda times: times == 1))
@pytest.mark.parametrize("name", ["P@1", "P@5", "nDCG@3", "AP@4", "RR@2", "nDCG(dcg='exp-letor')"])
def test_the_programme_up_to_the_cutoff_is_the_whole_programme(name, times):
    """In long lists the programme ends at the last rank that counts; here in short ones, by enumeration."""
    rng = np.random.default_rng(6)
    measure = parse_measure(name)
    for R, N in ((1, 9), (9, 1), (2, 3), (4, 11), (12, 7), (15, 15)) * times:
        n = R + N
        scores = rng.normal(size=n) if rng.random() < 0.6 else rng.integers(0, 4, n) / 3.0
        c = rng.choice([0.2, 1.0, 6.0]) / (R * N)
        terms = measure.relevant_terms(np.array([n]), np.array([R]))
        stacked = np.stack((terms.level, terms.growth, terms.first))
        one = np.array([0, n]), n, np.array([R]), stacked, terms.curve, np.cumsum(terms.curve)
        plugin = CutPlugin(*one, np.array([c]), np.zeros(1))
        scratch, direction = (np.empty((4, n + 2), np.int64), np.empty((4, n + 2))), np.empty(n)
        found = CUT(plugin, 0, scores, scratch, direction) + direction @ scores
        u = stacked[0, 0] + stacked[1, 0] * np.arange(1, R + 1) + stacked[2, 0] * (np.arange(R) == 0)
        p, q = -np.sort(-scores[:R]), -np.sort(-scores[R:])
        assert found == pytest.approx(best_sequence_naive(p, q, u, terms.curve, c)[0], abs=1e-12)


def test_long_lists_are_searched_up_to_the_cutoff():
    R, N = 1500, 1600
    assert R * N > two_class_search.LONG
    queries, _ = group_rows(np.r_[np.ones(R), np.zeros(N)], np.zeros(R + N, int))
    surrogate = TypeTwoBound(parse_measure("P@5"))
    assert surrogate.work(queries)[0] == 3.5 * 25
    # Each of the five best irrelevant documents at the top costs a fifth, and all its small margins.
    p, q = np.linspace(2.0, 1.0, R), np.r_[3.0, np.linspace(-1.0, -2.0, N - 1)]
    losses, direction = surrogate.on(queries, np.ones(1)).most_violated(np.r_[p, q])
    assert losses[0] == pytest.approx(1.0)
    margins = (q[:5] * R - p.sum()).sum() * 2.0 / (R * N)
    assert losses[0] + direction @ np.r_[p, q] == pytest.approx(1.0 + margins, abs=1e-9)
