"""How much of an ensemble is which kind of functions, and how much of it a prior: by resampled queries.

An ensemble is the mean, over bootstrap draws of queries, of the ensemble of the best subset of kinds.
"""

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from directrank.contracts import Measure
from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries
from directrank.errors import DataError
from directrank.estimators.prior import correlations
from directrank.estimators.ranker import scaled_for
from directrank.features.sharing import once
from directrank.measures.evaluation import values_of
from directrank.scorers import Linear

#: Bootstrap draws of queries.
DRAWS = 400
#: With so many queries the prior has at most half of the weight, and with n of them HALF / (n + HALF).
HALF = 20
#: So many queries weigh as much in the choice of the prior's share as the share that is assumed before.
TRUSTED = 10
#: Shares of the prior's largest weight that are compared.
STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Means that differ by less are equal but for rounding.
EQUAL = 1e-12


def shares_of(
    sums: Sequence[np.ndarray], sizes: Sequence[int], measure: Measure, queries: Queries, seed: int
) -> np.ndarray:
    """Return the share of each kind of functions, float64 (n_kinds,); they add up to 1.

    It is the mean, over bootstrap draws of queries, of the share that the members of a kind have in the best
    subset of kinds: that whose sum of scores has the highest mean of the measure. `sums` are the sums of
    scores of the members of each kind, and `sizes` their numbers.
    """
    kinds = range(len(sums))
    subsets = [subset for size in range(1, len(sums) + 1) for subset in combinations(kinds, size)]
    rankings = [np.sum([sums[kind] for kind in subset], axis=0) for subset in subsets]
    inside = np.array([[kind in subset for kind in kinds] for subset in subsets]) * np.asarray(sizes)
    return _mean_of_best(rankings, measure, queries, seed) @ (inside / inside.sum(axis=1, keepdims=True))


def share_of_prior(
    scores: np.ndarray, prior: np.ndarray, measure: Measure, queries: Queries, seed: int
) -> float:
    """Return the weight of the prior, whose scores have the unit of the others, which have the rest.

    Its largest weight is ``HALF / (n + HALF)`` for n queries. The share of it that is taken is the mean of
    the best of `STEPS` over bootstrap draws of the queries, which weighs n², and 1, which weighs
    ``TRUSTED²``: few queries cannot tell that the prior is of no use.
    """
    n = queries.n_queries
    most = HALF / (n + HALF)
    mixtures = [(1.0 - step * most) * scores + step * most * prior for step in STEPS]
    best = float(_mean_of_best(mixtures, measure, queries, seed) @ STEPS)
    return most * (n**2 * best + TRUSTED**2) / (n**2 + TRUSTED**2)


def _mean_of_best(rankings: Sequence[np.ndarray], measure: Measure, queries: Queries, seed: int):
    """Return in which share of bootstrap draws each ranking is the best; equal ones divide a draw."""
    values = np.array([values_of([measure], queries, scores)[0] for scores in rankings])
    values = values[:, np.lexsort(values)]  # The order of the queries decides nothing.
    n = values.shape[1]
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1.0 / n), size=DRAWS)
    means = np.einsum("dq,rq->dr", counts, values) / n  # A product of matrices depends on the threads.
    best = means >= means.max(axis=1, keepdims=True) - EQUAL
    return (best / best.sum(axis=1, keepdims=True)).mean(axis=0)


def prior_scorer(names: str, groups: QueryGroups, weights: np.ndarray | None, n_threads: int) -> Any:
    """Return the prior: a sum of features in units of their mean deviation inside training queries.

    With ``"auto"`` the weight of a feature is its mean correlation with the grades inside the queries. Other
    `names` are features with weight 1, or −1 after a minus sign.
    """
    inputs = "auto", Linear(), groups, weights, None, n_threads, False
    key = "auto", Linear, groups, weights, None
    scaling, scaled, _ = once("scaled features", key, lambda: scaled_for(*inputs))
    deviations, queries = _deviations(scaled.features, groups.queries, weights), groups.queries
    of_rows = None if weights is None else np.repeat(weights, queries.sizes)
    automatic = names == "auto"
    wanted = correlations(scaled.source, queries.relevance, of_rows) if automatic else signs_of(names, groups)
    weight = np.divide(wanted, deviations, out=np.zeros_like(wanted), where=deviations > 0.0)
    return scaling.scorer(Linear(weight))


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


def _deviations(features: np.ndarray, queries: Queries, weights: np.ndarray | None) -> np.ndarray:
    """Return the mean over queries of the deviation of each feature, 0 where it is constant."""
    deviations = []
    for first, last in pairwise(queries.indptr.tolist()):
        deviation = features[first:last].std(axis=0, dtype=np.float64)
        deviation[np.ptp(features[first:last], axis=0) == 0.0] = 0.0
        deviations.append(deviation)
    return np.average(deviations, axis=0, weights=weights)
