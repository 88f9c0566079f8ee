"""Type-two bounds: a margin between perfect and imperfect rankings, rescaled by the loss."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.measures.capabilities import GradedGainMeasure, TwoClassMeasure
from directrank.measures.positions import perfect_positions
from directrank.surrogates.audit_row import AuditRow
from directrank.surrogates.rankings.assignment import most_violated_assignment
from directrank.surrogates.rankings.rescaled import FACTORS, hull, largest
from directrank.surrogates.rankings.two_class_search import PassingForm, most_violated_passings

MAPS = ("cross", "pairs")
GRADES = ("binary", "all")


class TypeTwoBound:
    r"""The margin-rescaled hinge over all rankings, SVM^map's bound on any measure with the oracle.

    .. math:: \max_{\pi} \; E(\pi^*, y) - E(\pi, y) - [F(\pi^*) - F(\pi)] \;\ge\; E(\pi^*, y) - E(\pi_s, y)

    where F is linear in the scores and largest for the ranking by score. Inside a class π* is ordered as π
    is.

    Parameters
    ----------
    measure : TwoClassMeasure
        With ``grades="all"``, one whose value is a sum of gains at positions (nDCG, DCG).
    feature_map : {"cross", "pairs"}, default="cross"
        F as the mean over pairs of a relevant and an irrelevant document of ±(s_k − s_l); or Eq. (2), which
        divides by n (n − 1) instead and, for graded gains, has pairs of one grade too.
    grades : {"binary", "all"}, default="binary"
        Two classes: the documents whose positions the measure reads, and the others. Or the gains of all
        grades, which needs the map of Eq. (2) and O(n³) a query.

    Raises
    ------
    TypeError
        If the measure is no sum over documents.

    Traits
    ------
    bound: yes. convex: yes. smooth: no. shift-invariant in scores: yes.

    Notes
    -----
    Of a measure of grades taken as two classes it bounds the measure of those classes (``is_bound`` of the
    object is False then). Where the best ranking has a value below 1, the distance is added.

    O(n log n + R N) a query of R relevant and N irrelevant documents; O((R + N) log N) beyond some hundred
    thousand pairs.

    References
    ----------
    .. [1] J. Xu, T.-Y. Liu, M. Lu, H. Li, W.-Y. Ma, "Directly optimizing evaluation measures in learning to
       rank", SIGIR 2008, Eqs. (8), (9).
    .. [2] Y. Yue, T. Finley, F. Radlinski, T. Joachims, "A support vector method for optimizing average
       precision", SIGIR 2007.
    """

    offers = frozenset({"value_and_gradient", "most_violated", "cut_form"})
    is_bound, is_convex, is_smooth = True, True, False

    def __init__(self, measure: Measure, *, feature_map: str = "cross", grades: str = "binary"):
        if feature_map not in MAPS or grades not in GRADES:
            raise ValueError(
                f"feature_map must be one of {', '.join(MAPS)} and grades one of {', '.join(GRADES)}, "
                f"not {feature_map!r} and {grades!r}"
            )
        if grades == "binary" and not isinstance(measure, TwoClassMeasure):
            raise TypeError(
                f"TypeTwoBound needs a measure with relevant_terms; {measure.name} has none. "
                "AP, nDCG, RR, P, WTA and WPD have one; PermuRank takes any measure."
            )
        if grades == "all" and not isinstance(measure, GradedGainMeasure):
            raise TypeError(
                f"grades='all' needs a measure with graded_terms; {measure.name} has none. nDCG has one."
            )
        if grades == "all" and feature_map != "pairs":
            raise ValueError("grades='all' needs feature_map='pairs': only there the oracle is exact")
        self.measure, self.feature_map, self.grades = measure, feature_map, grades
        self.is_bound = not (grades == "binary" and measure.graded)
        if grades == "all":
            self.offers = TypeTwoBound.offers - {"cut_form"}

    @property
    def name(self) -> str:
        """The surrogate with its measure."""
        return f"TypeTwoBound({self.measure.name})"

    def constant(self, queries: Queries) -> np.ndarray:
        """Queries on which the measure cannot change, or whose documents are of one class."""
        constant = self.measure.constant(queries)
        if self.grades == "all":
            return constant
        relevant = self.measure.leading(queries)
        return constant | (relevant == 0) | (relevant == queries.sizes)

    def notes(self, queries: Queries) -> list[str]:
        """Say that grades were taken as two classes, where there are more."""
        grades = np.unique(queries.relevance)
        if self.grades == "all" or len(grades) <= 2:
            return []
        n = int(self.measure.leading(queries).sum())
        return [
            f"{len(grades)} grades taken as two classes: {n} documents relevant to {self.measure.name}, "
            f"{queries.n_docs - n} not"
        ]

    @classmethod
    def audit_rows(cls, measure: Measure, queries: Queries, scores: np.ndarray) -> list[AuditRow]:
        """Return this bound and its kin on each query, by the cross-level map; none for other measures."""
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

    def bind(self, queries: Queries, weights: np.ndarray) -> "BoundTypeTwo":
        """Bind to some queries with a weight each."""
        kind = BoundTwoClasses if self.grades == "binary" else BoundGrades
        return kind(self, queries, weights)


class BoundTypeTwo(ABC):
    """What both kinds share: the weighted sum of the cuts."""

    def __init__(self, measure: Measure, queries: Queries, weights: np.ndarray):
        self.measure, self.queries, self.weights = measure, queries, weights

    @abstractmethod
    def most_violated(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the loss 1 − E of the most violated ranking of each query, and the derivative of its cut.

        The bound of query q is ``losses[q] + direction[rows] @ scores[rows]``, unweighted.

        Returns
        -------
        losses : ndarray of shape (n_queries,), float64
        direction : ndarray of shape (n_docs,), type of `scores`
        """

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum of the bound and a derivative with respect to each score."""
        losses, direction = self.most_violated(scores.astype(np.float64))
        gradient = direction * np.repeat(self.weights, self.queries.sizes)
        return float(self.weights @ losses + gradient @ scores), gradient.astype(scores.dtype)

    @cached_property
    def out_of_reach(self) -> np.ndarray:
        """What the best ranking of each query lacks of 1, float64 (n_queries,)."""
        return 1.0 - self.measure.query_values(self.queries, perfect_positions(self.queries))


class BoundTwoClasses(BoundTypeTwo):
    """The oracles for two classes."""

    def __init__(self, surrogate: TypeTwoBound, queries: Queries, weights: np.ndarray):
        super().__init__(surrogate.measure, queries, weights)
        measure: Any = surrogate.measure
        sizes = queries.sizes
        relevant = measure.leading(queries)
        terms = measure.relevant_terms(sizes, relevant)
        self.terms = np.stack((terms.level, terms.growth, terms.first))
        self.curve = terms.curve
        self.convex = bool((np.diff(terms.curve[1:], 2) >= -1e-15).all())
        self.n_relevant = np.where(weights > 0, relevant, 0)
        pairs = relevant * (sizes - relevant) if surrogate.feature_map == "cross" else sizes * (sizes - 1)
        self.constant = 2.0 / np.maximum(pairs, 1)

    def most_violated(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `BoundTypeTwo`."""
        losses, direction = np.empty(len(self.n_relevant)), np.empty_like(scores)
        most_violated_passings(
            scores, self.queries.indptr, self.n_relevant, self.terms, self.curve, self.constant,
            self.convex, losses, direction,
        )  # fmt: skip
        return losses + self.out_of_reach, direction

    def cut_form(self) -> PassingForm:
        """Return the arrays of the search, for a compiled loop over queries; see `cut_of_query`."""
        return PassingForm(
            self.queries.indptr, self.n_relevant, self.terms, self.curve, self.constant, self.convex,
            self.out_of_reach,
        )  # fmt: skip

    def pair_bounds(self, scores: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return the bounds that multiply the loss of a pair, each as values and what they may lack.

        The values are attained by a ranking and dominate the loss of the ranking by score; the maximum over
        all rankings is larger by at most the second array, both float64 (n_queries,).
        """
        found = {name: np.zeros((2, self.queries.n_queries)) for name in FACTORS}
        for q in np.flatnonzero(self.n_relevant > 0):
            found_on_hull = hull(lambda rho, q=int(q): self._search(scores, q, rho))
            for name, factor in FACTORS.items():
                value, above = largest(*found_on_hull, factor)
                found[name][:, q] = value + self.out_of_reach[q], above - value
        return {name: (values[0], values[1]) for name, values in found.items()}

    def _search(self, scores: np.ndarray, q: int, rho: float) -> tuple[float, float]:
        """Return loss and margin of the ranking of query q that maximises ρΔ − x."""
        one, rows = slice(q, q + 1), slice(self.queries.indptr[q], self.queries.indptr[q + 1])
        loss, direction = np.empty(1), np.empty_like(scores[rows])
        most_violated_passings(
            scores[rows], np.array([0, len(direction)]), self.n_relevant[one], rho * self.terms[:, one],
            self.curve, self.constant[one], self.convex, loss, direction,
        )  # fmt: skip
        return float(loss[0] / rho), float(-direction @ scores[rows])


class BoundGrades(BoundTypeTwo):
    """The oracles for graded gains."""

    def __init__(self, surrogate: TypeTwoBound, queries: Queries, weights: np.ndarray):
        super().__init__(surrogate.measure, queries, weights)
        measure: Any = surrogate.measure
        self.gain, self.curve = measure.graded_terms(queries)

    def most_violated(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `BoundTypeTwo`."""
        losses, direction = self.out_of_reach.copy(), np.zeros_like(scores)
        for q in np.flatnonzero(self.weights > 0):
            rows = slice(self.queries.indptr[q], self.queries.indptr[q + 1])
            loss, direction[rows] = most_violated_assignment(
                scores[rows], self.queries.relevance[rows], self.gain[rows], self.curve
            )
            losses[q] += loss
        return losses, direction
