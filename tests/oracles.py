"""Answers that are right because they are slow: definitions, enumeration, differences.

Nothing here knows the library. A `strict` measure takes relevance in ranked order.
"""

import itertools
import math
from collections import Counter

import numpy as np


def tie_orders(scores):
    """All rankings of documents by descending score, each tied block in every order."""
    blocks = [np.flatnonzero(scores == value) for value in np.unique(scores)[::-1]]
    for orders in itertools.product(*(itertools.permutations(block) for block in blocks)):
        yield [int(i) for order in orders for i in order]


def ranked_relevance(relevance, scores):
    """Relevance in the order of each ranking that is a tie order, and how many tie orders have it."""
    relevance = np.asarray(relevance, dtype=float)
    return Counter(tuple(relevance[order].tolist()) for order in tie_orders(scores))


def mean_over(strict, ranked):
    """The mean of a strict measure over rankings that were counted."""
    return math.fsum(times * strict(np.array(each)) for each, times in ranked.items()) / ranked.total()


def expected(strict, relevance, scores):
    """The mean of a strict measure over all tie orders."""
    return mean_over(strict, ranked_relevance(relevance, scores))


def precision(k, rel=1):
    return lambda ranked: sum(y >= rel for y in ranked[:k]) / k


def average_precision(k=None, rel=1, denominator="relevant"):
    def strict(ranked):
        hits, total = 0, 0.0
        for p, y in enumerate(ranked, start=1):
            if y >= rel:
                hits += 1
                total += hits / p if k is None or p <= k else 0.0
        return total / (min(hits, k) if denominator == "min" and k else hits) if hits else 0.0

    return strict


def reciprocal_rank(k=None, rel=1):
    def strict(ranked):
        first = next((p for p, y in enumerate(ranked, start=1) if y >= rel), math.inf)
        return 1.0 / first if first <= (k or math.inf) else 0.0

    return strict


def recall(k, rel=1):
    return lambda ranked: precision(k, rel)(ranked) * k / max(1, sum(y >= rel for y in ranked))


def success(k, rel=1):
    return lambda ranked: float(any(y >= rel for y in ranked[:k]))


def r_precision(rel=1):
    def strict(ranked):
        relevant = sum(y >= rel for y in ranked)
        return precision(relevant, rel)(ranked) if relevant else 0.0

    return strict


def rank_biased_precision(k=None, p=0.8, rel=1):
    return lambda ranked: (1 - p) * math.fsum(p**i for i, y in enumerate(ranked[:k]) if y >= rel)


def binary_preference(ranked):
    """With every document judged."""
    relevant, irrelevant = np.count_nonzero(ranked), np.count_nonzero(ranked == 0)
    above = np.cumsum(ranked == 0)[ranked > 0]
    if not relevant:
        return 0.0
    return math.fsum(1 - min(n, relevant) / max(1, min(irrelevant, relevant)) for n in above) / relevant


def inferred_average_precision(ranked):
    """With every document judged."""
    total, hits = 0.0, 0
    for place, y in enumerate(ranked):
        if y > 0:
            total += (1 + place * (hits + 1e-5) / (place + 2e-5)) / (place + 1)
            hits += 1
    return total / hits if hits else 0.0


def winner_takes_all(rel=1):
    return lambda ranked: float(ranked[0] >= (max(ranked) if rel == "max" else rel) and ranked[0] > 0)


def standard_discount(p):
    return 1.0 / math.log2(1.0 + p)


def letor_discount(p):
    return 1.0 if p <= 2 else 1.0 / math.log2(p)


def exponential_gain(y):
    return 2.0**y - 1.0


def linear_gain(y):
    return y


def dcg(k=None, gain=exponential_gain, discount=standard_discount):
    return lambda ranked: math.fsum(gain(y) * discount(p) for p, y in enumerate(ranked[:k], start=1))


def normalised(strict):
    """A strict measure divided by its value for the best ranking; 0 where that is 0."""

    def value(ranked):
        ideal = strict(np.sort(ranked)[::-1])
        return strict(ranked) / ideal if ideal > 0 else 0.0

    return value


def ndcg(k=None, gain=exponential_gain, discount=standard_discount):
    return normalised(dcg(k, gain, discount))


def mean_ndcg(gain=exponential_gain, discount=standard_discount):
    return lambda ranked: np.mean([ndcg(k, gain, discount)(ranked) for k in range(1, len(ranked) + 1)])


def expected_reciprocal_rank(k=None, largest=4):
    def strict(ranked):
        total, looking = 0.0, 1.0
        for p, y in enumerate(ranked[:k], start=1):
            stop = (2.0**y - 1.0) / 2.0**largest
            total += looking * stop / p
            looking *= 1.0 - stop
        return total

    return strict


def right_pairs(ranked):
    """The share of pairs of different relevance that are in the right order; 0 without such pairs."""
    pairs = [(a, b) for a, b in itertools.combinations(ranked, 2) if a != b]
    return sum(a > b for a, b in pairs) / len(pairs) if pairs else 0.0


def right_order(ranked):
    """Whether relevance descends; 0 where it cannot do otherwise."""
    return float(all(a >= b for a, b in itertools.pairwise(ranked)) and len(set(ranked)) > 1)


def slope(function, x, step=1e-3):
    """Fourth-order differences of a scalar function of a vector."""
    x = np.asarray(x, dtype=float)
    gradient = np.empty_like(x)
    for i in range(len(x)):
        e = np.zeros_like(x)
        e[i] = step
        gradient[i] = (
            8 * (function(x + e) - function(x - e)) - (function(x + 2 * e) - function(x - 2 * e))
        ) / (12 * step)
    return gradient
