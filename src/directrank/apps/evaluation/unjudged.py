"""The least and the largest value that a measure could have if documents without a judgment had grades."""

from collections.abc import Callable, Mapping

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.errors import DataError
from directrank.measures import NDCG
from directrank.measures.dcg import gains_of_grades
from directrank.measures.families.definition import first_of
from directrank.measures.families.gain_sum import cut_discounts
from directrank.measures.positions import Positions

Evaluated = Callable[[Queries, Mapping[str, Measure]], dict[str, np.ndarray]]


def unjudged_bounds(
    computed: Mapping[str, Measure],
    queries: Queries,
    positions: Positions,
    retrieved: np.ndarray,
    grade: float,
    values: Evaluated,
) -> dict[str, np.ndarray]:
    """Return the least and the largest value of each measure and query over grades of unjudged documents.

    `positions` are those of all documents, which do not depend on grades; `retrieved` says which documents
    the ranking holds, in the inner order; `grade` is the largest grade; `values` evaluates measures on
    queries with other grades. Raises DataError if the bounds of a measure are not known.

    Every document of the ranking without a judgment has some grade from 0 to the largest one. Documents that
    the ranking does not hold keep theirs: they count as not relevant, as everywhere.

    - A measure that rises with each grade is least where all are 0, and largest where all have the largest.
    - Of a measure that rises where an irrelevant document and a relevant one below it swap grades, the
      extremes for each number m of relevant documents are at the m first and at the m last of the unjudged
      ones.
    - nDCG is a linear function of the gains divided by a convex one, so that it is least at a corner: grades
      0 and the largest, and by swaps the m last. For its largest value see `largest_ndcg`.
    """
    unknown = [name for name, measure in computed.items() if measure.over_grades is None]
    if unknown:
        raise DataError(
            f"the bounds of {unknown[0]} over unjudged documents are not known; leave it out, or ask for AP, "
            "nDCG, P, RR, R, Rprec, RBP, ERR or DCG"
        )
    unjudged = retrieved & ~first_of(queries.n_judged, queries)
    query = queries.query
    place = np.full(queries.n_docs, -1)
    ranking = np.flatnonzero(unjudged)[np.lexsort((positions.above[unjudged], query[unjudged]))]
    count = np.bincount(query[ranking], minlength=queries.n_queries)
    place[ranking] = np.arange(len(ranking)) - np.repeat(np.cumsum(count) - count, count)
    most = int(count.max(initial=0))
    bounds = {name: np.full((2, queries.n_queries), [[np.inf], [-np.inf]]) for name in computed}
    for m in range(most + 1):
        changing = {
            name: measure
            for name, measure in computed.items()
            if m in (0, most) or measure.over_grades == "swaps"
        }
        for best in (False, True):
            which = unjudged & ((place < m) if best else (place >= count[query] - m))
            for name, measured in values(_graded(queries, query, which, grade), changing).items():
                bounds[name][0] = np.fmin(bounds[name][0], measured)
                bounds[name][1] = np.fmax(bounds[name][1], measured)
    for name, measure in computed.items():
        if isinstance(measure, NDCG):
            bounds[name][1] = largest_ndcg(measure, queries, positions, unjudged, retrieved, grade)
    return bounds


def _graded(queries: Queries, query: np.ndarray, which: np.ndarray, grade: float) -> Queries:
    """Return queries where some documents have a grade."""
    relevance = np.where(which, grade, queries.relevance)
    order = np.lexsort((-relevance, query))
    docid = None if queries.docid is None else queries.docid[order]
    return Queries(relevance[order], queries.indptr, queries.row[order], queries.qid, docid)


def largest_ndcg(
    measure: NDCG,
    queries: Queries,
    positions: Positions,
    unjudged: np.ndarray,
    retrieved: np.ndarray,
    grade: float,
) -> np.ndarray:
    """Return the largest nDCG of each query over grades from 0 to `grade` of unjudged documents.

    Notes
    -----
    The value is N/D, and the largest λ has max(N − λD) = 0 (Dinkelbach, 1967). Gains add up over levels, the
    grades of judged documents and `grade`: with n_h documents of level h or more, D is the sum over levels of
    the step of the gain times the ideal of n_h equal documents. So each level has its own best number of
    unjudged documents, the first ones, which can only fall with the level: the ideal is concave in n_h.
    """
    ideal = cut_discounts(measure, max(queries.longest, 1))[1]
    last = np.minimum(positions.above + positions.tied, len(ideal) - 1)
    discount = np.where(
        retrieved, (ideal[last] - ideal[np.minimum(positions.above, last)]) / positions.tied, 0.0
    )
    values = np.zeros(queries.n_queries)
    for q, (start, stop) in enumerate(zip(queries.indptr[:-1], queries.indptr[1:], strict=True)):
        block = slice(int(start), int(stop))
        grades, discounts, open_ = queries.relevance[block], discount[block], unjudged[block]
        levels = np.unique(np.append(grades[grades > 0], grade))
        steps = np.diff(gains_of_grades(levels, measure.gain), prepend=0.0)
        first = np.append(0.0, np.cumsum(np.sort(discounts[open_])[::-1]))
        judged = grades >= levels[:, None]
        gained, n_judged = judged @ discounts, judged.sum(axis=1)
        gains, norms = gained[:, None] + first, ideal[n_judged[:, None] + np.arange(len(first))]
        value, better = -1.0, 0.0
        while better > value:
            value = better
            best = np.argmax(gains - value * norms, axis=1)[:, None]
            n, d = (steps @ np.take_along_axis(part, best, axis=1)[:, 0] for part in (gains, norms))
            better = n / d if d > 0 else 0.0
        values[q] = min(value, 1.0)
    return values
