"""Bounds over all rankings of short lists, by enumeration."""

from itertools import permutations

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.measures.exchange.tables import values_at_ranks
from directrank.measures.positions import perfect_positions
from directrank.surrogates.audit_row import AuditRow
from directrank.surrogates.rankings.permutations import coefficients

#: The longest list whose rankings are enumerated; it has 720 of them.
LONGEST = 6
# Values nearer to that of the best ranking are perfect.
ROUNDING = 1e-12


def enumerated_rows(measure: Measure, queries: Queries, scores: np.ndarray) -> list[AuditRow]:
    r"""Return the sum over all pairs of rankings as a row, if no list is longer than `LONGEST`.

    .. math:: \sum_{\pi^* \in \Pi^*, \, \pi \in \Pi \setminus \Pi^*} [E(\pi^*) - E(\pi)] \,
        [1 - (F(\pi^*) - F(\pi))]_+

    F is the mean over pairs of different relevance, as in the other rows. Where the best ranking has a value
    below 1, the distance is added.

    References
    ----------
    .. [1] J. Xu, T.-Y. Liu, M. Lu, H. Li, W.-Y. Ma, "Directly optimizing evaluation measures in learning to
       rank", SIGIR 2008, Eq. (7).
    """
    if queries.longest > LONGEST:
        return []
    values = np.empty(queries.n_queries)
    for q in range(queries.n_queries):
        one = queries.part(q, q + 1)
        values[q] = _sum_of_hinges(measure, one, scores[queries.indptr[q] : queries.indptr[q + 1]])
    best = measure.query_values(queries, perfect_positions(queries))
    name = "sum of slack-rescaled hinges, Eq. (7)"
    return [AuditRow(name, "type two", values + 1.0 - best, np.zeros(queries.n_queries), True)]


def _sum_of_hinges(measure: Measure, one: Queries, scores: np.ndarray) -> float:
    rankings = np.array(list(permutations(range(one.n_docs))))
    values = values_at_ranks(measure, one, np.argsort(rankings, axis=1))
    F = np.array([coefficients(ranking, one.relevance, "cross") @ scores for ranking in rankings])
    perfect = values >= values.max() - ROUNDING
    losses, margins = values.max() - values[~perfect], F[perfect, None] - F[None, ~perfect]
    return float((losses * np.maximum(1.0 - margins, 0.0)).sum())
