"""A measure at smooth positions: a differentiable approximation of it."""

import numpy as np

from directrank.contracts import AuditRow, Measure, PositionDifferentiable
from directrank.data.queries import Queries
from directrank.surrogates.smoothed_error import certified_error
from directrank.surrogates.smoothed_kernels import backward, soft_positions


class SmoothedPositions:
    r"""1 − E at smooth positions.

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
        β > 0, in 1/position, for measures that compare positions (AP, cutoffs).

    Raises
    ------
    TypeError
        If the measure has no ``position_gradient``.

    Traits
    ------
    bound: no. convex: no. smooth: yes. shift-invariant in scores: yes.

    Notes
    -----
    One evaluation costs O(n R) per query, R documents with a gain among n.

    References
    ----------
    .. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010, Eqs. (11)-(16).
    """

    offers = frozenset({"value_and_gradient"})
    is_bound, is_convex, is_smooth = False, False, True

    def __init__(self, measure: Measure, *, steepness: float = 10.0, truncation: float = 1.0):
        if not isinstance(measure, PositionDifferentiable):
            raise TypeError(
                f"SmoothedPositions needs a measure with position_gradient; {measure.name} has none. "
                "AP, nDCG and P have one."
            )
        if not (steepness > 0 and truncation > 0):
            raise ValueError(f"steepness and truncation must be positive, not {steepness} and {truncation}")
        self.measure, self.steepness, self.truncation = measure, float(steepness), float(truncation)

    @property
    def name(self) -> str:
        """The surrogate with its measure."""
        return f"SmoothedPositions({self.measure.name})"

    def constant(self, queries: Queries) -> np.ndarray:
        """Queries on which the measure cannot change."""
        return self.measure.constant(queries)

    @classmethod
    def audit_rows(cls, measure: Measure, queries: Queries, scores: np.ndarray) -> list[AuditRow]:
        """Return 1 − Ê on each query at two steepnesses, with its certified error; scores as they are."""
        if not isinstance(measure, PositionDifferentiable):
            return []
        rows = []
        for steepness in (10.0, 100.0):
            surrogate = cls(measure, steepness=steepness, truncation=10.0)
            leading = measure.leading(queries)
            positions = soft_positions(scores, queries.indptr, leading, steepness)[0]
            values = measure.position_gradient(queries, positions, surrogate.truncation)[0]
            error = certified_error(measure, queries, scores, positions, surrogate.truncation)
            name = f"smoothed, steepness {steepness:g}"
            rows.append(AuditRow(name, "approximation", 1.0 - values, error, False))
        return rows

    def bind(self, queries: Queries, weights: np.ndarray) -> "BoundSmoothed":
        """Bind to some queries with a weight each."""
        return BoundSmoothed(self, queries, weights)


class BoundSmoothed:
    """The oracles of `SmoothedPositions` on some queries."""

    def __init__(self, surrogate: SmoothedPositions, queries: Queries, weights: np.ndarray):
        self.surrogate, self.queries, self.weights = surrogate, queries, weights
        # Positions are needed, and gradients flow back, for documents that the measure reads.
        self.leading = np.where(weights > 0, surrogate.measure.leading(queries), 0)

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum of 1 − Ê and its derivative with respect to each score."""
        alpha = self.surrogate.steepness
        indptr = self.queries.indptr
        positions, powers = soft_positions(scores, indptr, self.leading, alpha)
        values, slopes = self.surrogate.measure.position_gradient(
            self.queries, positions, self.surrogate.truncation
        )
        gradient = np.zeros_like(scores)
        backward(scores, powers, indptr, self.leading, alpha, slopes, self.weights, gradient)
        return float(self.weights @ (1.0 - values)), gradient
