"""How far a measure at smooth positions can be from the measure, given the error of the positions."""

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.measures import AP, NDCG
from directrank.measures.positions import positions_of


def certified_error(
    measure: Measure, queries: Queries, scores: np.ndarray, positions: np.ndarray, truncation: float
) -> np.ndarray:
    r"""Bound the error of each query, float64 (n_queries,); NaN where no theorem says anything.

    With ε the largest error of a position: :math:`\varepsilon / (2 \ln 2)` for nDCG, and for AP, ε < 1/2 and
    :math:`\tau = 1 / (1 + e^{\beta (1 - 2 \varepsilon)})`,
    :math:`[\varepsilon + (R - 1) \tau] \frac1R \sum_{i \le R} 1 / \max(1, i - \varepsilon)`. Both need scores
    without ties and measures without a cutoff.

    References
    ----------
    .. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010, Theorems 2 and 3.
    """
    errors = np.full(queries.n_queries, np.nan)
    if measure.cutoff is not None or not isinstance(measure, AP | NDCG):  # type: ignore[attr-defined]
        return errors
    if isinstance(measure, NDCG) and measure.discount != "log2":
        return errors
    hard = positions_of(queries, scores)
    leading = measure.leading(queries)
    for q in range(queries.n_queries):
        read = slice(queries.indptr[q], queries.indptr[q] + leading[q])
        if leading[q] == 0 or (hard.tied[read] > 1).any():
            continue
        epsilon = float(np.abs(positions[read] - (hard.above[read] + 1.0)).max())
        errors[q] = _ap_error(epsilon, leading[q], truncation) if isinstance(measure, AP) else epsilon / LOG_4
    return np.minimum(errors, 1.0)


LOG_4 = 2.0 * float(np.log(2.0))


def _ap_error(epsilon: float, n_relevant: int, truncation: float) -> float:
    if epsilon >= 0.5:
        return 1.0
    tau = 1.0 / (1.0 + np.exp(truncation * (1.0 - 2.0 * epsilon)))
    places = np.arange(1, n_relevant + 1)
    return (epsilon + (n_relevant - 1) * tau) * float((1.0 / np.maximum(1.0, places - epsilon)).mean())
