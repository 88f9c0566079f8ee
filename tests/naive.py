"""Kernels by definition, in plain NumPy, on one query or row: what tests and benchmarks compare with."""

import math
from collections.abc import Sequence
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from directrank.data.queries import Queries
from directrank.features.statistics import ColumnStatistics
from directrank.measures.positions import Positions
from directrank.scorers import Trees
from directrank.scorers.trees import LEAF, TO_THE_LEFT, ZERO, ZERO_TOO
from directrank.solvers.stumps import N_BINS, TO_LEFT, TO_RIGHT, threshold_between
from directrank.surrogates.margins import CORNER, Huber, Logistic, Margin, SquaredHinge


def cosine_naive(s: np.ndarray, truth: np.ndarray) -> tuple[float, np.ndarray]:
    """Half of one minus the cosine of one query by definition."""
    lengths = np.linalg.norm(s) * np.linalg.norm(truth)
    cosine = s @ truth / lengths
    return float(0.5 * (1.0 - cosine)), -0.5 * (truth / lengths - cosine * s / (s @ s))


def likelihood_naive(s: np.ndarray, relevance: np.ndarray) -> tuple[float, np.ndarray]:
    """Minus the log likelihood of one query and its gradient by definition."""
    value, gradient, e = -float(s.sum()), -np.ones(len(s)), np.exp(s)
    for grade in np.unique(relevance):
        block, below = relevance == grade, relevance < grade
        for placed in np.arange(block.sum()) / block.sum():
            competing = e * (below + (1.0 - placed) * block)
            value += float(np.log(competing.sum()))
            gradient += competing / competing.sum()
    return value, gradient


def cross_entropy_naive(s: np.ndarray, target: np.ndarray) -> tuple[float, np.ndarray]:
    """Cross entropy of one query by definition."""
    p = np.exp(s - s.max())
    p /= p.sum()
    return -float(target @ np.log(p)), p - target


def values_naive(measure, queries, scores, direction, sizes) -> np.ndarray:
    """Values of queries after steps of some sizes, one evaluation each, (n_sizes, n_queries)."""
    moved = positions_naive(queries, scores + np.multiply.outer(sizes, direction))
    steps = zip(moved.above, moved.tied, strict=True)
    return np.stack([measure.query_values(queries, Positions(*each)) for each in steps])


def potentials_naive(s: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Z of one query and its potentials times Z by definition."""
    loss = np.exp(s[None, :] - s[:, None]) * (y[:, None] > y[None, :])
    return float(loss.sum()), loss.sum(axis=1) - loss.sum(axis=0)


def fidelity_naive(s: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """The loss of one query and minus its derivative by definition."""
    u = np.exp(s[None, :] - s[:, None])
    pair = y[:, None] > y[None, :]
    slope = np.where(pair, 0.5 * u / (1.0 + u) ** 1.5, 0.0)
    return float((1.0 - (1.0 + u[pair]) ** -0.5).sum()), slope.sum(axis=1) - slope.sum(axis=0)


def margin_curvature(margin: Margin, m: np.ndarray) -> np.ndarray:
    """φ'' of a margin, where it exists."""
    if isinstance(margin, Huber):
        return (np.abs(1.0 - m) < margin.width) / (2.0 * margin.width)
    if isinstance(margin, Logistic):
        return expit(m) * expit(-m)
    return 2.0 * (m < 1.0) if isinstance(margin, SquaredHinge) else np.zeros_like(m)


def margin_parabola(margin: Margin, m: np.ndarray) -> np.ndarray:
    """The curvature of the flattest parabola that touches φ and is nowhere below."""
    if isinstance(margin, Logistic):
        return margin_curvature(margin, m)
    if isinstance(margin, SquaredHinge):
        return np.full_like(m, 2.0)
    return 0.5 / np.maximum(getattr(margin, "width", CORNER), np.abs(1.0 - m))


def curvature_naive(s: np.ndarray, weights: np.ndarray, margin: Margin) -> np.ndarray:
    """The curvature of one query by definition."""
    curved = weights * margin_parabola(margin, s[:, None] - s[None, :])
    return curved.sum(axis=1) + curved.sum(axis=0)


def hessian_naive(s: np.ndarray, v: np.ndarray, weights: np.ndarray, margin: Margin) -> np.ndarray:
    """Second derivative times `v` by definition for one query."""
    change = weights * margin_curvature(margin, s[:, None] - s[None, :]) * (v[:, None] - v[None, :])
    return change.sum(axis=1) - change.sum(axis=0)


def pairs_naive(s: np.ndarray, weights: np.ndarray, margin: Margin) -> tuple[float, np.ndarray]:
    """Value and gradient by definition for one query, from an n × n table of weights."""
    difference = s[:, None] - s[None, :]
    slope = weights * margin.slope(difference)
    return float((weights * margin.value(difference)).sum()), slope.sum(axis=1) - slope.sum(axis=0)


def policy_naive(s: np.ndarray, value_of) -> tuple[float, np.ndarray]:
    """V and its gradient for one query by enumeration, for tests; `value_of` takes documents by rank."""
    value, gradient = 0.0, np.zeros(len(s))
    for ranking in permutations(range(len(s))):
        chance, slope, left = 1.0, np.zeros(len(s)), np.exp(s)
        for document in ranking:
            shares = left / left.sum()
            chance *= shares[document]
            slope -= shares
            slope[document] += 1.0
            left[document] = 0.0
        worth = value_of(ranking)
        value += chance * worth
        gradient += chance * worth * slope
    return value, gradient


def gained_and_lost_naive(F: np.ndarray, rates: np.ndarray, f: np.ndarray) -> tuple[float, float]:
    """N and D of one query by definition."""
    with np.errstate(over="ignore"):
        p = 1.0 / (1.0 + np.exp(F[:, None] - F[None, :]))
    terms = rates[:, None] * p * (1.0 - p)
    return float(terms[f[:, None] > f[None, :]].sum()), float(terms[f[:, None] < f[None, :]].sum())


def noise_curvature_naive(s: np.ndarray, gain: np.ndarray, curve: np.ndarray, noise: float) -> np.ndarray:
    """The curvature of one query by definition."""
    z, b = (s[:, None] - s[None, :]) / (2.0 * noise), curve[: len(s)]
    density = np.exp(-z * z) / (2.0 * noise * math.sqrt(math.pi))
    out = np.zeros(len(s))
    for j, a in enumerate(gain):
        others, cross = np.delete(np.arange(len(s)), j), 0.0
        for i in others:
            without = distribution_naive(np.delete(s, i), int(j - (i < j)), noise)
            bend = density[i, j] * math.exp(0.5 * z[i, j] ** 2 - 0.5) / noise
            out[[i, j]] += a * abs(without @ np.diff(b)) * bend
        for i, k in permutations(others, 2):
            without = distribution_naive(np.delete(s, [i, k]), int(j - (i < j) - (k < j)), noise)
            cross += density[i, j] * density[k, j] * (without @ np.diff(b, 2))
        out[j] += a * abs(cross)
    return out


def expectation_naive(s: np.ndarray, gain: np.ndarray, curve: np.ndarray, noise: float) -> float:
    """The expected measure of one query by definition."""
    return sum(a * (distribution_naive(s, j, noise) @ curve[: len(s)]) for j, a in enumerate(gain))


def distribution_naive(s: np.ndarray, j: int, noise: float) -> np.ndarray:
    """Distribution, (n,), of the number of documents that beat document j, by convolution."""
    p = np.ones(1)
    for beats in np.delete(norm.cdf((s - s[j]) / (math.sqrt(2.0) * noise)), j):
        p = np.convolve(p, [1.0 - beats, beats])
    return p


def position_curvature_naive(s: np.ndarray, alpha: float, slopes: np.ndarray) -> np.ndarray:
    """The curvature of one query by definition."""
    e = np.exp(-alpha * np.abs(s[:, None] - s[None, :]))
    return (np.abs(slopes[:, None] - slopes[None, :]) * alpha**2 * e / (1.0 + e) ** 2).sum(axis=1)


def backward_naive(s: np.ndarray, alpha: float, slopes: np.ndarray) -> np.ndarray:
    """Derivative of Σ slopes · π̂ with respect to the scores of one query by definition."""
    with np.errstate(over="ignore"):
        p = 1.0 / (1.0 + np.exp(-alpha * (s[None, :] - s[:, None])))
    q = alpha * p * (1.0 - p)
    return slopes @ q - slopes * q.sum(axis=1)


def soft_positions_naive(s: np.ndarray, alpha: float) -> np.ndarray:
    """Smooth positions of one query by definition."""
    with np.errstate(over="ignore"):
        return 0.5 + (1.0 / (1.0 + np.exp(-alpha * (s[None, :] - s[:, None])))).sum(axis=1)


def best_sequence_naive(p, q, u, v, c) -> tuple[float, np.ndarray]:
    """The largest Σ h_j(r_j) over all sequences, and one that attains it."""
    R, N = len(p), len(q)
    best, back = np.zeros(R + 1), []
    for j in range(1, N + 1):
        i = np.arange(1, R + 1)
        d = u * (v[i + j - 1] - v[i + j]) - c * (p - q[j - 1])
        h = np.append(np.cumsum(d[::-1])[::-1], 0.0)
        back.append([max(range(r + 1), key=lambda k, best=best: best[k]) for r in range(R + 1)])
        best = h + np.maximum.accumulate(best)
    ranks = [int(np.argmax(best))]
    for row in back[:0:-1]:
        ranks.append(row[ranks[-1]])
    return float(best.max()), np.array(ranks[::-1])


def bin_edges_naive(column: np.ndarray) -> np.ndarray:
    """Return the thresholds of one feature by definition."""
    known = np.sort(column[~np.isnan(column)])
    missing = 0 < len(known) < len(column)
    n_bins = N_BINS - missing
    starts = np.append(0, np.flatnonzero(known[1:] != known[:-1]) + 1)
    if len(starts) > n_bins:
        quantiles = np.arange(1, n_bins) * len(known) // n_bins
        starts = np.append(0, np.unique(starts[np.searchsorted(starts, quantiles)[quantiles <= starts[-1]]]))
    pairs = zip(known[starts[1:] - 1], known[starts[1:]], strict=True)
    edges = [threshold_between(low, high) for low, high in pairs]
    return np.array([*edges, known[-1]] if missing else edges, np.float32)


def best_split_naive(column: np.ndarray, weights: np.ndarray, criterion: str) -> float:
    """The largest merit of a threshold on one feature by definition."""
    merits, missing = [0.0], np.isnan(column)
    for t, fill in product(np.unique(column[~missing]), (TO_LEFT, TO_RIGHT)):
        above = np.where(missing, fill, column) > t
        sides = weights[above], weights[~above]
        if above.all() or not above.any():
            continue
        sizes = [np.abs(each).sum() for each in sides]
        if criterion == "eta":
            merits.append(max(each.sum() for each in sides))
        elif min(sizes) > 0:
            merits.append(sum(each.sum() ** 2 / a for each, a in zip(sides, sizes, strict=True)))
    return max(merits)


def positions_naive(queries: Queries, scores: np.ndarray) -> Positions:
    """Positions by definition; a row of each row of scores."""
    above, tied = np.zeros((2, *scores.shape), np.int32)
    for query in range(queries.n_queries):
        block = slice(queries.indptr[query], queries.indptr[query + 1])
        s = scores[..., block]
        above[..., block] = (s[..., None, :] > s[..., :, None]).sum(axis=-1)
        tied[..., block] = (s[..., None, :] == s[..., :, None]).sum(axis=-1)
    return Positions(above, tied)


def soft_stops_naive(p, stopping, norm, cutoff, beta) -> tuple[float, np.ndarray]:
    """Smooth value of one query and its slopes at the positions of its stopping documents."""
    before = 1.0 / (1.0 + np.exp(np.clip(beta * (p[:, None] - p[None, :]), -700, 700)))  # row before column
    np.fill_diagonal(before, 0.0)
    passes = 1.0 - stopping[:, None] * before
    inside = 1.0 / (1.0 + np.exp(np.clip(beta * (p - cutoff - 0.5), -700, 700)))
    weight = stopping * inside / p
    term = weight * passes.prod(axis=0)
    without = np.array([np.delete(passes, x, axis=0).prod(axis=0) for x in range(len(p))])  # x stops no user
    pull = beta * stopping[:, None] * before * (1.0 - before) * without * weight
    own = -term / p - beta * (1.0 - inside) * term
    return term.sum() / norm, (own - pull.sum(axis=0) + pull.sum(axis=1)) / norm


def transposed_product_naive(features: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Xᵀ g by definition."""
    return features.astype(np.float64).T @ gradient.astype(np.float64)


def contributions_naive(scores: Any, x: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The contributions to the score of x less that of another row by definition."""
    n, out = len(x), np.zeros(len(x))
    has = (np.arange(2**n)[:, None] >> np.arange(n) & 1) == 1
    values = scores(np.where(has, x, other))
    # So many orders of n features, of all n!, have those of a set before k and the others after it.
    share = np.array([1.0 / (n * math.comb(n - 1, size)) for size in range(n)])
    for k in range(n):
        without = np.flatnonzero(~has[:, k])
        out[k] = share[has[without].sum(axis=1)] @ (values[without + 2**k] - values[without])
    return out


def trees_naive(row: np.ndarray, trees: Trees) -> float:
    """The score of one row by definition."""
    total = 0.0
    for root in trees.root:
        node = root
        while trees.left[node] != LEAF:
            x, missing = row[trees.feature[node]], trees.missing[node]
            if np.isnan(x) or (missing & ZERO_TOO and abs(x) <= ZERO):
                to_the_left = bool(missing & TO_THE_LEFT)
            else:
                to_the_left = x <= trees.threshold[node]
            node = root + (trees.left[node] if to_the_left else trees.right[node])
        total += trees.value[node]
    return total


def add_trees_naive(row: np.ndarray, coefficients, trees: Sequence[Trees]) -> float:
    """The score of one row by definition."""
    total = 0.0
    for coefficient, tree in zip(coefficients, trees, strict=True):
        node = 0
        while tree.left[node] != LEAF:
            x, to_left = row[tree.feature[node]], tree.missing[node] & TO_THE_LEFT
            goes_left = to_left if np.isnan(x) else x <= tree.threshold[node]
            node = tree.left[node] if goes_left else tree.right[node]
        x, value = row[tree.feature[node]], tree.value[node]
        if tree.slope is not None:
            value += tree.slope[node] * (tree.fill[node] if np.isnan(x) else x)
        total += coefficient * value
    return total


def scaled_inside_queries_naive(features: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Features scaled to [0, 1] inside each query by definition."""
    out = np.zeros(features.shape)
    for a, b in pairwise(indptr):
        rows = features[a:b].astype(np.float64)
        for k, column in enumerate(rows.T):
            known = column[~np.isnan(column)]
            width = np.ptp(known) if len(known) else 0.0
            scaled = (column - known.min()) / width if width > 0 else 0.0
            out[a:b, k] = np.where(np.isnan(column), np.nan, scaled)
    return out.astype(np.float32)


def column_statistics_naive(X: np.ndarray, logarithm: np.ndarray) -> ColumnStatistics:
    """Moments and ranges of columns by definition, unweighted."""
    given = X.astype(np.float64)
    values = np.where(logarithm, np.sign(given) * np.log1p(np.abs(given)), given)
    return ColumnStatistics(values.mean(0), values.std(0), values.min(0), values.max(0))


def fill_query_minimum_naive(X: np.ndarray, indptr: np.ndarray) -> None:
    """Compute `fill_query_minimum` by definition."""
    for first, last in pairwise(indptr):
        for values in X[first:last].T:
            known = values[~np.isnan(values)]
            values[np.isnan(values)] = known.min() if len(known) else 0.0


def column_ranges_naive(X: np.ndarray, indptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which columns are constant over all rows, and within every query, by definition."""
    queries = [X[a:b] for a, b in pairwise(indptr)]
    return np.ptp(X, axis=0) == 0, np.all([np.ptp(rows, axis=0) == 0 for rows in queries], axis=0)
