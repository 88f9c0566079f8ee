"""The measure itself as a function of scores, with its best step along a direction."""

import math
from dataclasses import dataclass

import numpy as np

from directrank.contracts import Measure, QueryValues, Step, Surrogate, Value, WindowStep
from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.kernels.sorting import sort_descending
from directrank.measures.capabilities import PositionLinear, TwoClassMeasure
from directrank.measures.positions import positions_of
from directrank.surrogates.bound import BoundValues

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

    def bind(self, queries: Queries, weights: np.ndarray) -> "_BoundMeasure":
        """Bind to some queries with a weight each."""
        return _BoundMeasure(self.measure, self.half_width / WINDOW, queries, weights)


@dataclass(frozen=True)
class _Terms:
    """A measure as Σ (level + growth · i) · v(p) over documents; see `walk`."""

    level: np.ndarray
    growth: np.ndarray
    sums: np.ndarray
    rank_sums: np.ndarray


class _BoundMeasure(BoundValues):
    """The oracles of `MeasureItself` on some queries; `width` is that of a bin."""

    def __init__(self, measure: Measure, width: float, queries: Queries, weights: np.ndarray):
        super().__init__(measure, queries, weights)
        self.width, self.low = width, -width * (BINS // 2)
        self.terms = _terms_of(measure, queries)

    def value(self, scores: np.ndarray) -> float:
        return float(self.weights @ (1.0 - self.query_values(scores)))

    def line_sums(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return what happens in each bin, float64 (2, BINS + 1); see `walk`."""
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

    def window_step(self, sums: np.ndarray, least: float = -np.inf) -> Step:
        """Return the step to the largest average over a window; its decrease is that of the average.

        `least` is not above 0. The edge of a bin next below it stands for it.
        """
        averages = box_averages(sums, self.width)
        middle = len(averages) // 2
        averages[: middle + math.floor(max(least / self.width, -middle))] = -np.inf
        best = np.flatnonzero(averages >= averages.max() - EQUAL)
        place = best[np.argmin(np.abs(best - middle))]
        gain = float(averages[place] - averages[middle])
        return (
            Step(max(float((place - middle) * self.width), least), gain) if gain > EQUAL else Step(0.0, 0.0)
        )


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
        growth = np.zeros(queries.n_docs)
    elif isinstance(measure, TwoClassMeasure) and not measure.graded:
        found = measure.relevant_terms(queries.sizes, measure.n_read(queries))
        if found.first.any():
            return None
        curve = found.curve[1:]
        level, growth = (np.repeat(each, queries.sizes) for each in (found.level, found.growth))
    else:
        return None
    ranks = np.arange(1.0, len(curve) + 1)
    sums, rank_sums = (np.concatenate(([0.0], np.cumsum(each))) for each in (curve, ranks * curve))
    return _Terms(np.ascontiguousarray(level, np.float64), growth, sums, rank_sums)


#: Documents of all copies of a query that are evaluated at once.
BATCH_DOCS = 2**18


def add_evaluated(
    measure: Measure, queries: Queries, weights: np.ndarray, scores: np.ndarray, direction: np.ndarray,
    low: float, width: float, out: np.ndarray,
) -> None:  # fmt: skip
    """Add a measure of ``scores + t · direction`` to bins of t; see `walk`."""
    high = low + (out.shape[1] - 1) * width
    for q in np.flatnonzero(weights):
        rows = slice(int(queries.indptr[q]), int(queries.indptr[q + 1]))
        part, s, d = queries.part(int(q), int(q) + 1), scores[rows], direction[rows]
        # Where a document that is read changes places with another one, between the ends.
        n_read = int(measure.n_read(part)[0])
        slope, gap = d[None, :] - d[:n_read, None], s[None, :] - s[:n_read, None]
        times = np.unique(-gap[slope != 0] / slope[slope != 0])
        times = times[(times > low) & (times < high)]
        edges = np.concatenate(([low], times, [high]))
        values = weights[q] * _values(measure, part, s, d, 0.5 * (edges[1:] + edges[:-1]))
        place = (times - low) / width
        at = np.minimum(place.astype(np.int64), out.shape[1] - 2)
        changes = np.diff(values)
        np.add.at(out[0], at, changes)
        np.add.at(out[1], at, changes * (at + 1.0 - place) * width)
        out[0, -1] += values[0]


def _values(measure: Measure, query: Queries, s: np.ndarray, d: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the value of one query after steps of some sizes, (n_sizes,)."""
    n, found = len(s), []
    for chunk in np.array_split(sizes, max(1, len(sizes) * n // BATCH_DOCS)):
        copies = query.repeated(len(chunk))
        moved = (s + chunk[:, None] * d).ravel()
        positions = positions_of(copies, moved, n_read=measure.n_read(copies))
        found.append(measure.query_values(copies, positions))
    return np.concatenate(found)


@kernel
def walk(scores, direction, indptr, n_read, weights, level, growth, sums, rank_sums, low, width, out):
    """Add a measure of ``scores + t · direction`` to bins of t.

    The value of a query is Σ (level + growth · i) · v(p) over the `n_read` first documents, i counting them
    from the top and p the position, in expectation over documents that stay tied. `sums` and `rank_sums` are
    those of v(p) and of p · v(p) over the first positions, from 0; the first bin begins at `low`. `out`, (2,
    n_bins + 1), receives of each bin the change of the value in it, and the integral of that change to the
    end of the bin. The last entry of the first row receives the value where the first bin begins.
    """
    n_bins, longest = out.shape[1] - 1, len(sums) - 1
    places, ascending = np.empty(longest), np.empty(longest)
    jumps, order = np.empty((longest, 2), np.int64), np.empty((2, longest), np.int64)
    for q in range(len(n_read)):
        first, stop, n_lead = indptr[q], indptr[q + 1], n_read[q]
        s, d = scores[first:stop], direction[first:stop]
        for i in range(n_lead if weights[q] > 0.0 else 0):
            n, above, tied, ahead, beside = _breakpoints(s, d, i, n_lead, low, width, n_bins, places, jumps)
            _sort_ascending(places[:n], n_bins, ascending, order[0, :n], order[1, :n])
            a, b = level[first + i], growth[first + i]
            value = _term(a, b, above, tied, ahead, beside, sums, rank_sums)
            out[0, n_bins] += weights[q] * value
            for k in range(n):
                above += jumps[order[0, k], 0]
                ahead += jumps[order[0, k], 1]
                now = _term(a, b, above, tied, ahead, beside, sums, rank_sums)
                change, place = weights[q] * (now - value), ascending[k]
                at = min(np.int64(place), n_bins - 1)
                out[0, at] += change
                out[1, at] += change * (at + 1.0 - place) * width
                value = now


@kernel
def _breakpoints(s, d, i, n_lead, low, width, n_bins, places, jumps):
    # Where document i changes places with another one, in bins after `low`, and by how much the numbers of
    # documents above it, and of those that are read, change then; these numbers at the start, and how many
    # documents stay tied with it, itself included.
    for j in range(len(s)):
        places[j] = ((s[i] - s[j]) / (d[j] - d[i]) - low) / width
    n, above, tied, ahead, beside = 0, 0, 0, 0, 0
    for j in range(len(s)):
        slope, read, place = d[j] - d[i], np.int64(j < n_lead), places[j]
        if slope == 0.0:
            over, equal = np.int64(s[j] > s[i]), np.int64(s[j] == s[i])
            above += over
            ahead += read * over
            tied += equal
            beside += read * equal
            continue
        up = np.int64(slope > 0.0)
        over = np.int64(up == np.int64(place <= 0.0))
        above += over
        ahead += read * over
        # It is written at the next free place, which the next one takes unless this one is in the bins.
        places[n], jumps[n, 0], jumps[n, 1] = place, 2 * up - 1, read * (2 * up - 1)
        n += np.int64(place > 0.0 and place < n_bins)
    return n, above, tied, ahead, beside


#: Groups of bins that breakpoints are divided into before they are sorted, and most in a group.
GROUPS, CROWD = 256, 64


@kernel
def _sort_ascending(places, n_bins, ascending, order, spare):
    # `order` receives the indices of places by ascending value, stably, and `ascending` the values in it.
    starts = np.zeros(GROUPS + 1, np.int64)
    for k in range(len(places)):
        starts[np.int64(places[k] * GROUPS / n_bins) + 1] += 1
    crowd = 0
    for group in range(GROUPS):
        crowd = max(crowd, starts[group + 1])
        starts[group + 1] += starts[group]
    if crowd > CROWD:
        for k in range(len(places)):
            ascending[k] = -places[k]
        sort_descending(ascending[: len(places)], order, spare)
        for k in range(len(places)):
            ascending[k] = places[order[k]]
        return
    for k in range(len(places)):
        group = np.int64(places[k] * GROUPS / n_bins)
        order[starts[group]], ascending[starts[group]] = k, places[k]
        starts[group] += 1
    for k in range(1, len(places)):
        place, index, at = ascending[k], order[k], k
        while at > 0 and ascending[at - 1] > place:
            ascending[at], order[at] = ascending[at - 1], order[at - 1]
            at -= 1
        ascending[at], order[at] = place, index


@kernel
def _term(level, growth, above, tied, ahead, beside, sums, rank_sums):
    # The mean over the ranks of its block. Of the others in the block that are read, a share comes before.
    share = (beside - 1.0) / (tied - 1.0) if tied > 1 else 0.0
    reached, ranks = sums[above + tied] - sums[above], rank_sums[above + tied] - rank_sums[above]
    first = level + growth * (1.0 + ahead - share * (above + 1.0))
    return (first * reached + growth * share * ranks) / tied
