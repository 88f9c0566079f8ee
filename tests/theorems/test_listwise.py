"""The listwise classics, from their papers: ListNet (ICML 2007), ListMLE (ICML 2008), RankCosine (IPM 2008),
SoftRank (WSDM 2008).
"""

import itertools
import math

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from scipy.stats import norm

from directrank.apps.papers import CosineDistance
from directrank.apps.papers.rankcosine import cosines
from directrank.data.queries import Queries
from directrank.errors import DataError
from directrank.measures import AP, NDCG, P
from directrank.surrogates import GaussianNoise, PlackettLuce, SoftmaxCrossEntropy
from directrank.surrogates.listwise import cross_entropies, likelihoods, softmax_of_segments
from directrank.surrogates.positions.gaussian import expectations
from naive import cosine_naive, cross_entropy_naive, expectation_naive, likelihood_naive
from oracles import slope

SURROGATES = (
    SoftmaxCrossEntropy(), SoftmaxCrossEntropy("gain"), PlackettLuce(), CosineDistance(),
    CosineDistance("gain"), GaussianNoise(NDCG(), noise=0.5), GaussianNoise(NDCG(3)),
    GaussianNoise(P(2), noise=0.7),
)  # fmt: skip
NAMES = [each.name for each in SURROGATES]


def queries_of(*relevances) -> Queries:
    relevance = np.concatenate([np.asarray(each, dtype=float) for each in relevances])
    indptr = np.concatenate(([0], np.cumsum([len(each) for each in relevances]))).astype(np.int64)
    return Queries(relevance, indptr, np.arange(len(relevance)), np.arange(len(relevances)))


def value(surrogate, relevance, s):
    return surrogate.on(queries_of(relevance), np.ones(1)).value_and_gradient(np.asarray(s, float))[0]


def random_relevance(rng, n, largest=3):
    y = np.sort(rng.integers(0, largest + 1, n))[::-1].astype(float)
    y[0], y[-1] = max(y[0], 1.0), 0.0
    return y


# --- values by definition -------------------------------------------------------------------------------


def test_listnet_is_the_cross_entropy_of_top_one_probabilities():
    y, s = np.array([2.0, 1.0, 0.0]), np.array([0.3, -1.0, 2.0])
    assert value(SoftmaxCrossEntropy(), y, s) == pytest.approx(-softmax(y) @ log_softmax(s), rel=1e-13)
    gains = np.array([3.0, 1.0, 0.0])
    assert value(SoftmaxCrossEntropy("gain"), y, s) == pytest.approx(-softmax(gains) @ log_softmax(s))


def test_listnet_is_least_where_scores_are_relevance():
    y = np.array([2.0, 1.0, 0.0, 0.0])
    oracles = SoftmaxCrossEntropy().on(queries_of(y), np.ones(1))
    np.testing.assert_allclose(oracles.value_and_gradient(y + 7.0)[1], 0.0, atol=1e-13)


def plackett_luce(s):
    """Minus the log probability of the order 1, 2, … of documents with scores s."""
    return sum(math.log(sum(math.exp(x) for x in s[k:])) - s[k] for k in range(len(s)))


def test_listmle_without_equal_documents_is_the_likelihood_of_one_order():
    s = np.array([0.5, -1.0, 2.0, 0.1])
    assert value(PlackettLuce(), [3, 2, 1, 0], s) == pytest.approx(plackett_luce(s), rel=1e-13)


def test_plackett_luce_probabilities_of_all_orders_add_up_to_one():
    s = np.array([0.5, -1.0, 2.0, 0.1])
    total = sum(
        math.exp(-value(PlackettLuce(), [3, 2, 1, 0], s[list(p)])) for p in itertools.permutations(range(4))
    )
    assert total == pytest.approx(1.0, rel=1e-12)


def test_listmle_on_equal_documents_is_at_least_the_mean_over_their_orders():
    rng = np.random.default_rng(1)
    relevance = np.array([2.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    for scale in (0.0, 0.1, 1.0, 3.0):
        s = scale * rng.normal(size=6)
        orders = [
            plackett_luce(s[[0, *middle, *last]])
            for middle in itertools.permutations((1, 2, 3))
            for last in itertools.permutations((4, 5))
        ]
        assert value(PlackettLuce(), relevance, s) >= np.mean(orders) - 1e-12
        if scale == 0.0:  # equal scores: every order is as likely, and the expectation is exact
            assert value(PlackettLuce(), relevance, s) == pytest.approx(
                math.log(math.factorial(6)), rel=1e-13
            )


def test_listmle_does_not_depend_on_the_order_of_equal_documents():
    s = np.array([2.0, 0.3, -1.0, 0.7, 0.2])
    assert value(PlackettLuce(), [2, 1, 1, 1, 0], s) == pytest.approx(
        value(PlackettLuce(), [2, 1, 1, 1, 0], s[[0, 3, 1, 2, 4]]), rel=1e-14
    )


def test_rankcosine_of_parallel_opposite_and_orthogonal_scores():
    y = np.array([2.0, 1.0, 0.0])
    assert value(CosineDistance(), y, 5.0 * y) == pytest.approx(0.0, abs=1e-15)
    assert value(CosineDistance(), y, -y) == pytest.approx(1.0)
    assert value(CosineDistance(), y, [0.0, 0.0, 3.0]) == pytest.approx(0.5)
    assert value(CosineDistance("gain"), y, [6.0, 2.0, 0.0]) == pytest.approx(0.0, abs=1e-15)
    assert value(CosineDistance(), y, [1.0, 0.0, 1.0]) == pytest.approx(0.5 * (1 - 2 / math.sqrt(5 * 2)))


def test_rankcosine_at_zero_scores_is_one_half_and_points_to_the_truth():
    y = np.array([2.0, 1.0, 0.0])
    half, gradient = CosineDistance().on(queries_of(y), np.ones(1)).value_and_gradient(np.zeros(3))
    assert half == 0.5
    np.testing.assert_allclose(gradient, -y / 10.0, rtol=1e-14)


def test_softrank_of_three_documents_by_enumeration_of_the_duels():
    s, noise, y = np.array([0.4, 0.1, 0.3]), 0.2, np.array([2.0, 1.0, 0.0])
    expectation = 0.0
    for j, gain in enumerate((3.0, 1.0, 0.0)):
        others = [i for i in range(3) if i != j]
        beats = norm.cdf((s[others] - s[j]) / (math.sqrt(2) * noise))
        for won in itertools.product((0, 1), repeat=2):
            chance = np.prod([p if w else 1 - p for p, w in zip(beats, won, strict=True)])
            expectation += gain * chance / math.log2(2 + sum(won))
    ideal = 3.0 + 1.0 / math.log2(3)
    assert value(GaussianNoise(NDCG(), noise=noise), y, s) == pytest.approx(
        1 - expectation / ideal, rel=1e-12
    )


def test_softrank_tends_to_the_measure():
    """Documents that stand σ · 10 apart never change places."""
    y, s = np.array([2.0, 1.0, 0.0, 0.0]), np.array([0.1, 0.3, 0.2, 0.0])
    ndcg = (3 / math.log2(4) + 1) / (3 + 1 / math.log2(3))
    assert value(GaussianNoise(NDCG(), noise=0.005), y, s) == pytest.approx(1 - ndcg, abs=1e-12)


def test_softrank_of_hopeless_noise_is_a_random_order():
    """σ → ∞: each other document wins with probability 1/2, Taylor et al. 2008, section 3."""
    binomial = [math.comb(3, r) / 8 for r in range(4)]
    expectation = sum(p / math.log2(2 + r) for r, p in enumerate(binomial))
    assert value(GaussianNoise(NDCG(), noise=1e9), [1, 0, 0, 0], np.arange(4.0)) == pytest.approx(
        1 - expectation
    )


# --- gradients, traits, twins -----------------------------------------------------------------------------


@pytest.mark.parametrize("surrogate", SURROGATES, ids=NAMES)
def test_gradients_equal_differences(surrogate):
    rng = np.random.default_rng(2)
    for n in (2, 5, 12):
        queries = queries_of(random_relevance(rng, n), [2.0, 1.0, 0.0])
        oracles = surrogate.on(queries, np.array([0.7, 0.3]))
        s = rng.normal(size=n + 3)
        differences = slope(lambda x: oracles.value_and_gradient(x)[0], s)  # noqa: B023
        np.testing.assert_allclose(oracles.value_and_gradient(s)[1], differences, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 2e-4), (np.float64, 1e-11)])
def test_kernels_equal_their_twins(dtype, rtol):
    rng = np.random.default_rng(6)
    for n in (1, 2, 7, 40, 200):
        s = (2 * rng.normal(size=n)).astype(dtype)
        y = random_relevance(rng, n) if n > 1 else np.ones(1)
        indptr, weight = np.array([0, n]), np.array([1.0])
        target = softmax_of_segments(y, indptr)
        for kernel, twin, truth in (
            (cross_entropies, cross_entropy_naive, target),
            (likelihoods, likelihood_naive, y),
            (cosines, cosine_naive, y),
        ):
            gradient = np.zeros_like(s)
            total = kernel(s, truth, indptr, weight, gradient)
            expected_total, expected_gradient = twin(s.astype(float), truth)
            assert total == pytest.approx(expected_total, rel=rtol)
            np.testing.assert_allclose(gradient, expected_gradient, rtol=rtol, atol=rtol)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 2e-5), (np.float64, 1e-12)])
def test_the_recursion_equals_convolution(dtype, rtol):
    rng = np.random.default_rng(7)
    for n in (1, 2, 9, 60):
        s, gradient = rng.normal(size=n).astype(dtype), np.zeros(n, dtype)
        gain, worth = np.sort(rng.random(n) * (rng.random(n) < 0.5))[::-1], 1 / np.log2(2.0 + np.arange(n))
        for noise in (0.02, 0.5, 10.0):
            total = expectations(
                s, np.array([0, n]), np.array([(gain > 0).sum()]), gain, worth, noise, np.ones(1), gradient
            )
            expected = expectation_naive(s.astype(float), gain, worth, noise)
            assert 1.0 - total == pytest.approx(expected, rel=rtol)


# --- refusals ---------------------------------------------------------------------------------------------


def test_softrank_refuses_long_lists_by_name():
    queries = queries_of([1, 0], [1] + [0] * 30)
    with pytest.raises(
        DataError, match=r"query 1 has 31 documents, more than longest=30: .*SmoothedPositions"
    ):
        GaussianNoise(NDCG(), longest=30).on(queries, np.ones(2))
    GaussianNoise(NDCG(), longest=30).on(queries, np.array([1.0, 0.0]))  # a query left out may be long


def test_softrank_refuses_measures_that_do_not_add_up():
    with pytest.raises(TypeError, match="AP does not"):
        GaussianNoise(AP())
    with pytest.raises(ValueError, match="noise must be positive"):
        GaussianNoise(NDCG(), noise=0.0)


def test_unknown_supervision_is_refused():
    with pytest.raises(ValueError, match="'relevance', 'gain', not 'rank'"):
        CosineDistance("rank")
