"""Expected values over random tie-breaking: the closed forms against enumeration of every tie order.

METHODS of the field: D. Buffoni et al., ICML 2011, Definition 1; F. McSherry and M. Najork, ECIR 2008.
"""

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings

import oracles
from directrank import evaluate
from directrank.data.grouping import group_rows
from directrank.kernels.plugins import WIDTH
from directrank.measures import MEASURES, mean_values, parse_measure
from directrank.surrogates import SwapWeighted
from directrank.surrogates.exchange import lambda_weighted
from directrank.surrogates.pairs.quotients import logistic_gradient
from strategies import cases, random_case

LINEAR = {"gain": oracles.linear_gain}
LETOR = {"discount": oracles.letor_discount}


def one_subtopic(k, divisor):
    """The sum over relevant documents of half as much for each one before, by the divisor of the rank."""

    def strict(ranked):
        places = [p for p, y in enumerate(ranked[:k], start=1) if y >= 1]
        return sum(0.5**before / divisor(p) for before, p in enumerate(places))

    return strict


#: Every measure with parameters that matter, beside its definition on a strict ranking.
DEFINITIONS = {
    "AP": oracles.average_precision(),
    "AP@1": oracles.average_precision(1),
    "AP@3": oracles.average_precision(3),
    "AP@40": oracles.average_precision(40),
    "AP(rel=2)": oracles.average_precision(rel=2),
    "AP(rel=3)@2": oracles.average_precision(2, rel=3),
    "AP(denominator='min')@3": oracles.average_precision(3, denominator="min"),
    "P@1": oracles.precision(1),
    "P@3": oracles.precision(3),
    "P(rel=2)@5": oracles.precision(5, rel=2),
    "P@9": oracles.precision(9),
    "RR": oracles.reciprocal_rank(),
    "RR@2": oracles.reciprocal_rank(2),
    "RR(rel=2)@4": oracles.reciprocal_rank(4, rel=2),
    "R@1": oracles.recall(1),
    "R(rel=2)@3": oracles.recall(3, rel=2),
    "R@9": oracles.recall(9),
    "Success@1": oracles.success(1),
    "Success(rel=2)@3": oracles.success(3, rel=2),
    "Success@9": oracles.success(9),
    "Rprec": oracles.r_precision(),
    "Rprec(rel=2)": oracles.r_precision(2),
    "RBP": oracles.rank_biased_precision(),
    "RBP(rel=2,p=0.95)@3": oracles.rank_biased_precision(3, 0.95, 2),
    "WTA": oracles.winner_takes_all(),
    "WTA(rel=2)": oracles.winner_takes_all(2),
    "WTA(rel='max')": oracles.winner_takes_all("max"),
    "DCG": oracles.dcg(),
    "DCG@3": oracles.dcg(3),
    "nDCG": oracles.ndcg(),
    "nDCG@1": oracles.ndcg(1),
    "nDCG@3": oracles.ndcg(3),
    "nDCG@10": oracles.ndcg(10),
    "nDCG(dcg='log2')@4": oracles.ndcg(4, **LINEAR),
    "nDCG(dcg='exp-letor')@3": oracles.ndcg(3, **LETOR),
    "nDCG(dcg='letor')": oracles.ndcg(**LINEAR, **LETOR),
    "MeanNDCG": oracles.mean_ndcg(),
    "MeanNDCG(dcg='exp-letor')": oracles.mean_ndcg(**LETOR),
    "ERR(max=4)": oracles.expected_reciprocal_rank(),
    "ERR(max=4)@2": oracles.expected_reciprocal_rank(2),
    "ERR(max=5)@20": oracles.expected_reciprocal_rank(20, largest=5),
    "nERR(max=4)": oracles.normalised(oracles.expected_reciprocal_rank()),
    "nERR(max=4)@2": oracles.normalised(oracles.expected_reciprocal_rank(2)),
    "Bpref": oracles.binary_preference,
    "infAP": oracles.inferred_average_precision,
    "Judged@3": lambda ranked: 1.0,
    "RBPResidual": lambda ranked: 0.8 ** len(ranked),
    # Of runs that hold every document.
    "SetP": lambda ranked: np.mean(ranked >= 1),
    "SetR": lambda ranked: float(np.any(ranked >= 1)),
    "SetF(beta=2)": lambda ranked: 3 * sum(ranked >= 1) / (2 * sum(ranked >= 1) + len(ranked)),
    "SetAP(rel=2)": lambda ranked: np.mean(ranked >= 2),
    "NumRel": lambda ranked: float(sum(ranked >= 1)),
    "NumRet": len,
    # Of one subtopic.
    "alpha_nDCG@3": oracles.normalised(one_subtopic(3, lambda p: np.log2(1 + p))),
    "ERR_IA@2": lambda ranked: one_subtopic(2, float)(ranked) / 1.25,
    "StRecall@2": oracles.success(2),
    # Of real labels, here grades.
    "ClickDCG": oracles.dcg(**LINEAR),
    "ClickDCG@3": oracles.dcg(3, **LINEAR),
    "ClickP@2": lambda ranked: sum(ranked[:2]) / 2,
    "ClickRBP(p=0.5)": lambda ranked: sum(0.5 * y * 0.5**k for k, y in enumerate(ranked)),
    "WPD(complement=1)": oracles.right_pairs,
    "ZeroOne(complement=1)": oracles.right_order,
}


@functools.cache
def many():
    """Three hundred queries of up to six documents, and the rows of each."""
    case = random_case(np.random.default_rng(20), 300, 6, tie_levels=(1, 2, 3, 6))
    return case, np.split(np.arange(len(case.qid)), np.flatnonzero(np.diff(case.qid)) + 1)


@functools.cache
def rankings_of_many():
    case, rows = many()
    return [oracles.ranked_relevance(case.relevance[r], case.scores[r]) for r in rows]


@functools.cache
def by_definition(name):
    """The expected value of a measure of each of the queries."""
    return [oracles.mean_over(DEFINITIONS[name], ranked) for ranked in rankings_of_many()]


def test_every_measure_has_a_definition():
    defined = {parse_measure(name).bare_name for name in DEFINITIONS}
    without = {each.bare_name for each in MEASURES} - defined
    assert not without, f"DEFINITIONS of this file needs a definition of {without}"


@pytest.mark.share(4)
@pytest.mark.parametrize("name", DEFINITIONS)
def test_equals_enumeration(name):
    case, _ = many()
    expected = by_definition(name)
    values = evaluate(case.relevance, case.scores, case.qid, measures=name, per_query=True).per_query[name]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12 * max(1.0, np.max(expected)))


def test_equals_enumeration_in_float32():
    case, _ = many()
    queries, order = group_rows(case.relevance, case.qid)
    measures = [parse_measure(name) for name in DEFINITIONS]
    means = mean_values(measures, queries, case.scores[order].astype(np.float32))
    for name, measure, mean in zip(DEFINITIONS, measures, means, strict=True):
        expected = pytest.approx(np.mean(by_definition(name)), rel=1e-12)
        assert (1.0 - mean if measure.is_error else mean) == expected, name


@pytest.mark.filterwarnings("ignore:.*no document has a grade of:UserWarning")
@given(case=cases(max_queries=3, max_docs=5))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_equals_enumeration_on_the_awkward(case):
    result = evaluate(case.relevance, case.scores, case.qid, measures=list(DEFINITIONS), per_query=True)
    for q, qid in enumerate(result.qid):
        rows = case.qid == qid
        ranked = oracles.ranked_relevance(case.relevance[rows], case.scores[rows])
        for name, strict in DEFINITIONS.items():
            assert result.per_query[name][q] == pytest.approx(
                oracles.mean_over(strict, ranked), rel=1e-12, abs=1e-12
            ), name


@pytest.mark.parametrize("ties", ["worst", "best"])
@pytest.mark.parametrize("name", ["AP", "nDCG@3", "RR", "Rprec", "ERR(max=4)", "WPD(complement=1)", "WTA"])
def test_worst_and_best_are_the_extremes_over_tie_orders(name, ties):
    case, _ = many()
    extreme = {"worst": min, "best": max}[ties]
    expected = [
        extreme(DEFINITIONS[name](np.array(order)) for order in ranked) for ranked in rankings_of_many()
    ]
    result = evaluate(case.relevance, case.scores, case.qid, measures=name, ties=ties, per_query=True)
    np.testing.assert_allclose(result.per_query[name], expected, rtol=0, atol=1e-12)


def test_input_order_is_the_first_tie_order():
    case, rows = many()
    for name, strict in DEFINITIONS.items():
        first = [strict(case.relevance[r][np.argsort(-case.scores[r], kind="stable")]) for r in rows]
        result = evaluate(case.relevance, case.scores, case.qid, measures=name, ties="input", per_query=True)
        np.testing.assert_allclose(result.per_query[name], first, rtol=1e-12, atol=1e-12, err_msg=name)


def test_a_large_tied_block_neither_overflows_nor_cancels():
    # One relevant document among n that are all tied stands at each place equally often.
    n = 3000
    relevance = np.zeros(n)
    relevance[1234] = 1
    harmonic = sum(1.0 / p for p in range(1, n + 1))
    names = ["AP", "RR", "ERR(max=1)", "nERR(max=1)", "P@3", "WPD(complement=1)", "ZeroOne(complement=1)"]
    result = evaluate(relevance, np.zeros(n), np.zeros(n), measures=names)
    assert result["AP"] == pytest.approx(harmonic / n, rel=1e-12)
    assert result["RR"] == pytest.approx(harmonic / n, rel=1e-12)
    assert result["ERR(max=1)"] == pytest.approx(0.5 * harmonic / n, rel=1e-9)
    assert result["nERR(max=1)"] == pytest.approx(harmonic / n, rel=1e-9)
    assert result["P@3"] == pytest.approx(1 / n, rel=1e-12)
    assert result["WPD(complement=1)"] == 0.5
    assert result["ZeroOne(complement=1)"] == pytest.approx(1 / n, rel=1e-12)


def relevant(y):
    return float(y >= 1)


def until(k, discount):
    return lambda p: discount(p) if p <= k else 0.0


#: Gain, discount and divisor of measures that are sums over documents.
SUMS = {
    "nDCG": (oracles.exponential_gain, oracles.standard_discount, oracles.dcg()),
    "nDCG@1": (oracles.exponential_gain, until(1, oracles.standard_discount), oracles.dcg(1)),
    "nDCG@2": (oracles.exponential_gain, until(2, oracles.standard_discount), oracles.dcg(2)),
    "nDCG@5": (oracles.exponential_gain, until(5, oracles.standard_discount), oracles.dcg(5)),
    "nDCG(dcg='letor')@3": (
        oracles.linear_gain, until(3, oracles.letor_discount),
        oracles.dcg(3, oracles.linear_gain, oracles.letor_discount),
    ),
    "P@1": (relevant, until(1, lambda p: 1.0), lambda ranked: 1.0),
    "P@2": (relevant, until(2, lambda p: 1 / 2), lambda ranked: 1.0),
    "P@4": (relevant, until(4, lambda p: 1 / 4), lambda ranked: 1.0),
    "WTA": (relevant, until(1, lambda p: 1.0), lambda ranked: 1.0),
    "RBP(p=0.5)@4": (relevant, until(4, lambda p: 0.5**p), lambda ranked: 1.0),
}  # fmt: skip


def mean_over_orders(name, relevance, scores):
    """LambdaLoss's weight |g_i − g_j| |D(d) − D(d + 1)|, d = |π_i − π_j|, in the mean over tie orders."""
    gain, discount, divisor = SUMS[name]
    ideal, n = divisor(np.sort(relevance)[::-1]), len(scores)
    gains = np.array([gain(y) / ideal if ideal > 0 else 0.0 for y in relevance])
    loss = np.array([0.0, *(abs(discount(d) - discount(d + 1)) for d in range(1, n))])
    places = np.array([np.argsort(order) for order in oracles.tie_orders(scores)])
    mean = loss[np.abs(places[:, :, None] - places[:, None, :])].mean(axis=0)
    return np.maximum(gains[:, None] - gains, 0.0) * mean


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("name", SUMS)
def test_weights_of_lambdaloss_are_the_mean_over_tie_orders(name, near, dtype, monkeypatch):
    """Queries of up to six documents, whose weights are fixed at scores with many ties or none.

    `near` pairs of ranks are formed as in long lists.
    """
    if near:
        monkeypatch.setattr(lambda_weighted, "LONG", 0)
        monkeypatch.setattr(lambda_weighted, "SHARE_RANKED", 1)
    rng = np.random.default_rng(11)
    sizes = rng.integers(1, 7, 40)
    relevance = rng.integers(0, 4, sizes.sum()).astype(float)
    queries, order = group_rows(relevance, np.repeat(np.arange(len(sizes)), sizes))
    fixed = np.concatenate(
        [rng.integers(0, levels, n) for n, levels in zip(sizes, [1, 2, 3, 99] * 10, strict=True)]
    )
    fixed, scores = fixed[order].astype(dtype), rng.normal(size=len(order)).astype(dtype)
    weights = rng.random(len(sizes))
    oracles = SwapWeighted(parse_measure(name)).on(queries, weights)
    monkeypatch.setattr(lambda_weighted, "LONG", 2**60)  # No list is summed by its grades.
    oracles.reweigh(fixed)
    assert oracles.near.any() == near
    value, gradient = oracles.value_and_gradient(scores)
    total, slopes, curvature = 0.0, np.zeros(len(scores)), np.zeros(len(scores))
    for q, share in enumerate(weights):
        rows = slice(queries.indptr[q], queries.indptr[q + 1])
        s = scores[rows].astype(float)
        w = share * mean_over_orders(name, queries.relevance[rows], fixed[rows])
        wrong = 1 / (1 + np.exp(s[:, None] - s))
        total += np.sum(w * np.log1p(np.exp(s - s[:, None])))
        slopes[rows] = (w * wrong).sum(axis=0) - (w * wrong).sum(axis=1)
        curved = w * wrong * (1 - wrong)
        curvature[rows] = curved.sum(axis=0) + curved.sum(axis=1)
    rounding = 1e-12 if dtype is np.float64 else 1e-5
    assert value == pytest.approx(total, rel=rounding)
    np.testing.assert_allclose(gradient, slopes, atol=rounding)
    np.testing.assert_allclose(oracles.derivatives(scores)[2], curvature, atol=rounding)
    if dtype is np.float32:
        # Compiled passes pair the ranks of a query without ties, and the documents of others.
        plugin, found = oracles.gradient_plugin(), np.zeros(len(scores), dtype)
        scratch = np.zeros((4, plugin.longest + 2 * WIDTH), dtype), np.zeros(plugin.longest + 2 * WIDTH)
        value = 0.0
        for q, (first, last) in enumerate(itertools.pairwise(queries.indptr)):
            value += logistic_gradient(plugin, q, scores[first:last], scratch, found[first:last])
        assert value == pytest.approx(total, rel=rounding)
        np.testing.assert_allclose(found, slopes, atol=rounding)


def test_weights_of_lambdaloss_by_hand():
    """One relevant document is first, and three are tied behind it: each has the ranks 2, 3 and 4."""
    queries, _ = group_rows(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(4))
    scores = np.array([1.0, 0.0, 0.0, 0.0])
    # Three pairs of the mean of D(1) − D(2), D(2) − D(3), D(3) − D(4), which is (D(1) − D(4)) / 3.
    for name, weight in (("P@2", 1 / 2), ("nDCG@2", 1.0), ("nDCG", 1 - 1 / math.log2(5))):
        oracles = SwapWeighted(parse_measure(name)).on(queries, np.ones(1))
        oracles.reweigh(scores)
        value = oracles.value_and_gradient(scores)[0]
        assert value == pytest.approx(weight * math.log1p(math.exp(-1.0)), rel=1e-12), name
