"""The fidelity loss on pairs of documents: what FRank minimises."""

from collections.abc import Callable
from functools import partial

import numpy as np

from directrank.contracts import Curvature, StepAlong, Surrogate, Value, ValueAndGradient
from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.measures.exchange import pair_table
from directrank.surrogates.pairs.runs import pair_counts, pair_weights
from directrank.surrogates.steps import StepwiseOracles, centred_scores, is_split

# Beyond this range of scores quotients of exponentials are no longer safe in float64.
QUOTIENT_RANGE = 600.0


class Fidelity(Surrogate):
    r"""The fidelity loss on pairs of documents of different relevance.

    Documents of grades 2, 1 and 0 with the scores 1, 2 and 0 have the value (.4814 + .145 + .0615) / 3:

    >>> loss, scores = Fidelity().on(one_query([2, 1, 0]), np.ones(1)), np.array([1.0, 2.0, 0.0])
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 4), gradient.round(4).tolist()
    (0.2293, [-0.1015, 0.0445, 0.057])

    .. math:: \sum_{i, j : y_i > y_j} d_{ij} \, (1 - (1 + e^{-(s_i - s_j)})^{-1/2})

    It is bounded, so that a pair far on the wrong side does not outweigh the others.

    Parameters
    ----------
    normalise : bool, default=True
        Divide the sum of each query by its number of pairs: :math:`d_{ij}` is then equal for all pairs of a
        query, and the queries are equal (the paper). Else it is equal for all pairs of the collection.
    line_search : bool, default=True
        Search for the step numerically. Without it the step is the paper's
        :math:`\frac12 \ln (W_+ / W_-)`, which minimises a bound and goes less than half the way.

    Traits
    ------
    bound: no. convex: no. smooth: yes. shift-invariant: yes.

    Notes
    -----
    One evaluation costs as many operations as there are pairs. The loss is concave in
    :math:`e^{-(s_i - s_j)}`, so along a direction f in {0, 1} it falls by at least
    :math:`N (1 - e^{-\alpha}) + D (1 - e^{\alpha})`, N and D being half the paper's sums of W. The slope of
    :math:`\varphi` is the curvature of a pair as well: :math:`|\varphi''(m)| \le -\varphi'(m)`.

    References
    ----------
    .. [1] M.-F. Tsai, T.-Y. Liu, T. Qin, H.-H. Chen, W.-Y. Ma, "FRank: a ranking method with fidelity loss",
       SIGIR 2007.
    """

    offers = frozenset({Value, ValueAndGradient, Curvature, StepAlong})
    is_bound, is_convex, is_smooth = False, False, True

    def __init__(self, *, normalise: bool = True, line_search: bool = True):
        self.normalise, self.line_search = normalise, line_search
        self.variant = "" if normalise else "not normalised"

    def work(self, queries: Queries) -> np.ndarray:
        """See `Surrogate`: every pair."""
        return pair_counts(queries)

    def on(self, queries: Queries, weights: np.ndarray) -> "_FidelityOracles":
        """Return the oracles on some queries, each with a weight."""
        return _FidelityOracles(self, queries, weights)


class _FidelityOracles(StepwiseOracles):
    """The oracles of `Fidelity` on some queries."""

    def __init__(self, surrogate: Fidelity, queries: Queries, weights: np.ndarray):
        self.queries = queries
        self.weights = pair_weights(queries, weights, surrogate.normalise)
        self.n_pairs = pair_counts(queries)[weights > 0].sum()
        self.line_search = surrogate.line_search

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        return self.derivatives(scores)[:2]

    def derivatives(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return value, gradient, and as curvature minus the summed slopes of the pairs of each document."""
        gradient, curvature = np.zeros((2, len(scores)))
        value = _sums_of_pairs(*self._pairs(scores), gradient, curvature)
        return value, gradient.astype(scores.dtype), curvature.astype(scores.dtype)

    def along(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return half of W₊ and W₋ along a direction in {0, 1}, and the number of pairs."""
        return np.array([*self._across(scores, direction)(0.0)[1:], self.n_pairs])

    def line(self, scores: np.ndarray, direction: np.ndarray) -> Callable[[float], float]:
        """Return a function from a step to the value, along {0, 1} of the pairs that this separates."""
        if not is_split(direction):
            return super().line(scores, direction)
        across = self._across(scores, direction)
        return lambda size: across(size)[0]

    def _across(self, scores: np.ndarray, direction: np.ndarray) -> Callable[[float], tuple]:
        """Return a function from a step to sums over the pairs that a direction in {0, 1} separates.

        They are the value, and half of W₊ and W₋. Losers of a pair lie together, as documents are ordered by
        the direction inside queries.
        """
        powers, safe, below, indptr, weights = self._pairs(scores)
        query, above = self.queries.query, direction == 1
        start, stop = indptr[query], indptr[query + 1]
        low = np.append(0, np.cumsum(~above))
        middle, first = start + low[stop] - low[start], start + low[below] - low[start]
        others, before = np.empty_like(powers), low[:-1] - low[start]
        others[np.where(above, middle + np.arange(len(powers)) - start - before, start + before)] = powers
        losers = np.where(above, (first, middle), (middle + below - first, stop))
        return partial(_sums_across, powers, others, above, losers, safe[query], weights[query])

    def _pairs(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return what the kernels read: exp of centred scores, or scores where quotients would overflow."""
        queries = self.queries
        centred, spread = centred_scores(scores, queries)
        safe = spread <= QUOTIENT_RANGE
        of_pair = np.repeat(safe, queries.sizes)
        powers = np.where(of_pair, np.exp(np.where(of_pair, centred, 0.0)), scores)
        return powers, safe, pair_table(queries).below, queries.indptr, self.weights


@kernel
def _pair_terms(x, other, safe):
    # Return the loss and half of W: minus its derivative with respect to the difference of scores.
    if safe:
        r = 1.0 / (x + other)
        share = np.sqrt(x * r)
        return 1.0 - share, 0.5 * other * r * share
    t = np.exp(-abs(x - other))
    share = np.sqrt((1.0 if x >= other else t) / (1.0 + t))
    return 1.0 - share, 0.5 * (t if x >= other else 1.0) / (1.0 + t) * share


@kernel
def _sums_across(powers, others, above, losers, safe, weights, size):
    up, down = np.exp(size), np.exp(-size)
    value, gained, lost = 0.0, 0.0, 0.0
    for i in range(len(powers)):
        first, stop = losers[0, i], losers[1, i]
        if first == stop:
            continue
        x = powers[i] * (up if above[i] else down) if safe[i] else powers[i] + (size if above[i] else -size)
        y, losses, slopes, is_safe = others[first:stop], 0.0, 0.0, safe[i]
        for j in range(len(y)):
            loss, slope = _pair_terms(x, y[j], is_safe)
            losses += loss
            slopes += slope
        value += weights[i] * losses
        gained += weights[i] * slopes if above[i] else 0.0
        lost += 0.0 if above[i] else weights[i] * slopes
    return value, gained, lost


@kernel
def _spread(x, others, safe, h, gradient, curvature):
    value, total = 0.0, 0.0
    for j in range(len(others)):
        loss, slope = _pair_terms(x, others[j], safe)
        gradient[j] += h * slope
        curvature[j] += h * slope
        value += loss
        total += slope
    return h * value, h * total


@kernel
def _sums_of_pairs(e, safe, lower, indptr, weights, gradient, curvature):
    value = 0.0
    for q in range(len(weights)):
        if weights[q] == 0.0:
            continue
        stop = indptr[q + 1]
        for i in range(indptr[q], stop):
            losers = slice(lower[i], stop)
            loss, pull = _spread(e[i], e[losers], safe[q], weights[q], gradient[losers], curvature[losers])
            value += loss
            gradient[i] -= pull
            curvature[i] += pull
    return value
