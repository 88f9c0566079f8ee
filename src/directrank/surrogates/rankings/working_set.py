"""Type-two bounds over working sets of perfect and imperfect rankings: PermuRank."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from directrank.contracts import Measure, Surrogate, Value, ViolatedPairs
from directrank.data.queries import Queries
from directrank.errors import check_choice
from directrank.measures.families.definition import first_of
from directrank.measures.positions import Positions, perfect_positions
from directrank.surrogates.margins import MARGINS, Margin
from directrank.surrogates.oracles import AuditRow, row_of_values
from directrank.surrogates.rankings.permutations import FEATURE_MAPS, ViolatedRankings, two_classes_message

AGGREGATES = ("sum", "mean", "max")
RESCALED = "margin-rescaled"


@dataclass(frozen=True)
class PairLoss:
    """What a pair with a loss Δ and a margin x adds, and how the pairs of a query are combined."""

    margin: Margin | None  # φ of Δ φ(x); None for the margin-rescaled hinge [Δ − x]₊
    # {"sum", "mean", "max"}: Over the imperfect rankings. The perfect ones are averaged, except for "max".
    aggregate: str

    def lines(self, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return (offset, slope) if a pair adds [offset − slope · x]₊, else None."""
        if self.margin is None:
            return losses, np.ones_like(losses)
        return (losses, losses) if self.margin.name == "hinge" else None

    def value_and_slope(self, losses: np.ndarray, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what each pair adds and its derivative with respect to the margin."""
        if self.margin is None:
            return np.maximum(0.0, losses - margins), -1.0 * (margins < losses)
        return losses * self.margin.value(margins), losses * self.margin.slope(margins)


class WorkingSetBound(Surrogate):
    r"""A bound on pairs of a perfect and an imperfect ranking, over working sets of them.

    Documents of grades 2, 1 and 0 with the scores 1, 0 and 2 have 1 − AP = 5/12, times the hinge 1 + 3; in
    the perfect ranking F has the coefficients ½, ½ and −1:

    >>> loss, scores = WorkingSetBound(AP()).on(one_query([2, 1, 0]), np.ones(1)), np.array([1.0, 0.0, 2.0])
    >>> perfect, imperfect, losses = loss.violated_pairs(scores)
    >>> round(loss.value(scores), 4), perfect.tolist(), losses.round(4).tolist()
    (1.6667, [0.5, 0.5, -1.0], [0.4167])

    .. math:: \frac{1}{|B|} \sum_{\pi^* \in B, \, \pi \in C} [E(\pi^*) - E(\pi)] \, \varphi(F(\pi^*) - F(\pi))

    Parameters
    ----------
    measure : Measure
        Any.
    margin : {"hinge", "exponential", "logistic", "margin-rescaled"}, default="hinge"
        φ; or the hinge [E(π*) − E(π) − x]₊ of Eq. (9).
    aggregate : {"sum", "mean", "max"}, default="sum"
        Over C. The solver's rounds are a cutting-plane method with "max" only.
    feature_map : {"auto", "cross", "pairs"}, default="auto"
        F as the mean over pairs of different classes, or Eq. (2) over all pairs. Measures with a cutoff need
        Eq. (2), where the search for rankings is exact; "auto" chooses.

    Traits
    ------
    bound: yes, once the sets hold the predicted ranking. convex: no; yes while the sets are fixed. smooth:
    no. shift-invariant in scores: yes.

    References
    ----------
    .. [1] J. Xu, T.-Y. Liu, M. Lu, H. Li, W.-Y. Ma, "Directly optimizing evaluation measures in learning to
       rank", SIGIR 2008, Eqs. (2), (7), (11) and Figure 2.
    """

    offers = frozenset({Value, ViolatedPairs})
    is_bound, is_convex, is_smooth = True, False, False

    def __init__(self, measure: Measure, *, margin="hinge", aggregate="sum", feature_map="auto"):
        check_choice("aggregate", aggregate, AGGREGATES)
        check_choice("feature_map", feature_map, ("auto", *FEATURE_MAPS))
        self.places = measure.deciding_ranks
        if feature_map == "cross" and self.places is not None:
            raise ValueError(
                f"{measure.name} reads the first {self.places} positions only: use feature_map='pairs', "
                "where the search for the most violated rankings is exact"
            )
        self.feature_map = feature_map
        if feature_map == "auto":
            self.feature_map = "cross" if self.places is None else "pairs"
        margins = {kind.name: kind for kind in MARGINS} | {RESCALED: None}
        check_choice("margin", margin, margins)
        self.pair_loss = PairLoss(margins[margin], aggregate)
        self.measure = measure

    def uninformative(self, queries: Queries) -> np.ndarray:
        """Return the queries with one value for all rankings, or with documents of one class only."""
        classes = self.classes(queries)
        one_class = classes[queries.indptr[:-1]] == classes[queries.indptr[1:] - 1]
        return self.measure.uninformative(queries) | one_class

    def classes(self, queries: Queries) -> np.ndarray:
        """Return the classes that the measure distinguishes: grades, or documents that it reads or not."""
        if self.measure.graded:
            return queries.relevance
        return first_of(self.measure.n_read(queries), queries).astype(np.float64)

    def notes(self, queries: Queries) -> list[str]:
        """Return messages about the feature map of Eq. (2), and about grades that became two classes."""
        lines = []
        if self.feature_map == "pairs":
            reads = f"{self.measure.name} reads the first {self.places} positions"
            why = reads if self.places else "requested"
            lines.append(f"feature map of Eq. (2), over pairs of one class too: {why}")
        if not self.measure.graded:
            lines += two_classes_message(self.measure, queries)
        return lines

    @classmethod
    def audit_rows(cls, measure: Measure, queries: Queries, scores: np.ndarray) -> list[AuditRow]:
        """Return the value over the predicted ranking alone, on each query."""
        name = "slack-rescaled hinge, on the predicted ranking alone"
        return [row_of_values(name, cls(measure), queries, scores)]

    def on(self, queries: Queries, weights: np.ndarray) -> "_WorkingSetOracles":
        """Return the oracles on some queries, each with a weight."""
        return _WorkingSetOracles(self, queries, weights)


class _WorkingSetOracles:
    """The oracles of `WorkingSetBound` on some queries."""

    def __init__(self, surrogate: WorkingSetBound, queries: Queries, weights: np.ndarray):
        self.surrogate, self.queries, self.weights = surrogate, queries, weights
        self.classes = surrogate.classes(queries)
        measure = surrogate.measure
        self.best = measure.query_values(queries, perfect_positions(queries))
        self.searches = ViolatedRankings(
            queries, self.classes, weights > 0, surrogate.feature_map, surrogate.places
        )

    def pair_loss(self) -> PairLoss:
        return self.surrogate.pair_loss

    def violated_pairs(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the perfect ranking of least F and the imperfect one of greatest F, for each query."""
        s, searches = scores.astype(np.float64), self.searches
        descending = searches.descending(s)
        ranking, exists = searches.greatest_imperfect(s, descending)
        alike, rows = searches.alike(s, descending), exists[searches.query]
        place = searches.position.astype(np.int32)
        place[ranking] = np.where(rows, searches.position, place[ranking])
        imperfect = np.where(rows, searches.coefficients(ranking, alike), 0.0)
        perfect = (
            searches.coefficients(searches.least_perfect(s), alike)
            if self.surrogate.feature_map == "pairs"
            else self._only_perfect
        )
        perfect = np.where(rows, perfect, 0.0)
        values = self.surrogate.measure.query_values(self.queries, Positions(place, np.ones_like(place)))
        return perfect, imperfect, np.maximum(self.best - values, 0.0)

    @cached_property
    def _only_perfect(self) -> np.ndarray:
        """The coefficients of the perfect rankings, which are all the same under "cross"."""
        return self.searches.coefficients(np.arange(len(self.classes)))

    def value(self, scores: np.ndarray) -> float:
        """Return the weighted sum of the bound over each query's most violated pair alone."""
        perfect, imperfect, losses = self.violated_pairs(scores)
        margins = np.add.reduceat((perfect - imperfect) * scores, self.queries.indptr[:-1])
        values = self.surrogate.pair_loss.value_and_slope(losses, margins)[0]
        return float(self.weights @ (values + 1.0 - self.best))
