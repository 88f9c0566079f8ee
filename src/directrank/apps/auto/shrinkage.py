"""How much of an ensemble is which kind of functions, and how much of it a prior: by held-out queries.

An ensemble is the mean over all subsets of kinds, weighted by their values on held-out queries.
"""

from collections.abc import Sequence
from itertools import combinations, pairwise
from math import fsum
from typing import Any

import numpy as np

from directrank.apps.auto.prior import correlations_of_shard, mean_of_shards
from directrank.contracts import Measure
from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries
from directrank.errors import DataError
from directrank.measures import values_of
from directrank.scorers import Linear
from directrank.scorers.scaling import Scaling, fit_scaling

#: How fast the weight of a subset of kinds falls with the values that it lacks on the judged queries, and
#: how fast that of a mixture with the prior does.
RATE, RATE_OF_PRIOR = 36.0, 18.0
#: The subset of all kinds weighs so many times as much as an equally good one.
ALL_KINDS = 50.0
#: A kind with a smaller share is left out, and one with that share of the first split is ruled out.
LEAST, HOPELESS = 0.01, 1e-4
#: With so many queries the prior has at most half of the weight, and with n of them HALF / (n + HALF).
HALF = 20
#: So many queries weigh as much in the choice of the prior's share as the share that is assumed before.
TRUSTED = 10
#: Shares of the prior's largest weight that are compared.
STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)


def shares_of(
    sums: Sequence[np.ndarray], sizes: Sequence[int], measure: Measure, queries: Queries, least: float = LEAST
) -> np.ndarray:
    """Return the share of each kind of functions, float64 (n_kinds,); they add up to 1.

    It is the mean of the shares that the members of a kind have in subsets of kinds, weighted by
    `weights_of` the sums of scores of the subsets, `ALL_KINDS` times for that of all; below `least` it is 0.
    `sums` are each kind's sums of its members' scores, and `sizes` their numbers.
    """
    kinds = range(len(sums))
    subsets = [subset for size in range(1, len(sums) + 1) for subset in combinations(kinds, size)]
    rankings = [np.sum([sums[kind] for kind in subset], axis=0) for subset in subsets]
    inside = np.array([[kind in subset for kind in kinds] for subset in subsets]) * np.asarray(sizes)
    weights = weights_of(rankings, measure, queries, RATE)
    weights[-1] *= ALL_KINDS
    shares = weights @ (inside / inside.sum(axis=1, keepdims=True))
    shares[shares < least * weights.sum()] = 0.0
    return shares / shares.sum()


def share_of_prior(scores: np.ndarray, prior: np.ndarray, measure: Measure, queries: Queries) -> float:
    """Return the weight of the prior, whose scores have the unit of the others, which have the rest.

    Its largest weight is ``HALF / (n + HALF)`` for n queries. The share of it that is taken is the mean of
    `STEPS`, weighted by `weights_of` their mixtures, which weighs n², and 1, which weighs ``TRUSTED²``: few
    queries cannot tell that the prior is of no use. If the others are better than the prior alone, by d
    summed over the queries, this is multiplied by exp(−n d / HALF).
    """
    n = queries.n_queries
    most = HALF / (n + HALF)
    mixtures = [(1.0 - step * most) * scores + step * most * prior for step in STEPS]
    best = float(weights_of(mixtures, measure, queries, RATE_OF_PRIOR) @ STEPS)
    better = max(_total(scores, measure, queries) - _total(prior, measure, queries), 0.0)
    return most * (n**2 * best + TRUSTED**2) / (n**2 + TRUSTED**2) * float(np.exp(-n * better / HALF))


def weights_of(rankings: Sequence[np.ndarray], measure: Measure, queries: Queries, rate: float) -> np.ndarray:
    """Return the weight of each ranking, proportional to exp(rate Σ_q v_q / √n); they add up to 1.

    v_q is the value of the measure on query q. Between rankings that differ by chance, Σ_q v_q / √n differs
    as much for any number n of queries.
    """
    totals = np.array([_total(scores, measure, queries) for scores in rankings])
    weights = np.exp(rate * (totals - totals.max()) / np.sqrt(queries.n_queries))
    return weights / weights.sum()


def _total(scores: np.ndarray, measure: Measure, queries: Queries) -> float:
    """Return the sum of the values of all queries, whose order does not change it."""
    return fsum(values_of([measure], queries, scores)[0].tolist())


def prior_scorer(names: str, groups: QueryGroups, weights: np.ndarray | None, n_threads: int) -> Any:
    """Return the prior: a sum of features in units of their mean deviation inside training queries.

    With ``"auto"`` the weight of a feature is its mean correlation with the grades inside the queries. Other
    `names` are features with weight 1, or −1 after a minus sign.
    """
    scaling, queries = fit_scaling("auto", groups, weights, n_threads), groups.queries
    of_queries = np.ones(queries.n_queries) if weights is None else weights
    rows = queries.relevance, np.repeat(of_queries, queries.sizes)
    shards = groups.source.over_shards(_of_shard, scaling, names == "auto", rows=rows, n_threads=n_threads)
    deviations = np.average(np.concatenate([spread for spread, _ in shards]), axis=0, weights=weights)
    wanted = mean_of_shards([sums for _, sums in shards]) if names == "auto" else signs_of(names, groups)
    weight = np.divide(wanted, deviations, out=np.zeros_like(wanted), where=deviations > 0.0)
    return scaling.scorer(Linear(weight))


def _of_shard(features, indptr, blocks, scaling: Scaling, automatic: bool, relevance, weights):
    """Return the deviation of each scaled feature in each query, 0 where it is constant, and correlations."""
    scaled = scaling.of_shard(features, indptr, blocks)
    deviations = []
    for first, last in pairwise(indptr.tolist()):
        deviation = scaled[first:last].std(axis=0, dtype=np.float64)
        deviation[np.ptp(scaled[first:last], axis=0) == 0.0] = 0.0
        deviations.append(deviation)
    sums = correlations_of_shard(scaled, indptr, blocks, relevance, weights) if automatic else None
    return deviations, sums


def signs_of(names: str, groups: QueryGroups) -> np.ndarray:
    """Return 1 for each feature that is named, −1 for one after a minus sign, and 0 for others."""
    feature_names = list(groups.feature_names or map(str, range(1, groups.n_features + 1)))
    signs = np.zeros(len(feature_names))
    for name in map(str.strip, names.split(",")):
        sign, bare = (1.0, name) if name in feature_names else (-1.0, name.removeprefix("-"))
        if bare not in feature_names:
            sentence = (
                f"{', '.join(feature_names[:5])}, …" if len(feature_names) > 5 else ", ".join(feature_names)
            )
            raise DataError(f"prior: there is no feature {bare!r}; there are {sentence}")
        signs[feature_names.index(bare)] = sign
    return signs
