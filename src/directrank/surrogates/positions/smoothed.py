"""A measure at smooth positions: a differentiable approximation of it."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from directrank.contracts import (
    ApproximationErrors,
    Curvature,
    GradientKernel,
    KernelPlugin,
    Measure,
    Staged,
    Surrogate,
    ValueAndGradient,
)
from directrank.data.queries import Queries
from directrank.kernels.compile import kernel
from directrank.kernels.plugins import WIDTH, position_slopes, query_gradient, register_kernel
from directrank.kernels.vector_math import extremes
from directrank.measures.capabilities import Certified, PositionDifferentiable, PositionFormed
from directrank.measures.families.definition import first_of
from directrank.measures.positions import perfect_positions, positions_of
from directrank.surrogates.oracles import AuditRow
from directrank.surrogates.positions.smoothed_kernels import (
    LONG,
    backward,
    backward_bands,
    backward_quotients,
    fill_powers,
    forward_bands,
    forward_quotients,
    is_near,
    position_curvature,
    soft_positions,
)


class SmoothedPositions(Surrogate):
    r"""1 − E at smooth positions.

    Documents of grades 2, 1 and 0 with the scores 1, 2 and 0 have the smooth positions 1 + σ(1) + σ(−1) = 2,
    1 + σ(−1) + σ(−2) = 1.388 and 1 + σ(1) + σ(2) = 2.612; the value is 1 less nDCG at these:

    >>> loss = SmoothedPositions(NDCG(), steepness=1.0).on(one_query([2, 1, 0]), np.ones(1))
    >>> scores = np.array([1.0, 2.0, 0.0])
    >>> value, gradient = loss.value_and_gradient(scores)
    >>> round(value, 4), gradient.round(4).tolist()
    (0.2594, [-0.0415, -0.0007, 0.0422])

    Replaces each position :math:`\pi_i = 1 + \sum_{j \ne i} [\![ s_j > s_i ]\!]` by

    .. math:: \hat\pi_i = 1 + \sum_{j \ne i} \frac{1}{1 + e^{-\alpha (s_j - s_i)}}

    and comparisons of positions inside the measure by logistic functions of steepness β.

    Parameters
    ----------
    measure : PositionDifferentiable
        The measure to approximate.
    steepness : float, default=10.0
        α > 0, in 1/score. As it grows the value tends to 1 − E and the gradient vanishes except near ties.
        Only the product of α and the size of the scores matters: train with a penalty.
    truncation : float, default=1.0
        β > 0, in 1/position, for measures that compare positions (AP, RR, ERR, cutoffs).
    anneal : sequence of float, default=()
        Lower steepnesses to minimise first, rising, each from where the one before ended: a steep
        approximation is reached with fewer local minima on the way. The solver must use `Staged`.

    Raises
    ------
    TypeError
        If the measure has no ``position_gradient``.
    ValueError
        If a steepness is not positive, or those of `anneal` do not rise to `steepness`.

    Traits
    ------
    bound: no. convex: no. smooth: yes. shift-invariant in scores: yes.

    Notes
    -----
    One evaluation costs O(n R) per query, R documents with a gain among n; O(n) where n R is above 2²¹.

    The curvature is :math:`\sum_j |c_i - c_j| \, \alpha^2 \sigma (1 - \sigma)`, a bound on that of the smooth
    positions with the slopes c of the measure held fixed.

    References
    ----------
    .. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010, Eqs. (11)-(16).
    """

    offers = frozenset({ValueAndGradient, Curvature, ApproximationErrors, GradientKernel})
    is_bound, is_convex, is_smooth = False, False, True

    def __init__(self, measure: Measure, *, steepness=10.0, truncation=1.0, anneal: Sequence[float] = ()):
        if not isinstance(measure, PositionDifferentiable):
            raise TypeError(
                f"SmoothedPositions needs a measure with position_gradient; {measure.name} has none. "
                "AP, nDCG, P, RR and ERR have one."
            )
        if not (steepness > 0 and truncation > 0):
            raise ValueError(f"steepness and truncation must be positive, not {steepness} and {truncation}")
        path = (0.0, *anneal, steepness)
        if any(later <= earlier for earlier, later in pairwise(path)):
            raise ValueError(
                f"anneal must rise from above 0 to below the steepness {steepness}, not {anneal}"
            )
        self.measure, self.steepness, self.truncation = measure, float(steepness), float(truncation)
        self.anneal = tuple(anneal)
        if not isinstance(measure, Certified):
            self.offers = self.offers - {ApproximationErrors}
        if not isinstance(measure, PositionFormed):
            self.offers = self.offers - {GradientKernel}
        if self.anneal:
            self.requires = frozenset({Staged})

    def easier(self) -> list["SmoothedPositions"]:
        """Return the same surrogate at each steepness of `anneal`."""
        return [
            SmoothedPositions(self.measure, steepness=steepness, truncation=self.truncation)
            for steepness in self.anneal
        ]

    @classmethod
    def audit_rows(cls, measure: Measure, queries: Queries, scores: np.ndarray) -> list[AuditRow]:
        """Return 1 − Ê on each query at two steepnesses, with its certified error."""
        if not isinstance(measure, PositionDifferentiable):
            return []
        rows = []
        for steepness in (10.0, 100.0):
            surrogate = cls(measure, steepness=steepness, truncation=10.0)
            positions = soft_positions(scores, queries.indptr, measure.n_read(queries), steepness)[0]
            values = measure.position_gradient(queries, positions, surrogate.truncation)[0]
            error = np.full(queries.n_queries, np.nan)
            if isinstance(measure, Certified):
                error = surrogate.on(queries, np.ones(queries.n_queries)).approximation_errors(scores)[1]
            name = f"smoothed, steepness {steepness:g}"
            rows.append(AuditRow(name, "approximation", 1.0 - values, error, False))
        return rows

    def work(self, queries: Queries) -> np.ndarray:
        """See `Surrogate`: a quotient for each document that is read and each document, but in long lists."""
        n_read, sizes = self.measure.n_read(queries), queries.sizes
        return np.where(sizes * n_read > LONG, 50.0 * sizes, 0.15 * n_read * sizes)

    def on(self, queries: Queries, weights: np.ndarray) -> "_SmoothedOracles":
        """Return the oracles on some queries, each with a weight."""
        return _SmoothedOracles(self, queries, weights)


class _SmoothedOracles:
    """The oracles of `SmoothedPositions` on some queries."""

    def __init__(self, surrogate: SmoothedPositions, queries: Queries, weights: np.ndarray):
        self.surrogate, self.queries, self.weights = surrogate, queries, weights
        # Positions are needed, and gradients flow back, for documents that the measure reads.
        self.n_read = np.where(weights > 0, surrogate.measure.n_read(queries), 0)

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        return self._with_slopes(scores)[0]

    def derivatives(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return value, gradient, and the curvature with the slopes of the measure held fixed."""
        first, slopes, powers = self._with_slopes(scores)
        alpha, indptr = self.surrogate.steepness, self.queries.indptr
        return *first, position_curvature(scores, powers, indptr, alpha, slopes, self.weights)

    def _with_slopes(self, scores: np.ndarray) -> tuple[tuple[float, np.ndarray], np.ndarray, list]:
        """Return value and gradient, slopes at the smooth positions, and the powers of these."""
        queries, surrogate, gradient = self.queries, self.surrogate, np.zeros_like(scores)
        alpha, weights = surrogate.steepness, self.weights
        positions, powers = soft_positions(scores, queries.indptr, self.n_read, alpha)
        values, slopes = surrogate.measure.position_gradient(queries, positions, surrogate.truncation)
        backward(scores, powers, queries.indptr, alpha, slopes, weights, gradient)
        return (float(weights @ (1.0 - values)), gradient), slopes, powers

    def approximation_errors(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how far Ê is from E for each query, and a proved bound; float64 (n_queries,), 0 if skipped.

        E is the expected value under ties. The bound holds for every order of tied documents.
        """
        queries = self.queries
        measure: Certified = self.surrogate.measure
        wide = scores.astype(np.float64)
        smooth = soft_positions(wide, queries.indptr, self.n_read, self.surrogate.steepness)[0]
        true = positions_of(queries, wide, n_read=self.n_read)
        # The farthest rank of a tied block: whatever the order of ties, no position is off by more.
        off = np.maximum(np.abs(smooth - true.above - 1.0), np.abs(smooth - true.above - true.tied))
        off[~first_of(self.n_read, queries)] = 0.0
        error = np.maximum.reduceat(off, queries.indptr[:-1])
        values = measure.position_gradient(queries, smooth, self.surrogate.truncation)[0]
        exact = measure.query_values(queries, true)
        # No measure is above that of the best ranking or below 0, which bounds the error too.
        best = measure.query_values(queries, perfect_positions(queries))
        bound = measure.approximation_bound(queries, error, self.surrogate.truncation)
        bound = np.minimum(bound, np.maximum(values, best - values))
        trains = self.n_read > 0
        return np.where(trains, np.abs(values - exact), 0.0), np.where(trains, bound, 0.0)

    def gradient_plugin(self) -> "SmoothedPlugin":
        surrogate, queries = self.surrogate, self.queries
        measure: PositionFormed = surrogate.measure
        plugin = measure.position_form(queries, surrogate.truncation)
        longest = int(queries.sizes.max(initial=1))
        return SmoothedPlugin(queries.indptr, longest, self.n_read, surrogate.steepness, self.weights, plugin)


class SmoothedPlugin(NamedTuple):
    """What `smoothed_gradient` reads."""

    indptr: np.ndarray  # (n_queries + 1,)
    longest: int  # Documents of the longest query
    # (n_queries,): Documents of each query whose position the measure reads; 0 for a query that is skipped
    n_read: np.ndarray
    steepness: float  # α
    weights: np.ndarray  # (n_queries,), float64
    measure: KernelPlugin  # The plug-in of the measure


@register_kernel(query_gradient, SmoothedPlugin)
@kernel
def smoothed_gradient(plugin, q, scores, scratch, gradient):
    """Return w (1 − Ê) of query q and write its gradient; NaN in long lists or where a score is infinite."""
    n, lead, alpha = len(scores), plugin.n_read[q], plugin.steepness
    if n * lead > LONG:
        return np.nan
    if lead == 0:
        _clear(gradient)
        return 0.0
    least, largest = extremes(scores)
    low, high = np.float64(least), np.float64(largest)
    if not high - low < np.inf:
        return np.nan
    near, middle = is_near(alpha * (high - low), scores.itemsize), 0.5 * (low + high)
    typed, wide = scratch
    # Powers and what flows back are padded to whole vectors: the quotient of a power 0 is 0.
    padded = -(-n // WIDTH) * WIDTH
    powers, flow = typed[0, :padded], typed[1, :padded]
    positions, slopes = typed[2, :lead], typed[3, :lead]
    if near:
        fill_powers(scores, alpha, middle, powers)
        _clear(powers[n:])
        forward_quotients(powers, positions)
    else:
        forward_bands(scores, alpha, positions)
    value, h = position_slopes(plugin.measure, q, positions, wide, slopes), -plugin.weights[q] * alpha
    if near:
        _clear(flow)
        backward_quotients(powers, slopes, scores.dtype.type(h), flow)
        _copy(flow, gradient)
    else:
        # A document's own large term is added and subtracted again: float32 would round the others away.
        exact = np.zeros(n)
        backward_bands(scores, alpha, slopes, h, exact)
        _copy(exact, gradient)
    return plugin.weights[q] * (1.0 - value)


@kernel
def _clear(values):
    for j in range(len(values)):
        values[j] = 0


@kernel
def _copy(values, out):
    for j in range(len(out)):
        out[j] = values[j]
