"""Type-two bounds: a margin between perfect and imperfect rankings, rescaled by the loss."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
import scipy

from directrank.contracts import (
    Curvature,
    CutKernel,
    Measure,
    MostViolated,
    QueryValues,
    QueryWeights,
    Surrogate,
    Value,
    ValueAndGradient,
)
from directrank.data.queries import Queries
from directrank.errors import DataError, check_choice
from directrank.measures.capabilities import PositionLinear, TwoClassMeasure
from directrank.measures.exchange import values_at_ranks
from directrank.measures.families.definition import first_of
from directrank.measures.positions import perfect_positions, positions_of
from directrank.surrogates.margins import Exponential, Hinge, Indicator, Logistic, Margin, margin_of
from directrank.surrogates.oracles import AuditRow, means_of_alike, row_of_values
from directrank.surrogates.rankings.permutations import (
    FEATURE_MAPS,
    ViolatedRankings,
    two_classes_message,
)
from directrank.surrogates.rankings.two_class_search import ConvexCutPlugin, CutPlugin, most_violated_rankings

RESCALED = "margin-rescaled"
#: The longest list whose rankings are enumerated; it has 720 of them.
MAX_LENGTH = 6
# Values nearer to that of the best ranking are perfect, and planes nearer to the highest are as high.
PERFECT = 1e-12


class TypeTwoBound(Surrogate):
    r"""Bounds over all rankings: the margin-rescaled hinge of SVM^map, or a loss times a margin φ.

    Documents of grades 2, 1 and 0 with the scores 1, 0 and 2 have the value 1 − AP = 5/12 of their ranking,
    plus the mean of 2 (2 − 1) and 2 (2 − 0):

    >>> loss, scores = TypeTwoBound(AP()).on(one_query([2, 1, 0]), np.ones(1)), np.array([1.0, 0.0, 2.0])
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 4), gradient.round(4).tolist()
    (3.4167, [-1.0, -1.0, 2.0])

    .. math:: \max_{\pi} \; E(\pi^*, y) - E(\pi, y) - [F(\pi^*) - F(\pi)] \;\ge\; E(\pi^*, y) - E(\pi_s, y)

    where F is linear in the scores and largest for the ranking by score. Inside a class π* is ordered as π
    is. With a margin the bound is the maximum, or the sum, of
    :math:`[E(\pi^*, y) - E(\pi, y)] \, \varphi(F(\pi^*) - F(\pi))`.

    Parameters
    ----------
    measure : TwoClassMeasure
        With ``grades="all"``, one in [0, 1] that adds up over documents (nDCG, P, WTA).
    feature_map : {"cross", "pairs"}, default="cross"
        F as the mean over pairs of a relevant and an irrelevant document of ±(s_k − s_l); or Eq. (2), which
        divides by n (n − 1) instead and, for graded gains, has pairs of one grade too.
    grades : {"binary", "all"}, default="binary"
        Two classes: the documents whose positions the measure reads, and the others. Or the gains of all
        grades, which needs the map of Eq. (2) and O(n³) a query.
    margin : {"margin-rescaled", "exponential", "logistic", "hinge"}, default="margin-rescaled"
        φ; "hinge" is the slack-rescaled one.
    aggregate : {"max", "sum"}, default="max"
        The largest over the pairs of a perfect and an imperfect ranking; or Eq. (7), their sum, which needs a
        margin φ.

    Raises
    ------
    TypeError
        If the measure is not a sum over documents and the margin is rescaled.
    DataError
        If rankings have to be enumerated, as for the sum and for measures that are no sum over documents, and
        a list is longer than `MAX_LENGTH`.

    Traits
    ------
    bound: yes. convex: yes. smooth: no. shift-invariant in scores: yes.

    Notes
    -----
    Of a measure of grades taken as two classes it bounds the measure of those classes (``is_bound`` of the
    object is False then). Where the best ranking has a value below 1, the distance is added.

    The bound is a maximum of planes, so that it has no second derivative at its corners, and 0 elsewhere. The
    curvature is instead how far the slope with respect to a score can change, over one unit of score.

    O(n log n + R N) a query of R relevant and N irrelevant documents; O((R + N) log N) beyond some hundred
    thousand pairs. A margin φ takes some tens of such searches. Its value is that of a ranking, and the
    maximum can lie above it by the error that an audit prints.

    References
    ----------
    .. [1] J. Xu, T.-Y. Liu, M. Lu, H. Li, W.-Y. Ma, "Directly optimizing evaluation measures in learning to
       rank", SIGIR 2008, Eqs. (6) to (9).
    .. [2] Y. Yue, T. Finley, F. Radlinski, T. Joachims, "A support vector method for optimizing average
       precision", SIGIR 2007.
    """

    offers = frozenset({ValueAndGradient, Curvature, MostViolated, CutKernel})
    is_bound, is_convex, is_smooth = True, True, False

    def __init__(
        self, measure: Measure, *, feature_map="cross", grades="binary", margin=RESCALED, aggregate="max"
    ):
        check_choice("feature_map", feature_map, FEATURE_MAPS)
        check_choice("grades", grades, ("binary", "all"))
        check_choice("aggregate", aggregate, ("max", "sum"))
        self.margin = None if margin == RESCALED else margin_of(margin)
        if self.margin is None and aggregate == "sum":
            raise ValueError('aggregate="sum" needs a margin φ: "hinge" for Eq. (7)')
        if self.margin is not None and grades == "all":
            raise ValueError('grades="all" has the margin-rescaled hinge only')
        self.aggregate = aggregate
        self.enumerates = aggregate == "sum" or not isinstance(measure, TwoClassMeasure)
        if grades == "binary" and self.margin is None and self.enumerates:
            raise TypeError(
                f"TypeTwoBound needs a measure with relevant_terms; {measure.name} has none. "
                "AP, nDCG, RR, P, WTA and WPD have one; PermuRank takes any measure."
            )
        if grades == "all" and not (isinstance(measure, PositionLinear) and measure.bounded):
            raise TypeError(
                "grades='all' needs a measure in [0, 1] that adds up over documents; "
                f"{measure.name} is none. nDCG, P and WTA are."
            )
        if grades == "all" and feature_map != "pairs":
            raise ValueError("grades='all' needs feature_map='pairs': only there the search is exact")
        self.measure, self.feature_map, self.grades = measure, feature_map, grades
        self.takes_classes = grades == "binary" and not (self.margin and self.enumerates)
        self.is_bound = not (self.takes_classes and measure.graded)
        if self.margin is not None:
            self.offers = frozenset({Value, ValueAndGradient, MostViolated, QueryValues, QueryWeights})
            self.variant = self.margin.name + (", sum" if aggregate == "sum" else "")
        elif grades == "all":
            self.offers = self.offers - {CutKernel}

    def uninformative(self, queries: Queries) -> np.ndarray:
        """Return the queries with one value for all rankings, or with documents of one class only."""
        constant = self.measure.uninformative(queries)
        if not self.takes_classes:
            return constant
        relevant = self.measure.n_read(queries)
        return constant | (relevant == 0) | (relevant == queries.sizes)

    def notes(self, queries: Queries) -> list[str]:
        """Return the message that more than two grades were taken as two classes."""
        return two_classes_message(self.measure, queries) if self.takes_classes else []

    @classmethod
    def audit_rows(cls, measure: Measure, queries: Queries, scores: np.ndarray) -> list[AuditRow]:
        """Return this bound and those of `FACTORS` on each query, with the map "cross".

        If all lists are short, Eq. (7) is the last row.
        """
        rows = []
        if isinstance(measure, TwoClassMeasure):
            surrogate = cls(measure)
            oracles = _TwoClassOracles(surrogate, queries, np.ones(queries.n_queries))
            losses, direction = oracles.most_violated(scores)
            hinge = losses + np.add.reduceat(direction * scores, queries.indptr[:-1])
            kind = "type two" if surrogate.is_bound else "type two, of two classes"
            searched = {"margin-rescaled hinge, Eq. (9)": (hinge, np.zeros_like(hinge))}
            rows = [
                AuditRow(name, kind, values, lack, surrogate.is_bound)
                for name, (values, lack) in (searched | oracles.pair_bounds(scores)).items()
            ]
        if queries.longest <= MAX_LENGTH:
            summed = cls(measure, margin="hinge", aggregate="sum")
            name = "sum of slack-rescaled hinges, Eq. (7)"
            rows.append(replace(row_of_values(name, summed, queries, scores), kind="type two"))
        return rows

    def work(self, queries: Queries) -> np.ndarray:
        """See `Surrogate`: an assignment; or the table of a programme where the curve is not convex."""
        if self.grades == "all" or self.enumerates:
            return 0.02 * queries.sizes**3.0
        relevant = self.measure.n_read(queries)
        curve = self.measure.relevant_terms(queries.sizes, relevant).curve
        last = int(np.flatnonzero(curve).max(initial=1))
        cells = np.minimum(relevant, last) * np.minimum(queries.sizes - relevant, last)
        return (0.0 if _is_convex(curve) else 3.5) * cells

    def on(self, queries: Queries, weights: np.ndarray) -> "_TypeTwoOracles":
        """Return the oracles on some queries, each with a weight."""
        if self.margin is not None:
            kind = _EnumeratedOracles if self.enumerates else _SearchedOracles
        else:
            kind = _TwoClassOracles if self.grades == "binary" else _GradeOracles
        return kind(self, queries, weights)


class _TypeTwoOracles(ABC):
    """What both kinds share: the weighted sum of the cuts."""

    def __init__(self, surrogate: TypeTwoBound, queries: Queries, weights: np.ndarray):
        self.surrogate, self.queries, self.weights = surrogate, queries, weights
        self.measure: Any = surrogate.measure

    @abstractmethod
    def most_violated(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the loss 1 − E of the most violated ranking of each query, and the direction of its cut."""

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        losses, direction = self.most_violated(scores.astype(np.float64))
        gradient = direction * np.repeat(self.weights, self.queries.sizes)
        return float(self.weights @ losses + gradient @ scores), gradient.astype(scores.dtype)

    def slope_ranges(self) -> np.ndarray:
        """Return how far the slope with respect to each score can change, float64 (n_docs,)."""
        raise NotImplementedError

    def derivatives(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return value, gradient and, as curvature, the slope's range over one unit of each score."""
        ranges = self.slope_ranges() * np.repeat(self.weights, self.queries.sizes)
        return *self.value_and_gradient(scores), ranges.astype(scores.dtype)

    @cached_property
    def out_of_reach(self) -> np.ndarray:
        """The loss 1 − E of the best ranking of each query, float64 (n_queries,)."""
        return 1.0 - self.measure.query_values(self.queries, perfect_positions(self.queries))


class _TwoClassOracles(_TypeTwoOracles):
    """The oracles for two classes."""

    @cached_property
    def plugin(self) -> CutPlugin:
        """What the search reads."""
        queries, sizes = self.queries, self.queries.sizes
        relevant = self.measure.n_read(queries)
        terms = self.measure.relevant_terms(sizes, relevant)
        cross = self.surrogate.feature_map == "cross"
        pairs = relevant * (sizes - relevant) if cross else sizes * (sizes - 1)
        return (ConvexCutPlugin if _is_convex(terms.curve) else CutPlugin)(
            queries.indptr,
            len(terms.curve) - 1,
            np.where(self.weights > 0, relevant, 0),
            np.stack((terms.level, terms.growth, terms.first)),
            terms.curve,
            np.cumsum(terms.curve),
            2.0 / np.maximum(pairs, 1),
            self.out_of_reach,
        )

    def slope_ranges(self) -> np.ndarray:
        """Return the weight of all pairs of each document with the other class."""
        sizes, relevant = self.queries.sizes, self.plugin.n_relevant
        others = np.where(
            first_of(relevant, self.queries), np.repeat(sizes - relevant, sizes), np.repeat(relevant, sizes)
        )
        return np.repeat(self.plugin.constant, sizes) * others

    def cut_plugin(self) -> CutPlugin:
        return self.plugin

    def most_violated(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        losses, direction = np.empty(self.queries.n_queries), np.empty_like(scores)
        most_violated_rankings(self.plugin, scores, losses, direction)
        return losses, direction

    def pair_bounds(self, scores: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return the bounds of `FACTORS`, each as a value and an error of every query, float64 (n_queries,).

        A value is attained by a ranking and not below the loss of the ranking by score. The maximum over all
        rankings is larger by at most the error.
        """
        bounds = {name: (self.out_of_reach.copy(), np.zeros(self.queries.n_queries)) for name in FACTORS}
        for q in np.flatnonzero(self.plugin.n_relevant > 0):
            for name, (values, lack) in bounds.items():
                best, edge = best_corner(lambda rho, q=int(q): self.search(scores, q, rho), FACTORS[name])
                value = _value(FACTORS[name], *best[:2])
                values[q] += value
                lack[q] = max(most_on_edge(*edge, FACTORS[name]) - value, 0.0)
        return bounds

    def search(self, scores: np.ndarray, q: int, rho: float) -> tuple[float, float, np.ndarray]:
        """Return loss, margin and direction of the ranking of query q that maximises ρΔ − x."""
        plugin, query_slice = self.plugin, slice(q, q + 1)
        s = scores[plugin.indptr[q] : plugin.indptr[q + 1]]
        alone = plugin._replace(
            indptr=np.array([0, len(s)]),
            n_relevant=plugin.n_relevant[query_slice],
            terms=rho * plugin.terms[:, query_slice],
            constant=plugin.constant[query_slice],
            out_of_reach=np.zeros(1),
        )
        loss, direction = np.empty(1), np.empty_like(s)
        most_violated_rankings(alone, s, loss, direction)
        return float(loss[0] / rho), _margin(-direction, s), direction


def _margin(direction: np.ndarray, scores: np.ndarray) -> float:
    """Return the sum of direction times score, exactly 0 where it is 0 but for rounding.

    Rankings that differ only in the order of tied documents have the margin 0, and the bound of Eq. (6)
    counts margins up to 0. The direction sums to 0, so that a common offset of the scores can be subtracted.
    """
    centred = scores - scores.mean()
    terms = direction * centred
    error = np.abs(direction) @ (np.abs(scores) + np.abs(centred))
    margin = float(terms.sum())
    return 0.0 if abs(margin) <= len(terms) * np.finfo(np.float64).eps * error else margin


def _is_convex(curve: np.ndarray) -> bool:
    return bool((np.diff(curve[1:], 2) >= -1e-15).all())


class _GradeOracles(_TypeTwoOracles):
    """The oracles for graded gains."""

    def slope_ranges(self) -> np.ndarray:
        """Return the range of A(p) in Eq. (2), which is 2/n, from the first position to the last."""
        return np.repeat(2.0 / self.queries.sizes, self.queries.sizes)

    def most_violated(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gain, discounts = self.measure.linear_in_positions(self.queries)
        losses, direction = self.out_of_reach.copy(), np.zeros_like(scores)
        for q in np.flatnonzero(self.weights > 0):
            rows = slice(self.queries.indptr[q], self.queries.indptr[q + 1])
            loss, direction[rows] = most_violated_assignment(
                scores[rows], self.queries.relevance[rows], gain[rows], discounts
            )
            losses[q] += loss
        return losses, direction


class _MarginOracles(_TypeTwoOracles):
    """What bounds with a margin φ share: cuts that touch them, and weights of queries for boosting."""

    @abstractmethod
    def tangents(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the bound on each query, (n_queries,), its gradient, (n_docs,), and its steepness; float64.

        The steepness, (n_queries,), is −Δ φ'(x), added up over the pairs of rankings that the bound adds up.
        """

    def most_violated(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the offset and the direction of the plane that touches the bound of each query."""
        values, gradient, _ = self.tangents(scores)
        return values - np.add.reduceat(gradient * scores, self.queries.indptr[:-1]), gradient

    def value(self, scores: np.ndarray) -> float:
        return float(self.weights @ self.tangents(scores.astype(np.float64))[0])

    def query_values(self, scores: np.ndarray) -> np.ndarray:
        return self.measure.query_values(self.queries, positions_of(self.queries, scores))

    def query_weights(self, scores: np.ndarray) -> np.ndarray:
        """Return −Δ φ'(x) of each query's most violated rankings times its weight, float64 (n_queries,)."""
        return self.weights * self.tangents(scores.astype(np.float64))[2]


class _SearchedOracles(_MarginOracles, _TwoClassOracles):
    """The largest Δ φ(x) at a corner of the hull of two-class rankings."""

    def tangents(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        margin: Any = self.surrogate.margin
        indptr, n = self.queries.indptr, self.queries.n_queries
        values, steepness, gradient = self.out_of_reach.copy(), np.zeros(n), np.zeros_like(scores)
        for q in np.flatnonzero(self.plugin.n_relevant > 0):
            (loss, x, direction), _ = best_corner(lambda rho, q=int(q): self.search(scores, q, rho), margin)
            values[q] += _value(margin, loss, x)
            steepness[q] = -loss * float(margin.slope(np.array(x)))
            gradient[indptr[q] : indptr[q + 1]] = steepness[q] * direction
        return values, gradient, steepness


class _EnumeratedOracles(_MarginOracles):
    """The largest Δ φ(x), or the sum, over all pairs of rankings of short lists.

    F under the map "cross" is the mean over pairs of different relevance.
    """

    def __init__(self, surrogate: TypeTwoBound, queries: Queries, weights: np.ndarray):
        super().__init__(surrogate, queries, weights)
        long = np.flatnonzero((weights > 0) & (queries.sizes > MAX_LENGTH))
        if len(long):
            raise DataError(
                f"query {queries.qid[long[0]]} has {queries.sizes[long[0]]} documents: {surrogate.name} "
                f"enumerates all rankings, of lists of at most {MAX_LENGTH}; use PermuRank's working sets"
            )
        trained = np.flatnonzero(weights > 0).tolist()
        self.pairs = {q: self._pairs(queries.part(q, q + 1)) for q in trained}

    def _pairs(self, query: Queries) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return F of the perfect and of the imperfect rankings as coefficients, and the latter's losses."""
        rankings = np.array(list(permutations(range(query.n_docs))))
        values = values_at_ranks(self.measure, query, np.argsort(rankings, axis=1))
        maps = ViolatedRankings(query, query.relevance, np.ones(1, bool), self.surrogate.feature_map, None)
        F = np.array([maps.coefficients(ranking) for ranking in rankings])
        perfect = values >= values.max() - PERFECT
        return F[perfect], F[~perfect], values.max() - values[~perfect]

    def tangents(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        margin: Any = self.surrogate.margin
        indptr, n = self.queries.indptr, self.queries.n_queries
        values, steepness, gradient = self.out_of_reach.copy(), np.zeros(n), np.zeros_like(scores)
        for q, (perfect, imperfect, losses) in self.pairs.items():
            rows = slice(indptr[q], indptr[q + 1])
            x = (perfect @ scores[rows])[:, None] - imperfect @ scores[rows]
            bounds, slopes = losses * margin.value(x), -losses * margin.slope(x)
            if self.surrogate.aggregate == "max":
                highest = bounds >= bounds.max() * (
                    1.0 - PERFECT
                )  # all of them, so that tied documents are alike
                values[q] += bounds.max()
                slopes *= highest / highest.sum()
            else:
                values[q] += bounds.sum()
            steepness[q] = slopes.sum()
            gradient[rows] = slopes.sum(axis=0) @ imperfect - slopes.sum(axis=1) @ perfect
        return values, gradient, steepness


def most_violated_assignment(
    scores: np.ndarray, relevance: np.ndarray, gain: np.ndarray, discounts: np.ndarray
) -> tuple[float, np.ndarray]:
    r"""Return loss and direction in scores of the most violated ranking of one query.

    Maximises :math:`\sum_j A(\pi_j) s_j - g_j D(\pi_j)`, a linear assignment problem of O(n³). The
    reference is the mean over rankings that descend in relevance, inside each grade in any order.

    Parameters
    ----------
    scores, relevance, gain : ndarray of shape (n_docs,)
        By descending relevance.
    discounts : ndarray of shape (longest,)
        D of the positions from 1 on.

    References
    ----------
    .. [1] Q. Le, A. Smola, "Direct optimization of ranking measures", 2007.
    """
    n = len(scores)
    # A(p) = (n + 1 − 2p) / (n (n − 1)) of positions 1 to n: Eq. (2) as a sum over documents.
    A, D = (n + 1 - 2.0 * np.arange(1, n + 1)) / (n * max(n - 1, 1)), discounts[:n]
    s = scores.astype(np.float64)
    rank = scipy.optimize.linear_sum_assignment(np.outer(s, A) - np.outer(gain, D), maximize=True)[1]
    loss = float(gain @ D - gain @ D[rank])
    _, alike = np.unique(np.stack((relevance, s)), axis=1, return_inverse=True)
    _, grade = np.unique(relevance, return_inverse=True)
    return loss, means_of_alike(A[rank], alike.ravel()) - means_of_alike(A, grade)


#: φ, which multiplies the loss of a pair, by the name of the bound.
FACTORS: dict[str, Margin] = {
    "step, Eq. (6)": Indicator(),
    "exponential": Exponential(),
    "logistic": Logistic(2.0),
    "slack-rescaled hinge": Hinge(),
}
# What could raise a bound by a smaller share than this is not searched.
NEGLIGIBLE = 1e-6
HALVINGS = 50


def best_corner(search: Callable[[float], tuple], factor: Margin) -> tuple[tuple, tuple[tuple, tuple]]:
    """Return the ranking with the largest Δ φ(x) at a corner of the hull, and an edge.

    No ranking exceeds it and what `most_on_edge` finds on the edge, which may be short by rounding, 1e-9.

    Rankings are points (Δ, x) of loss and margin. Maximising ρΔ − x for every ρ ≥ 0 visits the corners of
    their hull, on which x is least for each Δ, and φ falls. No ranking lies below the line through a corner
    on which ρΔ − x is that of the corner. The logarithm of Δ φ(x) is concave along it: the maximum is where
    it rises.

    Parameters
    ----------
    search : callable
        From ρ to a ranking that maximises ρΔ − x: its loss, its margin, and anything else.
    factor : Margin
        φ, log-concave.
    """
    low, high = search(1e-9), search(1e9)
    best = max(low, high, key=lambda corner: _value(factor, *corner[:2]))
    while _value(factor, high[0], low[1]) > (1.0 + NEGLIGIBLE) * _value(factor, *best[:2]):
        rho = (high[1] - low[1]) / max(high[0] - low[0], 1e-12)
        c = search(max(rho, 1e-9))
        if rho * c[0] - c[1] <= rho * low[0] - low[1] + 1e-12 * (1.0 + abs(c[1])):
            return best, (low, high)
        best = max(best, c, key=lambda corner: _value(factor, *corner[:2]))
        margin = np.array(c[1])
        if factor.value(margin) + c[0] * rho * factor.slope(margin) > 0:
            low = c
        else:
            high = c
    return best, ((high[0], low[1]), (high[0], low[1]))


def _value(factor, loss: float, margin: float) -> float:
    return loss * float(factor.value(np.float64(margin)))


def most_on_edge(a: tuple, b: tuple, factor: Margin) -> float:
    """Return a bound on Δ φ(x) from the point a to b, both of larger Δ and larger x."""
    more_loss, more_margin = max(b[0] - a[0], 0.0), max(b[1] - a[1], 0.0)
    # Δ is linear and φ log-concave: the product rises, then falls. Halve until the top is between low and
    # high; there Δ is at most that at high, and φ at most that at low.
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        t = 0.5 * (low + high)
        x = np.array(a[1] + t * more_margin)
        rises = more_loss * factor.value(x) + (a[0] + t * more_loss) * more_margin * factor.slope(x) > 0
        low, high = (t, high) if rises else (low, t)
    return _value(factor, a[0] + high * more_loss, a[1] + low * more_margin)
