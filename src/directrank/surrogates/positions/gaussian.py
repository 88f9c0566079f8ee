"""The expected measure under Gaussian noise on scores: SoftRank."""

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.errors import DataError
from directrank.measures.capabilities import PositionLinear
from directrank.surrogates.positions.gaussian_kernels import expectations


class GaussianNoise:
    r"""SoftRank's: 1 − the expectation of the measure when each score is the mean of a normal variable.

    Document i beats document j with probability :math:`\pi_{ij} = \Phi((s_i - s_j) / \sqrt 2 \sigma)`. Taking
    these events for independent, how many documents beat j is a sum of n − 1 coins, and

    .. math:: 1 - \sum_j a_j \sum_r p_j(r) \, b(r)

    with the distribution :math:`p_j` of that sum, for measures :math:`E = \sum_j a_j b(\pi_j)`.

    Parameters
    ----------
    measure : PositionLinear
        nDCG, DCG, P or WTA, with or without a cutoff.
    noise : float, default=1.0
        σ > 0, in score units. As it falls the value tends to 1 − E.
    longest : int, default=1500
        Queries with more documents are refused: the exact distributions of R documents among n cost O(R n²)
        steps, and as much memory as n² scores.

    Raises
    ------
    TypeError
        If the measure does not add up over documents.
    DataError
        On data with a longer query.

    Traits
    ------
    bound: no. convex: no. smooth: yes. shift-invariant in scores: yes.

    Notes
    -----
    For a linear scorer only σ over the size of the coefficients matters: train with a penalty. Expected
    positions are exact; the distributions of the documents of a query do not add up to 1 at each position.

    References
    ----------
    .. [1] M. Taylor, J. Guiver, S. Robertson, T. Minka, "SoftRank: optimizing non-smooth rank metrics",
       WSDM 2008.
    """

    offers = frozenset({"value_and_gradient"})
    is_bound, is_convex, is_smooth = False, False, True
    audit_name = "expected under noise on scores"

    def __init__(self, measure: Measure, *, noise: float = 1.0, longest: int = 1500):
        if not isinstance(measure, PositionLinear):
            raise TypeError(
                f"GaussianNoise needs a measure that adds up over documents by position; "
                f"{measure.name} does not. nDCG, DCG, P and WTA do."
            )
        if not noise > 0:
            raise ValueError(f"noise must be positive, not {noise}")
        self.measure, self.noise, self.longest = measure, float(noise), int(longest)

    @property
    def name(self) -> str:
        """The surrogate with its measure."""
        return f"GaussianNoise({self.measure.name})"

    def constant(self, queries: Queries) -> np.ndarray:
        """Queries on which the measure cannot change."""
        return self.measure.constant(queries)

    def bind(self, queries: Queries, weights: np.ndarray) -> "BoundGaussian":
        """Bind to some queries with a weight each."""
        too_long = (queries.sizes > self.longest) & (weights > 0)
        if too_long.any():
            query = int(np.argmax(too_long))
            raise DataError(
                f"query {queries.qid[query]} has {queries.sizes[query]} documents, more than longest="
                f"{self.longest}: the time for exact distributions of positions grows as their cube. Raise "
                "longest=, shorten the query, or use SmoothedPositions, which grows as the square"
            )
        return BoundGaussian(self, queries, weights)


class BoundGaussian:
    """The oracles of `GaussianNoise` on some queries."""

    def __init__(self, surrogate: GaussianNoise, queries: Queries, weights: np.ndarray):
        self.noise, self.queries, self.weights = surrogate.noise, queries, weights
        self.leading = np.where(weights > 0, surrogate.measure.leading(queries), 0)
        self.gain, self.worth = surrogate.measure.linear_in_positions(queries)

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum of 1 − the expectation and its derivative with respect to each score."""
        gradient = np.zeros_like(scores)
        expected = expectations(
            scores,
            self.queries.indptr,
            self.leading,
            self.gain,
            self.worth,
            self.noise,
            self.weights,
            gradient,
        )
        return float(self.weights.sum() - expected), gradient
