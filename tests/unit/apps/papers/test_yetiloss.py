"""YetiLoss: neighbours by definition, and drawn weights against their expectation by enumeration."""

import itertools

import numpy as np
import pytest

from directrank import YetiLoss, make_ranking
from directrank.apps.papers import NoisyNeighbours
from directrank.apps.papers.yetiloss import neighbours
from directrank.data.grouping import group_rows
from directrank.measures import parse_measure
from directrank.measures.exchange import pair_table
from directrank.surrogates import GainCrossEntropy
from directrank.surrogates.draws import Draws
from directrank.surrogates.margins import Logistic
from naive import pairs_naive
from oracles import average_precision, expected_reciprocal_rank, ndcg, precision

STRICT = {
    "nDCG": ndcg(),
    "nDCG@3": ndcg(3),
    "AP": average_precision(),
    "P@2": precision(2),
    "ERR(max=3)": expected_reciprocal_rank(largest=3),
}
GRADES = np.array([3.0, 1.0, 1.0, 0.0, 0.0])


def one_query(grades):
    return group_rows(np.asarray(grades, float), np.zeros(len(grades)))[0]


def changes_of_neighbours(strict, grades, order):
    """|ΔE| of neighbours of different relevance, in an n × n table: better document, worse document."""
    table = np.zeros((len(grades), len(grades)))
    for a, b in itertools.pairwise(order):
        swapped = [{a: b, b: a}.get(i, i) for i in order]
        if grades[a] != grades[b]:
            better, worse = (a, b) if grades[a] > grades[b] else (b, a)
            table[better, worse] = abs(strict(grades[list(order)]) - strict(grades[swapped]))
    return table


def plackett_luce(scores, order):
    """The probability of a ranking by scores plus Gumbel noise."""
    e = np.exp(scores[list(order)])
    return float(np.prod(e / np.cumsum(e[::-1])[::-1]))


def expected_weights(name, grades, scores, noise):
    orders = itertools.permutations(range(len(grades)))
    return sum(
        plackett_luce(scores / noise, order) * changes_of_neighbours(STRICT[name], grades, order)
        for order in orders
    )


def table_of(oracles, n):
    table = np.zeros((n, n))
    below, start, cells = pair_table(oracles.queries).below, *oracles.rule()
    for i in range(n):
        table[i, below[i] :] = cells[start[i] : start[i + 1]]
    return table


@pytest.mark.parametrize("name", STRICT)
def test_neighbours_by_definition(name):
    measure, queries = parse_measure(name), one_query(GRADES)
    below, start = pair_table(queries).below, pair_table(queries).start
    for order in itertools.permutations(range(5)):
        scores = np.empty(5)
        scores[list(order)] = -np.arange(5.0)
        cells, changes = neighbours(measure, queries, scores)
        table = np.zeros((5, 5))
        for cell, change in zip(cells, changes, strict=True):
            better = np.searchsorted(start, cell, side="right") - 1
            table[better, cell - start[better] + below[better]] = change
        np.testing.assert_allclose(table, changes_of_neighbours(STRICT[name], GRADES, order), atol=1e-12)


@pytest.mark.share(5)
@pytest.mark.parametrize("name", STRICT)
def test_drawn_weights_and_gradient_are_near_those_of_all_rankings(name):
    """Drawn with a fixed seed. The share of a pair has a standard deviation of at most ½ a ranking."""
    scores, times, noise = np.array([-0.5, 0.4, 0.2, 0.6, -1.0]), 800, 0.5
    exact = expected_weights(name, GRADES, scores, noise)
    surrogate = NoisyNeighbours(parse_measure(name), permutations=times, noise=noise, seed=7)
    oracles = surrogate.on(one_query(GRADES), np.array([0.7]))
    oracles.reweigh(scores)
    # Changes are at most 1.
    assert np.abs(table_of(oracles, 5) - exact).max() < 4.5 * 0.5 / np.sqrt(times)
    value, gradient = oracles.value_and_gradient(scores)
    expected_value, expected_gradient = pairs_naive(scores, 0.7 * exact, Logistic())
    assert value == pytest.approx(expected_value, rel=0.1)
    np.testing.assert_allclose(gradient, expected_gradient, atol=0.1 * np.abs(expected_gradient).max())


def test_six_documents_of_one_relevant_by_enumeration():
    grades, scores = np.array([1.0, 0, 0, 0, 0, 0]), np.array([0.0, 1.0, 0.5, -0.5, 0.2, -1.0])
    exact = expected_weights("AP", grades, scores, 1.0)
    oracles = NoisyNeighbours(parse_measure("AP"), permutations=4000, seed=1).on(
        one_query(grades), np.ones(1)
    )
    oracles.reweigh(scores)
    gradient = oracles.value_and_gradient(scores)[1]
    np.testing.assert_allclose(gradient, pairs_naive(scores, exact, Logistic())[1], atol=0.01)


def test_tied_documents_of_one_relevance_have_one_weight():
    """At zero scores, where every document is tied: nothing but relevance tells them apart."""
    oracles = NoisyNeighbours(parse_measure("nDCG"), seed=2).on(one_query(GRADES), np.ones(1))
    table = table_of(oracles, 5)
    assert table[0, 1] == table[0, 2]
    assert table[1, 3] == table[1, 4] == table[2, 3] == table[2, 4]
    assert table[0, 3] == table[0, 4] > 0


def test_draws_are_uniform_and_differ_between_queries_and_calls():
    sizes = np.full(2000, 5)
    relevance = np.random.default_rng(0).integers(0, 2000, sizes.sum()).astype(float)
    queries = group_rows(relevance, np.repeat(np.arange(2000), sizes))[0]
    draws, rank = Draws(queries, 3), np.tile(np.arange(5), 2000)
    first, second = draws.uniform(rank), draws.uniform(rank)
    for each in (first, second, Draws(queries, 4).uniform(rank)):
        assert ((each > 0) & (each < 1)).all()
        assert len(np.unique(each)) == len(each)
        counts = np.histogram(each, 10, (0, 1))[0]
        assert ((counts - 1000) ** 2 / 1000).sum() < 33.7  # of χ² with 9 degrees, but for 1 in 10,000
        by_rank = np.corrcoef(each.reshape(-1, 5).T) - np.eye(5)
        assert np.abs(by_rank).max() < 4.5 / np.sqrt(2000)
    assert abs(np.corrcoef(first, second)[0, 1]) < 4.5 / 100
    np.testing.assert_array_equal(first, Draws(queries, 3).uniform(rank))
    part = queries.part(700, 900)
    np.testing.assert_array_equal(Draws(part, 3).uniform(rank[3500:4500]), first[3500:4500])


def test_a_fit_depends_on_the_seed_alone():
    groups = make_ranking(30, 12, 4, random_state=1)
    state = np.random.RandomState(5)
    found = [
        YetiLoss(rounds=4, random_state=seed, n_jobs=jobs).fit(groups).coef_
        for seed, jobs in ((0, 1), (0, 3), (1, 1), (state, 1))
    ]
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])
    assert not np.array_equal(found[0], found[3])


@pytest.mark.parametrize("surrogate", [NoisyNeighbours(parse_measure("AP")), GainCrossEntropy("uniform")])
def test_scores_that_differ_by_rounding_share_their_draws(surrogate):
    """Sums in another order decide which of two such documents is ahead."""
    queries, scores = one_query([1, 1, 0, 0, 0, 0]), np.array([0.3, 0.3, 0.3, 0.1, 0.1, -2.0])
    gradients = []
    for rounding in np.array([[0, 0, 0, 0, 0, 0], [1, -1, 0, 1, 0, 0], [-1, 1, 2, -1, 1, 0]]) * 1e-13:
        oracles = surrogate.on(queries, np.ones(1))
        oracles.reweigh(scores + rounding)
        gradients.append(oracles.value_and_gradient(scores)[1])
    np.testing.assert_allclose(gradients[1:], [gradients[0]] * 2, rtol=1e-6, atol=1e-9)


def test_the_order_of_rows_does_not_matter_where_columns_mirror_each_other():
    """Mirrored documents have the same score but for rounding, which depends on the order of rows."""
    rng = np.random.default_rng(3)
    half = np.round(rng.normal(size=(150, 2)), 1)
    X, qid = np.concatenate([half, half[:, ::-1]]), np.tile(np.repeat(np.arange(15), 10), 2)
    y = np.tile(np.digitize(half.sum(axis=1) + rng.normal(size=150), [0.5, 1.5]), 2)
    scores = YetiLoss("AP", rounds=10).fit(X, y, qid).predict(X)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(300)
        other = YetiLoss("AP", rounds=10).fit(X[order], y[order], qid[order]).predict(X)
        np.testing.assert_allclose(other, scores, rtol=0, atol=1e-8 * np.ptp(scores))
