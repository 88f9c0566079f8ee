"""How far two rankings of the same queries differ, without judgments."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from directrank.apps.evaluation.runs import named_runs, run_from
from directrank.errors import DataError
from directrank.files import ReadOptions, united


class QueryDrift(NamedTuple):
    """A query with its overlap of the first results, its RBO, and the first result before and now."""

    qid: str
    overlap: float
    rbo: float
    first_before: str
    first_now: str


@dataclass(frozen=True)
class Drift:
    """The difference of two rankings.

    Attributes
    ----------
    cutoff : int
    persistence : float
    overlap : float
        Mean share of the first `cutoff` documents that both have, in any order.
    rbo : float
        Mean rank-biased overlap, extrapolated, over whole lists.
    first_changed : float
        Share of queries whose first document is another one.
    queries : list of QueryDrift
        Every query of either run, the largest change first: the smallest RBO. A query that one of the runs
        lacks has overlap 0.
    only_before, only_now : int
        Queries that only one of the runs has.
    notes : list of str
        What a reader should know of the runs.

    Examples
    --------
    >>> from directrank import drift
    >>> changed = drift({"q": {"a": 3.0, "b": 2.0}}, {"q": {"b": 3.0, "a": 2.0}}, cutoff=1)
    >>> changed.overlap, changed.queries[0].qid
    (0.0, 'q')
    """

    cutoff: int
    persistence: float
    overlap: float
    rbo: float
    first_changed: float
    queries: list[QueryDrift]
    only_before: int
    only_now: int
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {**asdict(self), "queries": [query._asdict() for query in self.queries]}


def drift(
    before: Any,
    now: Any,
    *,
    cutoff: int = 10,
    persistence: float = 0.9,
    how: ReadOptions | None = None,
) -> Drift:
    """Compare two rankings of the same queries without judgments.

    Parameters
    ----------
    before, now : path, data frame, or mapping of qid to mapping of docid to score
        Rankings, as `directrank.evaluate_runs` takes them. Equal scores are ordered by name.
    cutoff : int, default=10
        How many first documents the overlap compares.
    persistence : float, default=0.9
        The p of rank-biased overlap: the weight of rank d is (1 − p) p^(d − 1).
    how : ReadOptions, optional
        Columns of tables; guessed by their names by default.

    Returns
    -------
    Drift

    Raises
    ------
    DataError
        If a file is malformed, or the runs have no query in common.
    ValueError
        If the cutoff is below 1, or the persistence is not between 0 and 1.

    References
    ----------
    .. [1] W. Webber, A. Moffat, J. Zobel, "A similarity measure for indefinite rankings", ACM TOIS 28, 2010.

    Examples
    --------
    >>> found = drift({"q": {"a": 3.0, "b": 2.0}}, {"q": {"b": 3.0, "a": 2.0}}, cutoff=1)
    >>> found.overlap, found.first_changed, round(found.rbo, 3)
    (0.0, 1.0, 0.9)
    """
    if cutoff < 1:
        raise ValueError(f"the cutoff must be 1 or more, not {cutoff}")
    if not 0 < persistence < 1:
        raise ValueError(f"the persistence must be above 0 and below 1, not {persistence:g}")
    runs = [run_from(name, run, how) for name, run in named_runs({"before": before, "now": now}).items()]
    both = united(runs)
    queries, scores = both.queries, both.scores
    names = [str(name) for name in ([] if queries.docid is None else queries.docid.tolist())]
    found, lacking = [], [0, 0]
    for place, qid in enumerate(queries.qid.tolist()):
        rows = range(int(queries.indptr[place]), int(queries.indptr[place + 1]))
        old, new = (
            sorted(
                (row for row in rows if scores[row, at] == scores[row, at]),
                key=lambda row: (-scores[row, at], names[row]),
            )
            for at in (0, 1)
        )
        first = [names[rows_of_run[0]] if rows_of_run else "" for rows_of_run in (old, new)]
        if not old or not new:
            lacking[0] += not new
            lacking[1] += not old
            found.append(QueryDrift(str(qid), 0.0, 0.0, *first))
            continue
        longest = min(cutoff, max(len(old), len(new)))
        common = len({*old[:longest]} & {*new[:longest]}) / longest
        found.append(QueryDrift(str(qid), common, rank_biased_overlap(old, new, persistence), *first))
    n = len(found)
    if sum(lacking) == n:
        raise DataError("the runs have no query in common; give two runs of the same queries")
    return Drift(
        cutoff=cutoff,
        persistence=persistence,
        overlap=sum(query.overlap for query in found) / n,
        rbo=sum(query.rbo for query in found) / n,
        first_changed=sum(query.first_before != query.first_now for query in found) / n,
        queries=sorted(found, key=lambda query: (query.rbo, query.overlap)),
        only_before=lacking[0],
        only_now=lacking[1],
        notes=[note for run in runs for note in run.notes],
    )


def rank_biased_overlap(first: Sequence[Any], second: Sequence[Any], persistence: float) -> float:
    """Return the extrapolated rank-biased overlap of two lists without ties, (32) of Webber et al. 2010."""
    short, long = sorted((first, second), key=len)
    s, l, p = len(short), len(long), persistence  # noqa: E741
    seen_short: set[Any] = set()
    seen_long: set[Any] = set()
    common, common_at_s, total = 0, 0, 0.0
    for d in range(1, l + 1):
        new = [long[d - 1]] if d > s else [short[d - 1], long[d - 1]]
        if d <= s:
            seen_short.add(short[d - 1])
        seen_long.add(long[d - 1])
        common += sum(item in seen_short and item in seen_long for item in {*new})
        if d == s:
            common_at_s = common
        total += common / d * p**d
        if d > s:
            total += common_at_s * (d - s) / (s * d) * p**d
    return (1 - p) / p * total + ((common - common_at_s) / l + common_at_s / s) * p**l
