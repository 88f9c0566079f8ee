"""What else is kept of a tested model: nDCG at every place, what ties do, and how tight its bounds are."""

import math
from typing import Any

import numpy as np

from directrank.data import QueryGroups
from directrank.diagnostics import audit_scores
from directrank.errors import DataError
from directrank.measures import evaluate

#: nDCG is kept at the cutoffs 1 … PLACES.
PLACES = 10
#: An audit looks at so many documents at most, in whole queries, and at no query with more than LONGEST.
AUDITED, LONGEST = 10_000, 1_000

Record = dict[str, Any]


def curve(test: QueryGroups, scores: np.ndarray, convention: str) -> list[float]:
    """Return mean nDCG@1 … nDCG@10 of scores, each in [0, 1]."""
    names = [f"nDCG@{place}" for place in range(1, PLACES + 1)]
    found = evaluate(test, scores, measures=names, convention=convention)
    return [found[name] for name in names]


def ties(test: QueryGroups, scores: np.ndarray, measures) -> Record:
    """Return how many documents and queries ties concern, and the values if they kept the order of rows.

    Parameters
    ----------
    test : QueryGroups
    scores : ndarray of shape (n_docs,)
        In the caller's row order.
    measures : sequence of str
        Reported in the standard convention, but for ties.

    Returns
    -------
    dict
        ``documents`` that share their score with another of their query; ``queries`` with two such of
        different relevance, where their order matters; ``input``, values by measure.
    """
    queries, inner = test.queries, test.to_inner(scores)
    query = np.repeat(np.arange(queries.n_queries), queries.sizes)
    order = np.lexsort((queries.relevance, inner, query))
    same = (query[order[1:]] == query[order[:-1]]) & (inner[order[1:]] == inner[order[:-1]])
    tied = np.zeros(queries.n_docs, dtype=bool)
    tied[:-1] |= same
    tied[1:] |= same
    unlike = same & (queries.relevance[order[1:]] != queries.relevance[order[:-1]])
    return {
        "documents": int(tied.sum()),
        "queries": len(np.unique(query[order[1:][unlike]])),
        "input": dict(evaluate(test, scores, measures=measures, ties="input")),
    }


def bounds(test: QueryGroups, scores: np.ndarray, measure: str) -> Record | None:
    """Return the audit's summaries of scores of the test part, or None if there is nothing to audit.

    Long parts are audited on whole queries spread evenly over them, so that the time has a limit.
    """
    rows = _spread(test)
    if not rows.any():
        return None
    some = test if rows.all() else QueryGroups(test.X[rows], test.relevance[rows], test.qid[rows])
    try:
        found = audit_scores(scores[rows], some, measure)
    except DataError:  # the measure is the same for every ranking of these queries
        return None
    names = ("name", "kind", "mean", "distance", "largest", "loosest", "holds")
    summaries = [{name: getattr(each, name) for name in names} for each in found.summaries()]
    return {
        "measure": found.measure,
        "queries": len(found.qid),
        "loss": math.fsum(found.loss.tolist()) / len(found.loss),
        "rows": summaries,
    }


def _spread(groups: QueryGroups) -> np.ndarray:
    """Return which rows to audit, (n_docs,) bool: whole queries spread evenly, none of them too long."""
    sizes = groups.queries.sizes
    fit = np.flatnonzero(sizes <= LONGEST)
    step = max(1, math.ceil(int(sizes[fit].sum()) / AUDITED))
    return np.isin(groups.qid, groups.queries.qid[fit[::step]])
