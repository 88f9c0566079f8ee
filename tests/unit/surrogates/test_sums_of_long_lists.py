"""Long lists: sums without visiting pairs equal those over all pairs, written out."""

import numpy as np
import pytest

from directrank import QueryGroups
from directrank.measures import parse_measure
from directrank.scorers import Linear
from directrank.solvers.passes import value_and_gradient
from directrank.surrogates import Objective, Pairwise, SmoothedPositions, SwapWeighted
from directrank.surrogates.exchange import lambda_weighted
from directrank.surrogates.pairs.quotients import LogisticPairs, logistic_gradient
from directrank.surrogates.positions.smoothed import smoothed_gradient
from directrank.surrogates.softplus_sums import softplus_sums

N = 3200
RNG = np.random.default_rng(0)
#: As inner order has it: by descending grade.
GRADES = np.sort(RNG.choice(5, N, p=[0.52, 0.32, 0.13, 0.02, 0.01]))[::-1].astype(float)
SCORES = RNG.normal(size=N)


def long_list() -> QueryGroups:
    return QueryGroups(np.zeros((N, 1), np.float32), GRADES, np.zeros(N))


def softplus(z):
    return np.logaddexp(0.0, z)


def logistic(z):
    return 1.0 / (1.0 + np.exp(-z))


@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0])
def test_sums_are_those_over_all_points(spread):
    sources, at, weights = spread * RNG.normal(size=900), spread * RNG.normal(size=70), RNG.normal(size=900)
    z = sources - at[:, None]
    share = logistic(z)
    by_hand = softplus(z) @ weights, -share @ weights, (share * (1 - share)) @ weights
    for computed, expected in zip(softplus_sums(sources, weights, at), by_hand, strict=True):
        np.testing.assert_allclose(computed, expected, atol=1e-6)


def weighted_pairs(weight, scores):
    """Return Σ w ln(1 + e^−(s_i − s_j)), its gradient and diagonal curvature, from all pairs that weigh."""
    n, (better, worse) = len(scores), np.nonzero(weight)
    z, w = scores[worse] - scores[better], weight[better, worse]
    slope = w * logistic(z)
    curve = slope * (1.0 - logistic(z))
    return (
        w @ softplus(z),
        np.bincount(worse, slope, n) - np.bincount(better, slope, n),
        np.bincount(worse, curve, n) + np.bincount(better, curve, n),
    )


def assert_equal(oracles, expected, scores):
    value, gradient = oracles.value_and_gradient(scores)
    np.testing.assert_allclose(value, expected[0], rtol=1e-9)
    np.testing.assert_allclose(gradient, expected[1], atol=1e-8 * np.abs(expected[1]).max())
    np.testing.assert_allclose(oracles.derivatives(scores)[2], expected[2], atol=1e-7 * expected[2].max())
    assert len(oracles.runs) < 4  # That is all pairs, one by one, in four runs.


def swaps_at_ten(rank):
    """Return |ΔnDCG@10| of each pair in which the first is of higher relevance, by exchanging ranks."""
    gain, discount = 2**GRADES - 1, np.where(np.arange(N) < 10, 1 / np.log2(np.arange(N) + 2), 0.0)
    ideal = (np.sort(gain)[::-1] * discount).sum()
    change = (gain[:, None] - gain) * (discount[rank][:, None] - discount[rank])
    return np.where(GRADES[:, None] > GRADES, np.abs(change), 0.0) / ideal


def distances_at_ten(rank):
    """Return NDCG-Loss2's weights at the distance of two ranks, cut at ten."""
    gain, discount = 2**GRADES - 1, np.where(np.arange(N + 1) < 10, 1 / np.log2(np.arange(N + 1) + 2), 0.0)
    ideal = (np.sort(gain)[::-1] * discount[:N]).sum()
    apart = np.abs(rank[:, None] - rank)
    loss = discount[np.maximum(apart - 1, 0)] - discount[apart]
    return np.where(GRADES[:, None] > GRADES, (gain[:, None] - gain) * loss, 0.0) / ideal


def n_visited(oracles):
    """Return how many pairs are visited of those that the runs do not have."""
    return N * len(oracles.few) + sum(len(pairs.weights) for pairs in oracles.ranked())


@pytest.mark.share(2)
@pytest.mark.parametrize(("kind", "weights"), [("swap", swaps_at_ten), ("ndcg2", distances_at_ten)])
def test_weights_that_follow_a_ranking(kind, weights):
    oracles = SwapWeighted(parse_measure("nDCG@10"), weights=kind).on(long_list().queries, np.ones(1))
    ranked, moved = RNG.normal(size=N), SCORES
    rank = np.argsort(np.argsort(-ranked))
    oracles.reweigh(ranked)
    assert_equal(oracles, weighted_pairs(weights(rank), moved), moved)
    assert 0 < n_visited(oracles) < 20 * N
    far = 650.0 / np.ptp(moved) * moved  # Powers of these would overflow.
    assert_equal(oracles, weighted_pairs(weights(rank), far), far)
    # All tied: the mean over random orders, which weighs pairs by their gains alone.
    oracles.reweigh(np.zeros(N))
    gain = 2**GRADES - 1
    by_gain = np.where(GRADES[:, None] > GRADES, gain[:, None] - gain, 0.0)
    value, gradient, curvature = weighted_pairs(by_gain, moved)
    share = oracles.value_and_gradient(moved)[0] / value
    assert share > 0
    assert_equal(oracles, (share * value, share * gradient, share * curvature), moved)


@pytest.mark.parametrize("kind", ["swap", "ndcg2"])
def test_pairs_that_weigh_in_rankings_with_ties_are_those_of_all_pairs(kind, monkeypatch):
    surrogate, queries = SwapWeighted(parse_measure("nDCG@10"), weights=kind), long_list().queries
    ranked = np.round(20.0 * SCORES)
    ranked[np.argsort(-ranked)[4:35]] = 60.0  # a block over the cutoff
    listing = surrogate.on(queries, np.ones(1))
    listing.reweigh(-SCORES)
    listing.value_and_gradient(SCORES)  # Pairs of an earlier ranking are listed.
    listing.reweigh(ranked)
    assert 0 < n_visited(listing) < N * N // 32
    monkeypatch.setattr(lambda_weighted, "LONG", 2**60)
    monkeypatch.setattr(lambda_weighted, "FEW", 2 * N)
    visiting = surrogate.on(queries, np.ones(1))
    visiting.reweigh(ranked)
    assert not n_visited(visiting)
    assert len(visiting.runs)
    value, gradient = visiting.value_and_gradient(SCORES)
    assert_equal(listing, (value, gradient, visiting.derivatives(SCORES)[2]), SCORES)


@pytest.mark.parametrize("digits", [9, 4, 1])
@pytest.mark.parametrize("n", [2046, 2050])
def test_compiled_passes_of_lambdaloss_are_sums_over_all_pairs(n, digits):
    """Of 1,023² or 1,025² pairs: a list is long from 2²⁰ on; with few or many documents of the same score."""
    y, ranked = np.repeat([1.0, 0.0], n // 2), np.round(RNG.normal(size=n), digits)
    queries = QueryGroups(np.zeros((n, 1), np.float32), y, np.zeros(n)).queries
    oracles = SwapWeighted(parse_measure("nDCG@10")).on(queries, np.ones(1))
    plugin = oracles.gradient_plugin()
    oracles.reweigh(ranked)
    assert plugin.rule.near.tolist() == [n == 2050 and digits > 1]
    # D(d) − D(d + 1) in the mean over the ranks of two documents, which are those of their blocks.
    discount = np.where(np.arange(n + 1) < 10, 1 / np.log2(np.arange(n + 1) + 2), 0.0)
    loss = np.append(0.0, discount[:-1] - discount[1:])
    above, tied = (ranked[None, :] > ranked[:, None]).sum(1), (ranked[None, :] == ranked[:, None]).sum(1)
    mean = np.zeros((n, n))
    for i in range(n // 2):
        mine = np.arange(above[i], above[i] + tied[i])
        share = np.bincount(mine, minlength=n) / tied[i]
        for a in mine:
            at = loss[np.abs(a - np.arange(n))]
            sums = np.append(0.0, np.cumsum(at))
            mean[i] += share[a] * (sums[above + tied] - sums[above]) / tied
        same = ranked == ranked[i]
        mean[i, same] *= tied[i] / max(tied[i] - 1, 1)  # Their ranks differ.
    mean[n // 2 :] = mean[:, : n // 2] = 0.0
    value, gradient, _ = weighted_pairs(mean / discount[: min(n // 2, 10)].sum(), SCORES[:n])
    found, scratch = np.zeros(n, np.float32), (np.zeros((4, n + 64), np.float32), np.zeros(n + 64))
    computed = logistic_gradient(plugin, 0, SCORES[:n].astype(np.float32), scratch, found)
    np.testing.assert_allclose(computed, value, rtol=1e-5)
    np.testing.assert_allclose(found, gradient, atol=1e-5 * np.abs(gradient).max())


def test_lists_of_a_million_documents_have_pairs_of_near_ranks_alone(monkeypatch):
    monkeypatch.setattr(lambda_weighted, "MOST_RANKED", N)  # of so many documents that 2^23 is less than 10 n
    oracles = SwapWeighted(parse_measure("nDCG@10")).on(long_list().queries, np.ones(1))
    oracles.reweigh(SCORES)
    assert not len(oracles.runs)
    assert sum(len(pairs.weights) for pairs in oracles.ranked()) == 10 * N - 55


def test_tied_lists_of_many_grades_are_visited():
    """One sum per pair of grades would take longer."""
    relevance = np.arange(1500.0)[::-1] / 1500.0
    groups = QueryGroups(np.zeros((1500, 1), np.float32), relevance, np.zeros(1500))
    oracles = SwapWeighted(parse_measure("nDCG@10")).on(groups.queries, np.ones(1))
    assert not len(oracles.summed[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("digits", [8, 1])
@pytest.mark.parametrize("spread", [1.0, 50.0])
def test_pairs_without_a_document_of_weight_are_not_visited(dtype, digits, spread):
    """Lists of 60 and 90: swaps at nDCG@10 without one of the first ten documents change nothing.

    Powers of scores that are spread by 50 overflow in single precision.
    """
    rng, weights = np.random.default_rng(1), np.array([0.7, 0.4])
    groups = QueryGroups(np.zeros((150, 1), np.float32), rng.integers(0, 4, 150), np.repeat([0, 1], [60, 90]))
    oracles = SwapWeighted(parse_measure("nDCG@10"), weights="swap").on(groups.queries, weights)
    ranked, scores = np.round(rng.normal(size=150), digits), (spread * rng.normal(size=150)).astype(dtype)
    oracles.reweigh(ranked)
    assert 20 <= len(oracles.few) < 50
    value, gradient, curvature = 0.0, np.zeros(150), np.zeros(150)
    discount = np.where(np.arange(91) < 10, 1.0 / np.log2(np.arange(91) + 2), 0.0)
    for weight, query in zip(weights, (slice(0, 60), slice(60, 150)), strict=True):
        y, s = groups.queries.relevance[query], ranked[query]
        gain, above = 2.0**y - 1.0, (s[None, :] > s[:, None]).sum(axis=1)
        ideal = (np.sort(gain)[::-1][:10] * discount[:10]).sum()
        apart = np.zeros((len(y), len(y)))
        tied = (s[None, :] == s[:, None]).sum(axis=1)
        for i, j in zip(*np.nonzero(y[:, None] > y), strict=True):
            # The mean over the orders of tied documents.
            ranks = [
                (a, b)
                for a in range(above[i], above[i] + tied[i])
                for b in range(above[j], above[j] + tied[j])
                if a != b
            ]
            differences = [discount[a] - discount[b] for a, b in ranks]
            apart[i, j] = np.mean(np.abs(differences)) if s[i] == s[j] else abs(np.mean(differences))
        terms = weighted_pairs(weight * apart * (gain[:, None] - gain) / ideal, scores[query].astype(float))
        value += terms[0]
        gradient[query], curvature[query] = terms[1:]
    computed, slopes = oracles.value_and_gradient(scores)
    near = {"rtol": 1e-5 if dtype == np.float32 else 1e-11, "atol": 1e-7 if dtype == np.float32 else 1e-13}
    np.testing.assert_allclose(computed, value, **near)
    np.testing.assert_allclose(slopes, gradient, **near)
    np.testing.assert_allclose(oracles.derivatives(scores)[2], curvature, **near)
    assert slopes.dtype == dtype


@pytest.mark.parametrize("name", ["nDCG", "AP"])
def test_smooth_positions(name):
    surrogate, queries = SmoothedPositions(parse_measure(name)), long_list().queries
    n_read = int(np.count_nonzero(GRADES))
    assert n_read * N > 2**21
    value, gradient = surrogate.on(queries, np.ones(1)).value_and_gradient(SCORES)
    z = 10.0 * (SCORES[None, :] - SCORES[:n_read, None])
    positions = np.ones(N)
    positions[:n_read] = 0.5 + logistic(z).sum(axis=1)
    values, slopes = surrogate.measure.position_gradient(queries, positions, 1.0)
    np.testing.assert_allclose(value, 1.0 - values[0], rtol=1e-9)
    turn = 10.0 * logistic(z) * (1 - logistic(z)) * slopes[:n_read, None]
    by_hand = -turn.sum(axis=0)
    by_hand[:n_read] += turn.sum(axis=1)
    np.testing.assert_allclose(gradient, by_hand, atol=1e-6 * np.abs(by_hand).max())
    # |c_i| + |c_j| bounds the |c_i − c_j| of the curvature, and equals it where one document is not read.
    spread = 10.0 * np.abs(turn)
    curvature = surrogate.on(queries, np.ones(1)).derivatives(SCORES)[2]
    np.testing.assert_allclose(curvature[n_read:], spread.sum(axis=0)[n_read:], atol=1e-6 * curvature.max())
    own = np.zeros(N)
    own[:n_read] = spread.sum(axis=1) - 2 * 0.25 * 100.0 * np.abs(slopes[:n_read])
    np.testing.assert_allclose(curvature, spread.sum(axis=0) + own, atol=1e-6 * curvature.max())


@pytest.mark.parametrize(
    "surrogate",
    [
        Pairwise(margin="logistic"),
        SwapWeighted(parse_measure("nDCG@10")),
        SmoothedPositions(parse_measure("nDCG")),
    ],
)
def test_compiled_passes_leave_long_lists_to_the_oracles(surrogate):
    groups = long_list()
    plugin = Objective(surrogate, groups.queries, groups.shards).gradient_plugin()
    scores = SCORES.astype(np.float32)
    scratch = np.zeros((4, N + 64), np.float32), np.zeros(N + 64)
    kernel = logistic_gradient if isinstance(plugin, LogisticPairs) else smoothed_gradient
    assert np.isnan(kernel(plugin, 0, scores, scratch, np.zeros(N, np.float32)))


def test_a_pass_over_short_and_long_lists_is_that_of_their_oracles():
    """Blocks with a long list, here in the middle, are not given to the compiled loop."""
    sizes = [100] * 40 + [N] + [100] * 40
    qid, rng = np.repeat(np.arange(len(sizes)), sizes), np.random.default_rng(3)
    X = rng.normal(size=(len(qid), 136)).astype(np.float32)
    groups = QueryGroups(X, rng.integers(0, 3, len(qid)), qid)
    objective = Objective(Pairwise(margin="logistic"), groups.queries, groups.shards)
    long = objective.gradient_plugin().by_oracles
    blocks = [bool(long[part.queries].any()) for shard in objective.shards for part in shard]
    assert 0 < blocks.index(True) < len(blocks) - 1
    assert np.flatnonzero(long).tolist() == [40]
    theta = rng.normal(size=136).astype(np.float32) / 12
    value, gradient = value_and_gradient(objective, Linear(), theta, groups.features)
    expected, slopes = objective.value_and_gradient(groups.features @ theta)
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    np.testing.assert_allclose(gradient, slopes @ groups.features, atol=1e-6)
