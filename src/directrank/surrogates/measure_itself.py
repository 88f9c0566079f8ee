"""The measure itself as a function of scores, with its best step along a direction."""

import math
from dataclasses import dataclass

import numpy as np

from directrank.contracts import Measure, QueryValues, Step, Surrogate, Value, WindowStep
from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.measures.capabilities import PositionLinear, TwoClassMeasure
from directrank.measures.positions import positions_of
from directrank.surrogates.oracles import MeasureOracles

#: Points of a line, half of them on each side of 0, and how many make half of the window.
POINTS, WINDOW = 512, 23
#: Averages closer than this are equal; then the shortest step wins.
EQUAL = 1e-12
#: Breakpoints of a list along a line beyond which a measure with a cutoff looks at the first ranks alone, and
#: the points that it looks at together.
MANY, TOGETHER = 2**17, 64


class MeasureItself(Surrogate):
    r"""One minus the measure, with ties in expectation: what all other surrogates stand for.

    Documents of grades 2, 1 and 0 with the scores 1, 2 and 0 have DCG = 1 + 3 / log₂ 3 of at most 3 + 1 /
    log₂ 3:

    >>> loss, scores = MeasureItself(NDCG()).on(one_query([2, 1, 0]), np.ones(1)), np.array([1.0, 2.0, 0.0])
    >>> round(loss.value(scores), 4), loss.query_values(scores).round(4).tolist()
    (0.2033, [0.7967])

    It is constant but for jumps, so that it has no derivative. Along a line of scores it is known exactly,
    and steps are judged by its mean over 2 k = 46 points of a window of half-width h:

    .. math:: J(t) = \sum_q w_q \, E_q(s + t d), \qquad
        \bar J(t) = \frac{1}{2k} \sum_{i=1}^{k} J(t \pm (i - \tfrac12) h / k)

    Measures that add up over documents are summed document by document: the position of each changes by one
    at its breakpoints :math:`t_{ij} = -(s_j - s_i)/(d_j - d_i)`. How many lie between two points is all that
    matters, so that they are not sorted. Other measures are evaluated at points that follow a breakpoint.
    With a cutoff, documents of a long list that cannot be in the first ranks are left out.

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
        self.measure, self.half_width, self.takes_real = measure, half_width, measure.takes_real

    def work(self, queries: Queries) -> np.ndarray:
        """See `Surrogate`: the breakpoints along a line, in NumPy's arrays where the measure is evaluated."""
        breakpoints = 1.0 * self.measure.n_read(queries) * queries.sizes
        if (terms := _terms_of(self.measure, queries)) is None:
            return 25.0 * breakpoints
        first_ranks = (50.0 + terms.n_ranks) * queries.sizes
        return np.where(breakpoints > MANY, np.minimum(breakpoints, first_ranks), breakpoints)

    def on(self, queries: Queries, weights: np.ndarray) -> "_MeasureItselfOracles":
        """Return the oracles on some queries, each with a weight."""
        return _MeasureItselfOracles(self.measure, self.half_width / WINDOW, queries, weights)


@dataclass(frozen=True)
class _Terms:
    """A measure as Σ (level + growth · i) · v(p) over documents; see `walk`."""

    level: np.ndarray
    growth: np.ndarray
    sums: np.ndarray
    rank_sums: np.ndarray
    n_ranks: int  # After these v is 0


class _MeasureItselfOracles(MeasureOracles):
    """The oracles of `MeasureItself` on some queries; neighbouring points of a line are `width` apart."""

    def __init__(self, measure: Measure, width: float, queries: Queries, weights: np.ndarray):
        super().__init__(measure, queries, weights)
        self.width, self.first = width, -width * (POINTS - 1) / 2
        self.terms = _terms_of(measure, queries)
        # The queries whose first ranks alone are looked at, and the weights of the others.
        is_long = (queries.sizes * self.n_read > MANY) & (weights > 0.0)
        is_long &= self.terms is not None and 2 * self.terms.n_ranks < queries.sizes
        self.long, self.of_others = np.flatnonzero(is_long).tolist(), np.where(is_long, 0.0, weights)

    def value(self, scores: np.ndarray) -> float:
        return float(self.weights @ (1.0 - self.query_values(scores)))

    def values(self, scores: np.ndarray) -> np.ndarray:
        """Return the value for each row of scores, all of which are ranked at once."""
        times = len(scores)
        copies = self.queries.cached(("repeated", times), lambda: self.queries.repeated(times))
        positions = positions_of(copies, scores.ravel(), n_read=self.measure.n_read(copies))
        by_row = self.measure.query_values(copies, positions).reshape(times, -1)
        return np.array([self.weights @ (1.0 - of_queries) for of_queries in by_row])

    def line_sums(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the value at the first point, and the change from each point to the next; see `walk`."""
        out = np.zeros(POINTS)
        s, d = scores.astype(np.float64, copy=False), direction.astype(np.float64, copy=False)
        if self.terms is None:
            add_evaluated(self.measure, self.queries, self.weights, s, d, self.first, self.width, out)
            return out
        terms = self.terms
        walk(
            s, d, self.queries.indptr, self.n_read, self.of_others, terms.level, terms.growth, terms.sums,
            terms.rank_sums, self.first, self.width, out,
        )  # fmt: skip
        for q in self.long:
            out += self._of_first_ranks(terms, q, s, d)
        return out

    def _of_first_ranks(self, terms: _Terms, q: int, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return what `walk` adds for a list, from the documents that can be in the first ranks.

        Those are compared with the document that is last of so many at its least score between some points.
        """
        first, values = int(self.queries.indptr[q]), np.zeros(POINTS)
        s, d = (vector[first : int(self.queries.indptr[q + 1])] for vector in (scores, direction))
        for point in range(0, POINTS, TOGETHER):
            begin = self.first + point * self.width
            ends = s + begin * d, s + (begin + (TOGETHER - 1) * self.width) * d
            least, largest = np.minimum(*ends), np.maximum(*ends)
            last = np.partition(least, len(s) - terms.n_ranks)[len(s) - terms.n_ranks]
            rows = np.flatnonzero(largest >= last)
            walk(
                s[rows], d[rows], np.array([0, len(rows)]),
                np.array([np.searchsorted(rows, self.n_read[q])]), self.weights[q : q + 1],
                terms.level[first + rows], terms.growth[first + rows], terms.sums, terms.rank_sums, begin,
                self.width, changes := np.zeros(TOGETHER),
            )  # fmt: skip
            values[point : point + TOGETHER] = np.cumsum(changes)
        return np.diff(values, prepend=0.0)

    def window_step(self, sums: np.ndarray, least: float = -np.inf) -> Step:
        """Return the step to the largest average over a window; its decrease is that of the average.

        `least` is not above 0. The step next below it that has an average stands for it.
        """
        averages = window_averages(sums)
        middle = len(averages) // 2
        averages[: middle + math.floor(max(least / self.width, -middle))] = -np.inf
        best = np.flatnonzero(averages >= averages.max() - EQUAL)
        place = best[np.argmin(np.abs(best - middle))]
        gain = float(averages[place] - averages[middle])
        return (
            Step(max(float((place - middle) * self.width), least), gain) if gain > EQUAL else Step(0.0, 0.0)
        )


def window_averages(sums: np.ndarray) -> np.ndarray:
    """Return the averages over the windows of `2 * WINDOW` points, from the changes between points.

    The middle one is around 0, between two points.
    """
    totals = np.concatenate(([0.0], np.cumsum(np.cumsum(sums))))
    return (totals[2 * WINDOW :] - totals[: -2 * WINDOW]) / (2 * WINDOW)


def _terms_of(measure: Measure, queries: Queries) -> _Terms | None:
    """Return a measure as a sum over documents, or None if it is not such a sum."""
    if isinstance(measure, PositionLinear):
        level, curve = measure.linear_in_positions(queries)
        growth = np.zeros(queries.n_docs)
    elif isinstance(measure, TwoClassMeasure) and not measure.graded:
        terms = measure.relevant_terms(queries.sizes, measure.n_read(queries))
        if terms.first.any():
            return None
        curve = terms.curve[1:]
        level, growth = (np.repeat(array, queries.sizes) for array in (terms.level, terms.growth))
    else:
        return None
    ranks = np.arange(1.0, len(curve) + 1)
    sums, rank_sums = (np.concatenate(([0.0], np.cumsum(array))) for array in (curve, ranks * curve))
    n_ranks = int(np.flatnonzero(curve).max(initial=0)) + 1
    return _Terms(np.ascontiguousarray(level, np.float64), growth, sums, rank_sums, n_ranks)


#: Documents of all copies of a query that are evaluated at once.
BATCH_DOCS = 2**18


def add_evaluated(
    measure: Measure, queries: Queries, weights: np.ndarray, scores: np.ndarray, direction: np.ndarray,
    first: float, width: float, out: np.ndarray,
) -> None:  # fmt: skip
    """Add the changes of a measure of ``scores + t · direction`` between points t; see `walk`."""
    for q in np.flatnonzero(weights):
        rows = slice(int(queries.indptr[q]), int(queries.indptr[q + 1]))
        part, s, d = queries.part(int(q), int(q) + 1), scores[rows], direction[rows]
        # The first point, and those before which a document that is read changes places with another one.
        reached, n_read = np.zeros(len(out), np.bool_), int(measure.n_read(part)[0])
        reached[0] = True
        for some in np.array_split(np.arange(n_read), max(1, n_read * len(s) // BATCH_DOCS)):
            slope, gap = d[None, :] - d[some, None], s[None, :] - s[some, None]
            places = (-gap[slope != 0] / slope[slope != 0] - first) / width
            reached[1 + places[(places >= 0) & (places < len(out) - 1)].astype(np.int64)] = True
        at = np.flatnonzero(reached)
        values = _values(measure, part, s, d, first + at * width)
        out[at] += weights[q] * np.diff(values, prepend=0.0)


def _values(measure: Measure, query: Queries, s: np.ndarray, d: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the value of one query after steps of some sizes, (n_sizes,)."""
    n, parts = len(s), []
    for chunk in np.array_split(sizes, max(1, len(sizes) * n // BATCH_DOCS)):
        copies = query.repeated(len(chunk))
        moved = (s + chunk[:, None] * d).ravel()
        positions = positions_of(copies, moved, n_read=measure.n_read(copies))
        parts.append(measure.query_values(copies, positions))
    return np.concatenate(parts)


#: Two counts in one integer: of documents above in its low half, of those that are read in its high half.
READ = 1 << 32


@kernel
def walk(scores, direction, indptr, n_read, weights, level, growth, sums, rank_sums, first, width, out):
    """Add the changes of a measure of ``scores + t · direction`` between points t.

    The value of a query is Σ (level + growth · i) · v(p) over the `n_read` first documents, i counting them
    from the top and p the position, in expectation over documents that stay tied. `sums` and `rank_sums` are
    those of v(p) and of p · v(p) over the first positions, from 0. Points are `width` apart, from `first`.
    `out`, (n_points,), receives the value at the first point, and its change from each point to the next.
    """
    n_points, longest = len(out), len(sums) - 1
    after, ranked, read = np.empty(longest, np.uint32), np.empty((2, longest)), np.empty(longest, np.int64)
    jumps, touched = np.zeros(n_points, np.int64), np.zeros(n_points // 64, np.int64)
    # What a change of places adds to the counts, by the two low bits of `after`.
    changes = np.array((-1, 1, -1 - READ, 1 + READ))
    for q in range(len(n_read)):
        begin, stop, n_lead = indptr[q], indptr[q + 1], n_read[q]
        s, d = scores[begin:stop], direction[begin:stop]
        if n_lead == 0 or weights[q] == 0.0:
            continue
        n_alike = _alike_first(s, d, n_lead, ranked, read)
        for i in range(n_lead):
            # Documents with the direction of document i never change places with it.
            n_fixed = n_alike if d[i] == ranked[1, 0] else 0
            above, tied = _counts(s[i], ranked[0, :n_fixed], read)
            moving = slice(n_fixed, len(s))
            more, also = _crossings(
                s[i], d[i], ranked[0, moving], ranked[1, moving], read[moving], first, width, n_points, after
            )
            above, tied = above + more, tied + also
            beside, tied = tied >> 32, tied & READ - 1
            # Those that change places with document i between two points, at the front.
            n_kept = 0
            for j in range(len(s) - n_fixed):
                after[n_kept] = after[j]
                n_kept += np.int64(after[n_kept] != 0)
            for k in range(n_kept):
                point = np.int64(after[k]) >> 2
                jumps[point] += changes[after[k] & 3]
                touched[point >> 6] |= 1 << (point & 63)
            share, weight = (beside - 1.0) / (tied - 1.0) if tied > 1 else 0.0, weights[q] / tied
            a, b = weight * level[begin + i], weight * growth[begin + i]
            # No change of places comes at the first point, whose jump is the count there.
            jumps[0], touched[0], above, value = above, touched[0] | 1, 0, 0.0
            for word in range(len(touched)):
                bits, touched[word] = touched[word], 0
                while bits:
                    # The exponent of a power of two is its logarithm, plus 1023; above it is the sign.
                    lowest = bits & -bits
                    exponent = np.float64(lowest).view(np.int64) >> 52
                    point = 64 * word + (exponent + 1 & 63)
                    bits ^= lowest
                    above += jumps[point]
                    jumps[point] = 0
                    now = _term(a, b, above, tied, share, sums, rank_sums)
                    out[point] += now - value
                    value = now


@kernel
def _alike_first(s, d, n_lead, ranked, read):
    # Write scores, directions, and which documents are read, those of one direction first, the one that most
    # have if over half have it. Return how many these are.
    common, votes, n, n_alike = d[0], 0, 0, 0
    for x in d:
        common = x if votes == 0 else common
        votes += 1 if x == common else -1
    for side in range(2):
        for j in range(len(s)):
            if (d[j] == common) == (side == 0):
                ranked[0, n], ranked[1, n], read[n] = s[j], d[j], j < n_lead
                n += 1
        n_alike = n if side == 0 else n_alike
    return n_alike


@kernel
def _counts(score, others, read):
    # How many documents are above a score, and how many have it, as `READ` counts them.
    above, tied = 0, 0
    for j in range(len(others)):
        one = 1 + READ * read[j]
        above += one if others[j] > score else 0
        tied += one if others[j] == score else 0
    return above, tied


@kernel
def _crossings(score, direction, s, d, read, first, width, n_points, after):
    # How many of some documents are above another one at the first point, and how many stay tied with it, as
    # `READ` counts them. Of each, `after` receives 4 times the next point after both change places, plus 2 if
    # it is read, plus 1 if it rises above the other one; 0 if they do not.
    above, tied = 0, 0
    for j in range(len(s)):
        slope, gap = d[j] - direction, score - s[j]
        # If the slope is 0, of either sign, the place is infinite, or NaN in a tie.
        place, down = (gap / slope - first) / width + 1.0, np.float64(slope).view(np.int64) >> 63 & 1
        one = 1 + READ * read[j]
        above += one if (place >= 1.0 if down else place < 1.0) else 0
        tied += one if place != place else 0
        code = 4 * np.int64(np.int32(place)) + 2 * read[j] + 1 - down
        after[j] = code if place >= 1.0 and place < n_points else 0
    return above, tied


@kernel
def _term(level, growth, count, tied, share, sums, rank_sums):
    # `tied` times the mean over the ranks of its block. Of the others in the block that are read, a share
    # comes before.
    above, ahead = count & (READ - 1), count >> 32
    reached = sums[above + tied] - sums[above]
    total = (level + growth * (1.0 + ahead)) * reached
    if share != 0.0:
        total += growth * share * (rank_sums[above + tied] - rank_sums[above] - (above + 1.0) * reached)
    return total
