"""The expected measure under Gaussian noise on scores: SoftRank."""

import numpy as np

from directrank.contracts import Curvature, Measure, Surrogate, ValueAndGradient
from directrank.data.queries import Queries
from directrank.errors import DataError
from directrank.measures.capabilities import PositionLinear
from directrank.surrogates.audit_row import AuditRow, row_of_values
from directrank.surrogates.bound import BoundKernel
from directrank.surrogates.positions.gaussian_curvature import curvatures
from directrank.surrogates.positions.gaussian_kernels import expectations


class GaussianNoise(Surrogate):
    r"""SoftRank's loss: 1 − the expectation of the measure when each score is the mean of a normal variable.

    Document i beats document j with probability :math:`\pi_{ij} = \Phi((s_i - s_j) / \sqrt 2 \sigma)`. Taking
    these events for independent, the number of documents that beat j is a sum of n − 1 coin tosses, and

    .. math:: 1 - \sum_j a_j \sum_r p_j(r) \, b(r)

    with the distribution :math:`p_j` of that sum, for measures :math:`E = \sum_j a_j b(\pi_j)`.

    Parameters
    ----------
    measure : PositionLinear
        nDCG, DCG, P or WTA, with or without a cutoff.
    noise : float, default=1.0
        σ > 0, in score units. As it falls the value tends to 1 − E.
    longest : int, default=5000
        Largest number of documents of a query; longer ones are refused. The exact distributions of R
        relevant documents among n cost O(R n²) steps, and as much memory as n² scores.

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

    The curvature is at least the absolute value of the second derivative at the scores. The expected value
    :math:`E_j` of b at the position of document j is linear in the probability of each document to beat it,
    so that with :math:`e_{ij} = e^{-1/2 - z_{ij}^2 / 2} \ge |z_{ij}| e^{-z_{ij}^2}`
    to be positive where documents are tied, it is

    .. math:: \sum_j \Bigl( a_j \Bigl| \frac{\partial E_j}{\partial \pi_{ij}} \Bigr| + a_i \Bigl|
        \frac{\partial E_i}{\partial \pi_{ji}} \Bigr| \Bigr) \frac{e_{ij}}{2 \sqrt\pi \sigma^2}
        + a_i \Bigl| \sum_{j \ne k} \frac{\partial^2 E_i}{\partial \pi_{ji} \partial \pi_{ki}} \,
        \pi_{ji}' \pi_{ki}' \Bigr|, \qquad z_{ij} = \frac{s_i - s_j}{2 \sigma}, \quad
        \pi_{ji}' = \frac{e^{-z_{ij}^2}}{2 \sqrt\pi \sigma}

    References
    ----------
    .. [1] M. Taylor, J. Guiver, S. Robertson, T. Minka, "SoftRank: optimizing non-smooth rank metrics",
       WSDM 2008.
    """

    offers = frozenset({ValueAndGradient, Curvature})
    is_bound, is_convex, is_smooth = False, False, True

    def __init__(self, measure: Measure, *, noise: float = 1.0, longest: int = 5000):
        if not isinstance(measure, PositionLinear):
            raise TypeError(
                f"GaussianNoise needs a measure that adds up over documents by position; "
                f"{measure.name} does not. nDCG, DCG, P and WTA do."
            )
        if not noise > 0:
            raise ValueError(f"noise must be positive, not {noise}")
        self.measure, self.noise, self.longest = measure, float(noise), int(longest)

    @classmethod
    def audit_rows(cls, measure: Measure, queries: Queries, scores: np.ndarray) -> list[AuditRow]:
        """Return the value on each query, for measures that it accepts."""
        if not isinstance(measure, PositionLinear):
            return []
        return [row_of_values("expected under noise on scores", cls(measure), queries, scores)]

    def work(self, queries: Queries) -> np.ndarray:
        """See `Surrogate`: a distribution for each relevant document."""
        gain, _ = self.measure.linear_in_positions(queries)
        relevant = np.add.reduceat((gain > 0).astype(np.float64), queries.indptr[:-1])
        return 0.1 * relevant * queries.sizes**2.0

    def bind(self, queries: Queries, weights: np.ndarray) -> BoundKernel:
        """Bind to some queries with a weight each."""
        too_long = (queries.sizes > self.longest) & (weights > 0)
        if too_long.any():
            query = int(np.argmax(too_long))
            raise DataError(
                f"query {queries.qid[query]} has {queries.sizes[query]} documents, more than longest="
                f"{self.longest}: the memory for exact distributions of positions grows as their square. "
                "Raise longest=, shorten the query, or use SmoothedPositions, which needs none"
            )
        n_read = np.where(weights > 0, self.measure.n_read(queries), 0)
        gain, curve = self.measure.linear_in_positions(queries)
        return BoundKernel(expectations, curvatures, queries.indptr, n_read, gain, curve, self.noise, weights)
