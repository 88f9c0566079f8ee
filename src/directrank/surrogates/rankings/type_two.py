"""Type-two bounds: a margin between perfect and imperfect rankings, rescaled by the loss."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from directrank.contracts import Curvature, CutKernel, Measure, MostViolated, Surrogate, ValueAndGradient
from directrank.data.queries import Queries
from directrank.errors import check_choice
from directrank.measures.capabilities import PositionLinear, TwoClassMeasure
from directrank.measures.positions import perfect_positions
from directrank.surrogates.audit_row import AuditRow
from directrank.surrogates.margins import Exponential, Hinge, Indicator, Logistic, Margin
from directrank.surrogates.rankings.permutations import (
    FEATURE_MAPS,
    position_coefficients,
    two_classes_message,
)
from directrank.surrogates.rankings.two_class_search import ConvexCutPlugin, CutPlugin, most_violated_rankings

GRADES = ("binary", "all")


class TypeTwoBound(Surrogate):
    r"""The margin-rescaled hinge over all rankings: SVM^map's bound, for any sum over documents.

    .. math:: \max_{\pi} \; E(\pi^*, y) - E(\pi, y) - [F(\pi^*) - F(\pi)] \;\ge\; E(\pi^*, y) - E(\pi_s, y)

    where F is linear in the scores and largest for the ranking by score. Inside a class π* is ordered as π
    is.

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

    Raises
    ------
    TypeError
        If the measure is not a sum over documents.

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
    thousand pairs.

    References
    ----------
    .. [1] J. Xu, T.-Y. Liu, M. Lu, H. Li, W.-Y. Ma, "Directly optimizing evaluation measures in learning to
       rank", SIGIR 2008, Eqs. (8), (9).
    .. [2] Y. Yue, T. Finley, F. Radlinski, T. Joachims, "A support vector method for optimizing average
       precision", SIGIR 2007.
    """

    offers = frozenset({ValueAndGradient, Curvature, MostViolated, CutKernel})
    is_bound, is_convex, is_smooth = True, True, False

    def __init__(self, measure: Measure, *, feature_map: str = "cross", grades: str = "binary"):
        check_choice("feature_map", feature_map, FEATURE_MAPS)
        check_choice("grades", grades, GRADES)
        if grades == "binary" and not isinstance(measure, TwoClassMeasure):
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
        self.is_bound = not (grades == "binary" and measure.graded)
        if grades == "all":
            self.offers = self.offers - {CutKernel}

    def uninformative(self, queries: Queries) -> np.ndarray:
        """Return the queries with one value for all rankings, or with documents of one class only."""
        constant = self.measure.uninformative(queries)
        if self.grades == "all":
            return constant
        relevant = self.measure.n_read(queries)
        return constant | (relevant == 0) | (relevant == queries.sizes)

    def notes(self, queries: Queries) -> list[str]:
        """Return the message that more than two grades were taken as two classes."""
        return [] if self.grades == "all" else two_classes_message(self.measure, queries)

    @classmethod
    def audit_rows(cls, measure: Measure, queries: Queries, scores: np.ndarray) -> list[AuditRow]:
        """Return this bound and those of `FACTORS` on each query, with the map "cross"."""
        if not isinstance(measure, TwoClassMeasure):
            return []
        surrogate = cls(measure)
        bound = BoundTwoClasses(surrogate, queries, np.ones(queries.n_queries))
        losses, direction = bound.most_violated(scores)
        hinge = losses + np.add.reduceat(direction * scores, queries.indptr[:-1])
        kind = "type two" if surrogate.is_bound else "type two, of two classes"
        rows = [
            AuditRow("margin-rescaled hinge, Eq. (9)", kind, hinge, np.zeros_like(hinge), surrogate.is_bound)
        ]
        return rows + [
            AuditRow(name, kind, values, lack, surrogate.is_bound)
            for name, (values, lack) in bound.pair_bounds(scores).items()
        ]

    def work(self, queries: Queries) -> np.ndarray:
        """See `Surrogate`: an assignment; or the table of a programme where the curve is not convex."""
        if self.grades == "all":
            return 0.02 * queries.sizes**3.0
        relevant = self.measure.n_read(queries)
        curve = self.measure.relevant_terms(queries.sizes, relevant).curve
        last = int(np.flatnonzero(curve).max(initial=1))
        cells = np.minimum(relevant, last) * np.minimum(queries.sizes - relevant, last)
        return (0.0 if _is_convex(curve) else 3.5) * cells

    def bind(self, queries: Queries, weights: np.ndarray) -> "BoundTypeTwo":
        """Bind to some queries with a weight each."""
        kind = BoundTwoClasses if self.grades == "binary" else BoundGrades
        return kind(self, queries, weights)


class BoundTypeTwo(ABC):
    """What both kinds share: the weighted sum of the cuts."""

    def __init__(self, surrogate: TypeTwoBound, queries: Queries, weights: np.ndarray):
        self.surrogate, self.queries, self.weights = surrogate, queries, weights
        self.measure: Any = surrogate.measure

    @abstractmethod
    def most_violated(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the loss 1 − E of the most violated ranking of each query, and the direction of its cut."""

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum of the bound and a derivative with respect to each score."""
        losses, direction = self.most_violated(scores.astype(np.float64))
        gradient = direction * np.repeat(self.weights, self.queries.sizes)
        return float(self.weights @ losses + gradient @ scores), gradient.astype(scores.dtype)

    @abstractmethod
    def slope_ranges(self) -> np.ndarray:
        """Return how far the slope with respect to each score can change, float64 (n_docs,)."""

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        """Return the range of the slope with respect to each score, over one unit of score, (n_docs,)."""
        return (self.slope_ranges() * np.repeat(self.weights, self.queries.sizes)).astype(scores.dtype)

    @cached_property
    def out_of_reach(self) -> np.ndarray:
        """The loss 1 − E of the best ranking of each query, float64 (n_queries,)."""
        return 1.0 - self.measure.query_values(self.queries, perfect_positions(self.queries))


class BoundTwoClasses(BoundTypeTwo):
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
        inner = np.arange(self.queries.n_docs) - np.repeat(self.queries.indptr[:-1], sizes)
        is_relevant = inner < np.repeat(relevant, sizes)
        others = np.where(is_relevant, np.repeat(sizes - relevant, sizes), np.repeat(relevant, sizes))
        return np.repeat(self.plugin.constant, sizes) * others

    def cut_plugin(self) -> CutPlugin:
        """Return what `directrank.kernels.plugins.cut_of_query` reads."""
        return self.plugin

    def most_violated(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the loss of the most violated ranking of each query, and the direction of its cut."""
        losses, direction = np.empty(self.queries.n_queries), np.empty_like(scores)
        most_violated_rankings(self.plugin, scores, losses, direction)
        return losses, direction

    def pair_bounds(self, scores: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return the bounds of `FACTORS`, each as a value and an error of every query, float64 (n_queries,).

        A value is attained by a ranking and not below the loss of the ranking by score. The maximum over all
        rankings is larger by at most the error.
        """
        found = {name: np.zeros((2, self.queries.n_queries)) for name in FACTORS}
        for q in np.flatnonzero(self.plugin.n_relevant > 0):
            found_on_hull = hull(lambda rho, q=int(q): self._search(scores, q, rho))
            for name, factor in FACTORS.items():
                value, above = largest(*found_on_hull, factor)
                found[name][:, q] = value + self.out_of_reach[q], above - value
        return {name: (values[0], values[1]) for name, values in found.items()}

    def _search(self, scores: np.ndarray, q: int, rho: float) -> tuple[float, float]:
        """Return loss and margin of the ranking of query q that maximises ρΔ − x."""
        plugin, one = self.plugin, slice(q, q + 1)
        s = scores[plugin.indptr[q] : plugin.indptr[q + 1]]
        alone = plugin._replace(
            indptr=np.array([0, len(s)]),
            n_relevant=plugin.n_relevant[one],
            terms=rho * plugin.terms[:, one],
            constant=plugin.constant[one],
            out_of_reach=np.zeros(1),
        )
        loss, direction = np.empty(1), np.empty_like(s)
        most_violated_rankings(alone, s, loss, direction)
        return float(loss[0] / rho), _margin(-direction, s)


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


class BoundGrades(BoundTypeTwo):
    """The oracles for graded gains."""

    def slope_ranges(self) -> np.ndarray:
        """Return the range of A(p) in Eq. (2), which is 2/n, from the first position to the last."""
        return np.repeat(2.0 / self.queries.sizes, self.queries.sizes)

    def most_violated(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the loss of the most violated ranking of each query, and the direction of its cut."""
        gain, discounts = self.measure.linear_in_positions(self.queries)
        losses, direction = self.out_of_reach.copy(), np.zeros_like(scores)
        for q in np.flatnonzero(self.weights > 0):
            rows = slice(self.queries.indptr[q], self.queries.indptr[q + 1])
            loss, direction[rows] = most_violated_assignment(
                scores[rows], self.queries.relevance[rows], gain[rows], discounts
            )
            losses[q] += loss
        return losses, direction


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
    A, D = position_coefficients(n), discounts[:n]
    s = scores.astype(np.float64)
    rank = linear_sum_assignment(np.outer(s, A) - np.outer(gain, D), maximize=True)[1]
    loss = float(gain @ D - gain @ D[rank])
    _, alike = np.unique(np.stack((relevance, s)), axis=1, return_inverse=True)
    _, grade = np.unique(relevance, return_inverse=True)
    return loss, _means(A[rank], alike.ravel()) - _means(A, grade)


def _means(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    return (np.bincount(group, values) / np.bincount(group))[group]


#: φ, which multiplies the loss of a pair, by the name of the bound.
FACTORS: dict[str, Margin] = {
    "step, Eq. (6)": Indicator(),
    "exponential": Exponential(),
    "logistic": Logistic(2.0),
    "slack-rescaled hinge": Hinge(),
}
MOST_CORNERS = 2048
# An edge that could raise no bound by more than this share is not searched.
NEGLIGIBLE = 1e-6
HALVINGS = 50


def hull(search: Callable[[float], tuple[float, float]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Search the hull where a bound of `FACTORS` could be largest, wide edges first.

    Rankings are points (Δ, x) of loss and margin. Maximising ρΔ − x for every ρ ≥ 0 visits the corners of
    their hull, on which x is least for each Δ. Because φ falls, no ranking exceeds the largest φ(x) Δ on the
    hull; a corner is a ranking, so its value is attained.

    Parameters
    ----------
    search : callable
        From ρ to the loss and the margin of a ranking that maximises ρΔ − x.

    Returns
    -------
    corners : ndarray of shape (n_corners, 2)
        (Δ, x) of rankings.
    edges : ndarray of shape (n_edges, 2, 2)
        Pairs of corners, Δ and x ascending, under which no ranking lies beyond the edge.
    outer : ndarray of shape (n_left, 2)
        Larger in Δ and smaller in x than any ranking under an edge that was not searched.
    """
    corners, edges, outer = [search(1e-9), search(1e9)], [], []
    best = [max(_value(factor, *each) for each in corners) for factor in FACTORS.values()]
    waiting = deque([(corners[0], corners[1])])
    while waiting:
        a, b = waiting.popleft()
        if len(corners) >= MOST_CORNERS or not _matters(a, b, best):
            outer.append((b[0], a[1]))
            continue
        rho = max((b[1] - a[1]) / (b[0] - a[0]), 1e-9) if b[0] > a[0] else 0.0
        c = search(rho) if rho else a
        if rho * c[0] - c[1] <= rho * a[0] - a[1] + 1e-12 * (1.0 + abs(c[1])):
            edges.append((a, b))
            continue
        corners.append(c)
        best = [max(old, _value(each, *c)) for old, each in zip(best, FACTORS.values(), strict=True)]
        waiting += [(a, c), (c, b)]
    return np.array(corners), np.array(edges).reshape(-1, 2, 2), np.array(outer).reshape(-1, 2)


def _value(factor, loss: float, margin: float) -> float:
    return loss * float(factor.value(np.float64(margin)))


def _matters(a, b, best) -> bool:
    values = (_value(factor, b[0], a[1]) for factor in FACTORS.values())
    return any(value > (1.0 + NEGLIGIBLE) * old for value, old in zip(values, best, strict=True))


def largest(corners: np.ndarray, edges: np.ndarray, outer: np.ndarray, factor) -> tuple[float, float]:
    """Return the largest Δ φ(x) at a corner, and what no ranking exceeds (but for rounding, 1e-9)."""
    at_corners = float((corners[:, 0] * factor.value(corners[:, 1])).max())
    above = _most_on_edges(edges[:, 0], edges[:, 1], factor).max(initial=at_corners)
    return at_corners, float((outer[:, 0] * factor.value(outer[:, 1])).max(initial=above))


def _most_on_edges(a: np.ndarray, b: np.ndarray, factor) -> np.ndarray:
    """Return a bound on Δ φ(x) along each edge from a to b."""
    loss, margin = a.T
    more_loss, more_margin = np.maximum(b - a, 0.0).T
    if isinstance(factor, Indicator):
        crossing = np.divide(-margin, more_margin, out=np.ones_like(margin), where=more_margin > 0)
        return np.where(margin <= 0, loss + np.clip(crossing, 0.0, 1.0) * more_loss, 0.0)
    # Δ is linear and φ log-concave along an edge: the product rises, then falls. Halve until the top is
    # between low and high; there Δ is at most that at high, and φ at most that at low.
    low, high = np.zeros(len(a)), np.ones(len(a))
    for _ in range(HALVINGS):
        t = 0.5 * (low + high)
        x = margin + t * more_margin
        rises = more_loss * factor.value(x) + (loss + t * more_loss) * more_margin * factor.slope(x) > 0
        low, high = np.where(rises, t, low), np.where(rises, high, t)
    return (loss + high * more_loss) * factor.value(margin + low * more_margin)
