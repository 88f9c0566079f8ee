"""Any measure along a line of scores: evaluated between all breakpoints of each query."""

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.measures.positions import positions_of

#: Documents of all copies of a query that are evaluated at once.
BATCH_DOCS = 2**18


def add_evaluated(
    measure: Measure, queries: Queries, weights: np.ndarray, scores: np.ndarray, direction: np.ndarray,
    low: float, width: float, out: np.ndarray,
) -> None:  # fmt: skip
    """Add a measure of ``scores + t · direction`` to bins of t; see `directrank.surrogates.lines.walks`."""
    high = low + (out.shape[1] - 1) * width
    for q in np.flatnonzero(weights):
        rows = slice(int(queries.indptr[q]), int(queries.indptr[q + 1]))
        part, s, d = queries.part(int(q), int(q) + 1), scores[rows], direction[rows]
        times = _breakpoints(s, d, int(measure.n_read(part)[0]), low, high)
        edges = np.concatenate(([low], times, [high]))
        values = weights[q] * _values(measure, part, s, d, 0.5 * (edges[1:] + edges[:-1]))
        place = (times - low) / width
        at = np.minimum(place.astype(np.int64), out.shape[1] - 2)
        changes = np.diff(values)
        np.add.at(out[0], at, changes)
        np.add.at(out[1], at, changes * (at + 1.0 - place) * width)
        out[0, -1] += values[0]


def _breakpoints(s: np.ndarray, d: np.ndarray, n_read: int, low: float, high: float) -> np.ndarray:
    """Return where a document that is read changes places with another one, ascending, between the ends."""
    slope, gap = d[None, :] - d[:n_read, None], s[None, :] - s[:n_read, None]
    times = np.unique(-gap[slope != 0] / slope[slope != 0])
    return times[(times > low) & (times < high)]


def _values(measure: Measure, query: Queries, s: np.ndarray, d: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the value of one query after steps of some sizes, (n_sizes,)."""
    n, found = len(s), []
    for chunk in np.array_split(sizes, max(1, len(sizes) * n // BATCH_DOCS)):
        k = len(chunk)
        copies = Queries(
            np.tile(query.relevance, k), np.arange(k + 1) * n, np.arange(k * n), np.arange(k),
            standardised=query.standardised,
        )  # fmt: skip
        moved = (s + chunk[:, None] * d).ravel()
        positions = positions_of(copies, moved, n_read=measure.n_read(copies))
        found.append(measure.query_values(copies, positions))
    return np.concatenate(found)
