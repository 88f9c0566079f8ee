"""Diagnostics of a model on test data: nDCG at each cutoff, the effect of ties, and its bounds."""

import math
from typing import Any

import numpy as np

from directrank.data import QueryGroups
from directrank.data.queries import Queries
from directrank.diagnostics import audit_scores
from directrank.errors import DataError
from directrank.measures import evaluate

#: nDCG is computed at the cutoffs 1 … CUTOFFS.
CUTOFFS = 10
#: The largest number of audited documents, in whole queries, none of which is longer than LONGEST.
AUDITED, LONGEST = 10_000, 1_000

Record = dict[str, Any]


def curve(test: QueryGroups | Queries, scores: np.ndarray, convention: str, retrieved=None) -> list[float]:
    """Return mean nDCG@1 … nDCG@10 of scores, each in [0, 1]; `retrieved` as in `evaluate`."""
    names = [f"nDCG@{cutoff}" for cutoff in range(1, CUTOFFS + 1)]
    found = evaluate(test, scores, measures=names, convention=convention, retrieved=retrieved)
    return [found[name] for name in names]


def ties(test: QueryGroups | Queries, scores: np.ndarray, measures, retrieved=None) -> Record:
    """Count the documents and queries that ties affect, and evaluate with ties in the order of rows.

    Parameters
    ----------
    test : QueryGroups or Queries
    scores : ndarray of shape (n_docs,)
        In the caller's row order; NaN is tied with nothing.
    retrieved : ndarray of shape (n_docs,), bool, optional
        See `evaluate`.
    measures : sequence of str
        Evaluated in the standard convention, except for ties.

    Returns
    -------
    dict
        ``documents`` with the score of another document of their query; ``queries`` with a tie between
        different grades, whose order matters; ``input``, the values by measure.
    """
    queries = test if isinstance(test, Queries) else test.queries
    inner = scores[queries.row]
    query = np.repeat(np.arange(queries.n_queries), queries.sizes)
    order = np.lexsort((queries.relevance, inner, query))
    same = (query[order[1:]] == query[order[:-1]]) & (inner[order[1:]] == inner[order[:-1]])
    tied = np.zeros(queries.n_docs, dtype=bool)
    tied[:-1] |= same
    tied[1:] |= same
    differ = same & (queries.relevance[order[1:]] != queries.relevance[order[:-1]])
    return {
        "documents": int(tied.sum()),
        "queries": len(np.unique(query[order[1:][differ]])),
        "input": dict(evaluate(test, scores, measures=measures, ties="input", retrieved=retrieved)),
    }


def bounds(test: QueryGroups, scores: np.ndarray, measure: str) -> Record | None:
    """Return the audit's summaries for scores of the test set, or None if there is nothing to audit.

    To limit the time, large test sets are audited on some of their queries, spread evenly.
    """
    rows = _spread(test)
    if not rows.any():
        return None
    audited = test if rows.all() else QueryGroups(test.X[rows], test.relevance[rows], test.qid[rows])
    try:
        found = audit_scores(scores[rows], audited, measure)
    except DataError:  # the measure is the same for every ranking of these queries
        return None
    summaries = [{k: v for k, v in vars(each).items() if k != "error"} for each in found.summaries()]
    return {
        "measure": found.measure,
        "queries": len(found.qid),
        "loss": math.fsum(found.loss.tolist()) / len(found.loss),
        "rows": summaries,
    }


def _spread(groups: QueryGroups) -> np.ndarray:
    """Return which rows to audit, bool (n_docs,): whole queries spread evenly, none of them too long."""
    sizes = groups.queries.sizes
    fit = np.flatnonzero(sizes <= LONGEST)
    step = max(1, math.ceil(int(sizes[fit].sum()) / AUDITED))
    return np.isin(groups.qid, groups.queries.qid[fit[::step]])
