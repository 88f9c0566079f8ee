"""The measure itself as a function of scores, with its best step along a direction."""

from dataclasses import dataclass

import numpy as np

from directrank.contracts import Measure, QueryValues, Step, Surrogate, Value, WindowStep
from directrank.data.queries import Queries
from directrank.measures.capabilities import PositionLinear, TwoClassMeasure
from directrank.measures.positions import positions_of
from directrank.surrogates.lines.breakpoints import add_evaluated
from directrank.surrogates.lines.walks import walk

#: Bins of a line: half of them on each side of 0, and this many make half of the window.
BINS, WINDOW = 2048, 93
#: Averages closer than this are equal; then the shortest step wins.
EQUAL = 1e-12


class MeasureItself(Surrogate):
    r"""One minus the measure, with ties in expectation: what all other surrogates stand for.

    It is constant but for jumps, so that it has no derivative. Along a line of scores it is known exactly:

    .. math:: J(t) = \sum_q w_q \, E_q(s + t d), \qquad
        \bar J(t) = \frac{1}{2h} \int_{t-h}^{t+h} J(u) \, du

    Measures that add up over documents are summed document by document: the position of each changes by one
    at its breakpoints :math:`t_{ij} = -(s_j - s_i)/(d_j - d_i)`. The changes, and their integrals, are
    collected in 2,048 bins, which gives :math:`\bar J` exactly at the edges of bins without sorting the
    breakpoints of all documents together. Other measures are evaluated between all breakpoints of each query.

    Parameters
    ----------
    measure : Measure
    half_width : float, default=0.1
        h of the window. Steps reach from about −10 h to 10 h.

    Traits
    ------
    bound: yes, of itself. convex: no. smooth: no. shift-invariant: yes.

    References
    ----------
    .. [1] D. Metzler, W. B. Croft, "Linear feature-based models for information retrieval", Information
       Retrieval 10, 2007: coordinate ascent, which tries steps one by one.
    """

    offers = frozenset({Value, QueryValues, WindowStep})
    is_bound, is_convex, is_smooth = True, False, False

    def __init__(self, measure: Measure, half_width: float = 0.1):
        if not half_width > 0:
            raise ValueError(f"half_width must be above 0, not {half_width}")
        self.measure, self.half_width = measure, half_width

    def work(self, queries: Queries) -> np.ndarray:
        """See `Surrogate`: the breakpoints along a line, sorted; or a measure of n steps at each."""
        breakpoints = 1.0 * self.measure.n_read(queries) * queries.sizes
        return breakpoints * (queries.sizes if _terms_of(self.measure, queries) is None else 15.0)

    def bind(self, queries: Queries, weights: np.ndarray) -> "BoundMeasure":
        """Bind to some queries with a weight each."""
        return BoundMeasure(self.measure, self.half_width / WINDOW, queries, weights)


@dataclass(frozen=True)
class _Terms:
    """A measure as Σ (level + growth · i) · v(p) over documents; see `directrank.surrogates.lines.walks`."""

    level: np.ndarray
    growth: np.ndarray
    sums: np.ndarray
    rank_sums: np.ndarray


class BoundMeasure:
    """The oracles of `MeasureItself` on some queries; `width` is that of a bin."""

    def __init__(self, measure: Measure, width: float, queries: Queries, weights: np.ndarray):
        self.measure, self.width, self.queries, self.weights = measure, width, queries, weights
        self.low = -width * (BINS // 2)
        self.n_read = measure.n_read(queries)
        self.terms = _terms_of(measure, queries)

    def query_values(self, scores: np.ndarray) -> np.ndarray:
        """Return the measure of each query, float64 (n_queries,)."""
        return self.measure.query_values(self.queries, positions_of(self.queries, scores, n_read=self.n_read))

    def value(self, scores: np.ndarray) -> float:
        """Return the weighted sum of one minus the measure."""
        return float(self.weights @ (1.0 - self.query_values(scores)))

    def line_sums(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return what happens in each bin, float64 (2, BINS + 1); see `directrank.surrogates.lines.walks`."""
        out = np.zeros((2, BINS + 1))
        s, d = scores.astype(np.float64, copy=False), direction.astype(np.float64, copy=False)
        if self.terms is None:
            add_evaluated(self.measure, self.queries, self.weights, s, d, self.low, self.width, out)
            return out
        terms = self.terms
        walk(
            s, d, self.queries.indptr, self.n_read, self.weights, terms.level, terms.growth, terms.sums,
            terms.rank_sums, self.low, self.width, out,
        )  # fmt: skip
        return out

    def window_step(self, sums: np.ndarray) -> Step:
        """Return the step to the largest average over a window; its decrease is that of the average."""
        averages = box_averages(sums, self.width)
        middle = len(averages) // 2
        best = np.flatnonzero(averages >= averages.max() - EQUAL)
        place = best[np.argmin(np.abs(best - middle))]
        gain = float(averages[place] - averages[middle])
        return Step(float((place - middle) * self.width), gain) if gain > EQUAL else Step(0.0, 0.0)


def box_averages(sums: np.ndarray, width: float) -> np.ndarray:
    """Return the averages over the window around the edges of bins that have a whole one.

    The middle one is around 0, and neighbours are `width` apart.
    """
    starts = sums[0, -1] + np.concatenate(([0.0], np.cumsum(sums[0, :-2])))
    integrals = np.concatenate(([0.0], np.cumsum(starts * width + sums[1, :-1])))
    return (integrals[2 * WINDOW :] - integrals[: -2 * WINDOW]) / (2 * WINDOW * width)


def _terms_of(measure: Measure, queries: Queries) -> _Terms | None:
    """Return a measure as a sum over documents, or None if it is not such a sum."""
    if isinstance(measure, PositionLinear):
        level, curve = measure.linear_in_positions(queries)
        return _with_sums(level, np.zeros(queries.n_docs), curve)
    if isinstance(measure, TwoClassMeasure) and not measure.graded:
        found = measure.relevant_terms(queries.sizes, measure.n_read(queries))
        if not found.first.any():
            level, growth = (np.repeat(each, queries.sizes) for each in (found.level, found.growth))
            return _with_sums(level, growth, found.curve[1:])
    return None


def _with_sums(level: np.ndarray, growth: np.ndarray, curve: np.ndarray) -> _Terms:
    ranks = np.arange(1.0, len(curve) + 1)
    sums, rank_sums = (np.concatenate(([0.0], np.cumsum(each))) for each in (curve, ranks * curve))
    return _Terms(np.ascontiguousarray(level, np.float64), growth, sums, rank_sums)
