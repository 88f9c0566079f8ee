"""How far two sets of judgments agree, such as people's and a language model's: on grades, and on systems."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrank.apps.evaluation.evaluation import evaluate
from directrank.apps.evaluation.runs import Judged, Submission, named_runs
from directrank.apps.evaluation.significance import LEVEL, Estimate
from directrank.contracts import Measure
from directrank.errors import DataError
from directrank.files import (
    ReadOptions,
    columns_of,
    read_columns,
    refuse_absent_columns,
    table_columns,
)
from directrank.measures import DEFAULT_MEASURE, parse_measure

#: Resampled sets of queries for an interval.
RESAMPLES = 2_000


class Disagreement(NamedTuple):
    """A document with both grades."""

    qid: str
    docid: str
    first: float
    second: float


@dataclass(frozen=True, eq=False)
class Agreement:
    """The agreement of two sets of judgments.

    Intervals are plain percentiles of the bootstrap over queries. Those of means are wider where queries are
    few (`bootstrap_interval`), by a factor that is of means alone: κ, α and τ are none.

    Attributes
    ----------
    n_queries, n_documents : int
        What both have judged.
    only_first, only_second : int
        Documents that one of them has not judged; they are left out.
    grades : ndarray of shape (n_grades,)
    counts : ndarray of shape (n_grades, n_grades), int64
        Documents by the first grade, in rows, and the second.
    kappa : Estimate
        Cohen's κ, with squares of differences as weights.
    alpha : Estimate
        Krippendorff's α for ordered grades.
    measure : str
    systems : dict of str to (float, float)
        The mean of the measure for each run, under the first and under the second judgments.
    tau : Estimate, or None
        Kendall's τ-b of the two orders of systems; None with fewer than two runs.
    most : list of Disagreement
        Documents that both have judged, the largest differences first.
    notes : list of str
        What a reader should know of the judgments and the runs.

    Examples
    --------
    >>> from directrank import agreement
    >>> people = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 0, "d": 1}}
    >>> model = {"q1": {"a": 2, "b": 1, "c": 1}, "q2": {"a": 0, "d": 1}}
    >>> found = agreement(people, model)
    >>> print(f"{found.kappa.value:.3f} {found.alpha.value:.3f} {found.most[0].docid}")
    0.800 0.794 b
    """

    n_queries: int
    n_documents: int
    only_first: int
    only_second: int
    grades: np.ndarray
    counts: np.ndarray
    kappa: Estimate
    alpha: Estimate
    measure: str
    systems: dict[str, tuple[float, float]]
    tau: Estimate | None
    most: list[Disagreement]
    notes: list[str] = field(default_factory=list)


def agreement(
    first: Any,
    second: Any = None,
    runs: Any = (),
    *,
    judges: Sequence[str] | None = None,
    measure: str | Measure = DEFAULT_MEASURE,
    random_state: int = 0,
    how: ReadOptions | None = None,
) -> Agreement:
    """Compare two sets of judgments: their grades, and the order of systems under each.

    Parameters
    ----------
    first, second : path, QueryGroups, data frame, or mapping of qid to mapping of docid to grade
        TREC qrels or labelled documents. Documents with grades below 0 are not judged.
        Without `second`, `first` is a table with a column of grades for each of two `judges`.
    runs : sequence of rankings, or mapping of str to ranking, optional
        The systems, as in `evaluate_runs`.
    judges : sequence of str, optional
        Two columns of `first`; an empty cell is a document that this judge has not judged.
    measure : str or Measure, default="nDCG@10"
        The measure that orders systems, over the queries that both have judged.
    random_state : int, default=0
        Of the resampled queries.
    how : ReadOptions, optional
        Columns of tables, of both judgments; guessed by their names by default.

    Returns
    -------
    Agreement

    Raises
    ------
    DataError
        If no document is judged by both, or a file is malformed.

    References
    ----------
    .. [1] J. Cohen, "Weighted kappa: nominal scale agreement with provision for scaled disagreement or
       partial credit", Psychological Bulletin 70, 1968.
    .. [2] K. Krippendorff, "Computing Krippendorff's alpha-reliability", 2011.
    """
    how = replace(how or ReadOptions(), features=())  # Measures read none.
    if (judges is None) == (second is None):
        raise ValueError("give two sets of judgments, or one table and two judges: columns of it")
    if judges is None:
        refuse_absent_columns([first, second], how)
        sides = Judged(first, how), Judged(second, how)
    else:
        sides = _of_judges(first, judges, how)
    ours, theirs = (side.judgments(words=True, numbered=False).by_name() for side in sides)
    both = [name for name in ours if name in theirs]
    if not both:
        some, other = (next(iter(grades), ("none", "none")) for grades in (ours, theirs))
        raise DataError(
            f"{sides[0].source} and {sides[1].source} have no judged document in common: they are called "
            f"{' '.join(some)} and {' '.join(other)}, for example"
        )
    grades, codes = np.unique([[ours[name], theirs[name]] for name in both], return_inverse=True)
    codes, n = codes.reshape(-1, 2), len(grades)
    qids = list(dict.fromkeys(qid for qid, _ in both))
    place = {qid: at for at, qid in enumerate(qids)}
    query = np.array([place[qid] for qid, _ in both])
    cells = np.ravel_multi_index((query, codes[:, 0], codes[:, 1]), (len(qids), n, n))
    counts = np.bincount(cells, minlength=len(qids) * n * n).reshape(len(qids), n, n)
    chosen = parse_measure(measure)
    submissions = [
        judged.submission(*named)
        for named in (named_runs(runs) if len(runs) else {}).items()
        for judged in sides
    ]
    values = _values(submissions, chosen, set(qids))
    times = _resampled(len(qids), random_state)
    differing = sorted((-abs(ours[name] - theirs[name]), name) for name in both if ours[name] != theirs[name])
    return Agreement(
        n_queries=len(qids),
        n_documents=len(both),
        only_first=len(ours) - len(both),
        only_second=len(theirs) - len(both),
        grades=grades,
        counts=counts.sum(axis=0),
        kappa=_estimate(lambda cells: weighted_kappa(cells, grades), counts, times),
        alpha=_estimate(krippendorff_alpha, counts, times),
        measure=chosen.name,
        systems={name: (float(pair[0].mean()), float(pair[1].mean())) for name, pair in values.items()},
        tau=_tau(np.array([*values.values()]), random_state) if len(values) > 1 else None,
        most=[Disagreement(*name, ours[name], theirs[name]) for _, name in differing],
        notes=list(dict.fromkeys(chain(sides[0].notes, sides[1].notes, *(one.notes for one in submissions)))),
    )


def _of_judges(table: Any, judges: Sequence[str], how: ReadOptions) -> tuple[Judged, Judged]:
    """Return the judgments of two columns of a table: each the rows where its cell is not empty."""
    if len(judges) != 2 or judges[0] == judges[1]:
        raise ValueError(f"judges are two columns of the table, not {', '.join(judges)}")
    import narwhals as nw

    hows = [replace(how, label=judge) for judge in judges]
    if not hasattr(table, "columns"):
        import pyarrow

        path = Path(table)
        table_columns(path)  # which refuses a file that is no table
        columns: Any = columns_of(path, hows[0])
        names = {name: str for name in (columns.qid, columns.docid) if name is not None}

        table = pyarrow.Table.from_batches(read_columns(path, {**names, **dict.fromkeys(judges, float)}))
    frame = nw.from_native(table, eager_only=True)
    sides = []
    for judge, one in zip(judges, hows, strict=True):
        empty = frame.get_column(judge).is_null()
        if frame.get_column(judge).dtype.is_float():
            empty = empty | frame.get_column(judge).is_nan()
        sides.append(Judged(frame.filter(~empty).to_native(), one))
        sides[-1].source = judge
    return sides[0], sides[1]


def weighted_kappa(counts: np.ndarray, grades: np.ndarray) -> np.ndarray:
    """Return Cohen's κ of tables of counts, (..., n_grades, n_grades), with squares as weights; [1]_."""
    weights = (grades[:, None] - grades) ** 2
    expected = (
        counts.sum(-1)[..., :, None] * counts.sum(-2)[..., None, :] / counts.sum((-1, -2))[..., None, None]
    )
    return _one_less((weights * counts).sum((-1, -2)), (weights * expected).sum((-1, -2)))


def krippendorff_alpha(counts: np.ndarray) -> np.ndarray:
    """Return Krippendorff's α of tables of counts, (..., n_grades, n_grades), for ordered grades; [2]_.

    The distance of two grades is the difference of their mean ranks among all grades given.
    """
    totals = counts.sum(-1) + counts.sum(-2)
    ranks, n = totals.cumsum(-1) - totals / 2, totals.sum(-1)
    distance = (ranks[..., :, None] - ranks[..., None, :]) ** 2
    observed = (distance * counts).sum((-1, -2)) * 2 / n
    expected = (distance * totals[..., :, None] * totals[..., None, :]).sum((-1, -2)) / (n * (n - 1))
    return _one_less(observed, expected)


def _one_less(observed: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return 1 − observed / expected, NaN where all grades are one."""
    return 1.0 - np.divide(observed, expected, out=np.full_like(expected, np.nan), where=expected > 0)


def _values(submissions: Sequence[Submission], measure: Measure, qids: set[str]) -> dict[str, list]:
    """Return for each run its values on the common queries under both judgments, two arrays."""
    values: dict[str, list] = {}
    for one in submissions:
        evaluation = evaluate(
            one.queries, one.scores, measures=[measure], per_query=True, retrieved=one.retrieved
        )
        (per_query,) = (evaluation.per_query or {}).values()
        by_query = zip(map(str, evaluation.qid.tolist()), per_query, strict=True)
        values.setdefault(one.label, []).append(
            np.array([value for _, value in sorted(by_query) if _ in qids])
        )
    return values


def _resampled(n_queries: int, seed: int) -> np.ndarray:
    """Return how often each query is in each resampled set, int64 (`RESAMPLES`, n_queries).

    One query says nothing of others, so that there are no sets of it.
    """
    share = np.full(n_queries, 1.0 / n_queries)
    return np.random.default_rng(seed).multinomial(n_queries, share, RESAMPLES if n_queries > 1 else 0)


def _interval(value: float, resampled: np.ndarray) -> Estimate:
    finite = resampled[np.isfinite(resampled)]
    ends = (
        np.quantile(finite, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist() if finite.size else [np.nan, np.nan]
    )
    return Estimate(float(value), *ends)


def _estimate(
    statistic: Callable[[np.ndarray], np.ndarray], counts: np.ndarray, times: np.ndarray
) -> Estimate:
    return _interval(float(statistic(counts.sum(axis=0))), statistic(np.tensordot(times, counts, 1)))


def _tau(values: np.ndarray, seed: int) -> Estimate:
    """Return Kendall's τ-b of the means of systems; `values` is (n_systems, 2, n_queries)."""
    from scipy.stats import kendalltau

    def tau(means: np.ndarray) -> float:
        test: Any = kendalltau(means[:, 0], means[:, 1])
        return test.statistic

    means = np.moveaxis(values @ _resampled(values.shape[-1], seed).T, -1, 0)
    return _interval(tau(values.mean(axis=-1)), np.array([tau(pair) for pair in means]))
