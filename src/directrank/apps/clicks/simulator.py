"""Logs of clicks drawn from a known model, on judged documents ranked by rankers of your choice."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from directrank.apps.clicks.logs import ClickLog
from directrank.data import QueryGroups
from directrank.errors import DataError
from directrank.files import document_names


def click_chances(groups: QueryGroups, noise: float = 0.1) -> np.ndarray:
    """Return the probability that each document is clicked where it is examined, in row order.

    It is noise + (1 − noise) (2^y − 1) / (2^max − 1) for the grade y.
    """
    largest = max(groups.queries.max_relevance, 1.0)
    return noise + (1.0 - noise) * (np.exp2(groups.relevance) - 1.0) / (np.exp2(largest) - 1.0)


def make_clicks(
    groups: QueryGroups, rankers: Any, *, sessions: int = 10_000, eta: float | Mapping[str, float] = 1.0,
    trust: float = 0.0, noise: float = 0.1, n_ranks: int = 10, traffic: float = 0.0, shuffled: float = 0.0,
    random_state: Any = None,
) -> ClickLog:  # fmt: skip
    r"""Draw a log of clicks by the position-based model, with trust bias if asked for.

    .. math:: P(\text{click} \mid d, k) = k^{-\eta}\,(r_d + \tfrac{t}{k} (1 - r_d))

    Parameters
    ----------
    groups : QueryGroups
        Judged documents.
    rankers : ranker, array of shape (n_docs,), or mapping of str to these
        What ranked the documents: fitted rankers, or scores in row order. Each answers an equal share of
        sessions; equal scores are in random order, one for the whole log.
    sessions : int, default=10_000
        Answers to queries.
    eta : float or mapping of str to float, default=1.0
        η of the position bias, or that of each context, such as ``{"phone": 1.5, "desktop": 0.8}``; contexts
        have equal shares.
    trust : float, default=0.0
        t, the probability at the first rank that a document is clicked that is not relevant.
    noise : float, default=0.1
        The probability of a click on an examined document of grade 0; see `click_chances`.
    n_ranks : int, default=10
        Documents that are shown.
    traffic : float, default=0.0
        Queries in random order are asked in proportion to 1, 2^−a, 3^−a, … for this a.
    shuffled : float, default=0.0
        The share of sessions in which the documents that are shown are in random order.
    random_state : int or numpy.random.Generator, optional

    Returns
    -------
    ClickLog

    Raises
    ------
    DataError
        If scores do not fit the documents.

    Examples
    --------
    >>> from directrank import make_ranking
    >>> from directrank.apps.clicks import make_clicks
    >>> groups = make_ranking(20, random_state=0)
    >>> log = make_clicks(groups, {"a": groups.X[:, 0], "b": groups.X[:, 1]}, random_state=0)
    >>> log.rankers
    ('a', 'b')
    """
    rng = np.random.default_rng(random_state)
    names = {"": rankers} if not isinstance(rankers, Mapping) else rankers
    slopes = eta if isinstance(eta, Mapping) else {"": eta}
    queries, chance = groups.queries, click_chances(groups, noise)
    weight = np.arange(1.0, groups.n_queries + 1) ** -traffic
    rng.shuffle(weight)
    rows = []
    for ranker, scorer in names.items():
        scores = np.asarray(scorer.predict(groups) if hasattr(scorer, "predict") else scorer, float)
        if scores.shape != (groups.n_docs,) or not np.isfinite(scores).all():
            raise DataError(
                f"scores of ranker {ranker!r} must be finite, one for each of {groups.n_docs} rows"
            )
        inner = groups.to_inner(scores)
        ranking = queries.row[np.lexsort((rng.random(groups.n_docs), -inner, queries.query))]
        is_ranked = queries.place < n_ranks
        for context in slopes:
            share = sessions / len(names) / len(slopes)
            for mixed in (False, True):
                expected = share * (shuffled if mixed else 1.0 - shuffled)
                times = rng.multinomial(round(expected), weight / weight.sum())
                cells = _shuffled(rng, queries, times, n_ranks) if mixed else (
                    np.flatnonzero(is_ranked), queries.place[is_ranked] + 1, times[queries.query][is_ranked]
                )  # fmt: skip
                at, rank, n = (values[cells[2] > 0] for values in cells)
                p, r = rank ** -float(slopes[context]), chance[ranking[at]]
                clicks = rng.binomial(n, p * (r + trust / rank * (1.0 - r)))
                rows.append(
                    (ranking[at], rank, n, clicks, np.full(len(at), ranker), np.full(len(at), context))
                )
    row, rank, n, clicks, ranker, context = map(np.concatenate, zip(*rows, strict=True))
    return ClickLog.of_counts(
        groups.qid.astype(str)[row], document_names(groups).astype(str)[row], rank, n, clicks, ranker=ranker,
        context=context, source="make_clicks", n_rows=int(n.sum()),
    )  # fmt: skip


def _shuffled(
    rng: np.random.Generator, queries: Any, times: np.ndarray, n_ranks: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return places of the ranking, ranks and impressions of sessions that show the first in random order."""
    cells = []
    for query in np.flatnonzero(times):
        size = min(int(queries.sizes[query]), n_ranks)
        orders = np.argsort(rng.random((times[query], size)), axis=1)
        counts = np.zeros((size, size), np.int64)
        np.add.at(counts, (orders, np.arange(size)), 1)
        document, rank = np.nonzero(counts)
        cells.append((queries.indptr[query] + document, rank + 1, counts[document, rank]))
    empty = [(np.zeros(0, np.int64),) * 3]
    return tuple(map(np.concatenate, zip(*(cells or empty), strict=True)))  # pyright: ignore[reportReturnType]
