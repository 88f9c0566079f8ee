"""All rankings of a short list, and what J. Xu et al., SIGIR 2008, define on them.

Nothing here knows the library. A ranking is written as the list of its documents in order.
"""

import itertools
import math

import numpy as np


def permutations(n):
    return [list(each) for each in itertools.permutations(range(n))]


def positions(ranking):
    out = np.empty(len(ranking))
    out[ranking] = np.arange(1, len(ranking) + 1)
    return out


def literal_map(ranking):
    """Eq. (2): the coefficient of each document's features."""
    n, pi = len(ranking), positions(ranking)
    coefficients = np.zeros(n)
    for k, m in itertools.combinations(range(n), 2):
        z = 1.0 if pi[k] < pi[m] else -1.0
        coefficients[k] += z / (n * (n - 1))
        coefficients[m] -= z / (n * (n - 1))
    return coefficients


def cross_level_map(ranking, y):
    """The same, over pairs of different relevance and divided by their number."""
    n, pi = len(ranking), positions(ranking)
    pairs = [(k, m) for k in range(n) for m in range(n) if y[k] > y[m]]
    coefficients = np.zeros(n)
    for k, m in pairs:
        z = 1.0 if pi[k] < pi[m] else -1.0
        coefficients[k] += z / len(pairs)
        coefficients[m] -= z / len(pairs)
    return coefficients


def random_query(rng, n, grades=2):
    """Relevance with two classes at least, and scores with ties now and then."""
    while True:
        y = rng.integers(0, grades, n).astype(float)
        if 0 < np.count_nonzero(y) < n:
            break
    s = rng.normal(size=n) if rng.random() < 0.6 else rng.integers(0, 3, n).astype(float)
    return y, s


def queries(count, grades=2, longest=5, seed=0):
    rng = np.random.default_rng(seed)
    return [random_query(rng, int(rng.integers(2, longest + 1)), grades) for _ in range(count)]


def split(measure, y):
    """Perfect and imperfect permutations with the value of each imperfect one."""
    perfect, imperfect = [], []
    for ranking in permutations(len(y)):
        value = measure(y[ranking])
        if value > 1 - 1e-12:
            perfect.append(ranking)
        else:
            imperfect.append((ranking, value))
    return perfect, imperfect


def margins_and_losses(measure, y, s, coefficients):
    """(E(π*) − E(π), F(π*) − F(π)) of every pair of a perfect and an imperfect permutation."""
    perfect, imperfect = split(measure, y)
    return [
        (1.0 - value, float((coefficients(best) - coefficients(ranking)) @ s))
        for best in perfect
        for ranking, value in imperfect
    ]


def type_two_bounds(pairs):
    return {
        "(6)": max(d * (x <= 0) for d, x in pairs),
        "exponential": max(d * math.exp(-x) for d, x in pairs),
        "logistic": max(d * math.log2(1 + math.exp(-x)) for d, x in pairs),
        "slack-rescaled hinge": max(d * max(1 - x, 0) for d, x in pairs),
        "margin-rescaled hinge (9)": max(0.0, max(d - x for d, x in pairs)),
        "sum of hinges (7)": sum(d * max(1 - x, 0) for d, x in pairs),
    }


def working_set_loss(measure, y, s, B, C, divide_by_C=False):
    """(11) for one query."""
    total = 0.0
    for best in B:
        for ranking in C:
            x = (literal_map(best) - literal_map(ranking)) @ s
            total += (1 - measure(y[ranking])) * max(1 - x, 0)
    return total / len(B) / (len(C) if divide_by_C else 1)
