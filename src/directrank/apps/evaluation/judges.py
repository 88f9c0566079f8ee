"""Means over queries that people judged, with a machine's judgments of these and of more queries."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrank.apps.evaluation.evaluation import evaluate
from directrank.apps.evaluation.runs import Judged
from directrank.apps.evaluation.significance import LEVEL, Estimate
from directrank.contracts import Measure
from directrank.errors import DataError
from directrank.files import ReadOptions
from directrank.measures import DEFAULT_MEASURE, distinct_measures

#: Below so many queries the judge's weight for each query is learned on the others.
CROSS_FITTED = 50
#: The judge is used where its correlation with people is so many errors from 0.
SHOWN = 2.0


@dataclass(frozen=True)
class JudgedMean:
    """A mean, or a mean difference, of people's judgments, with and without a machine's.

    Attributes
    ----------
    n_queries, n_more : int
        Queries that people and the machine judged, and those that the machine alone judged.
    correlation : float
        Of the values of queries by people's and by the machine's judgments.
    weight : float
        Of the machine's values; 0 where they do not help.
    alone : Estimate
        By people's judgments alone.
    assisted : Estimate
    """

    n_queries: int
    n_more: int
    correlation: float
    weight: float
    alone: Estimate
    assisted: Estimate
    _variance: float  # Of people's values

    @property
    def helps(self) -> bool:
        """Whether the machine's judgments are used."""
        return self.weight != 0.0

    def queries_needed(self, width: float, *, assisted: bool = True) -> int:
        """Return how many queries people must judge for an interval of this width."""
        if not 0.0 < width < math.inf:
            raise ValueError(f"width: found {width}, expected the width of an interval, such as 0.02")
        needed = self._variance / (width / 2 / _quantile(10**6)) ** 2
        if assisted and self.helps:
            # The variance by the best weight for n is that of people's mean times 1 - r^2 m / (n + m).
            more = needed - self.n_more
            rest = needed * self.n_more * (1.0 - self.correlation**2)
            needed = (more + math.sqrt(more**2 + 4.0 * rest)) / 2.0
        return max(2, math.ceil(needed))


def _quantile(n: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 0.5 + LEVEL / 2))


def _interval(value: float, variance: float, n: int) -> Estimate:
    half = _quantile(n) * math.sqrt(variance)
    return Estimate(value, value - half, value + half)


def judged_mean(people: Any, machine: Any, more: Any) -> JudgedMean:
    """Return the mean of people's values, with those of a machine on the same and on more queries.

    Prediction-powered inference: ``λ mean(more) + mean(people − λ machine)`` is right whatever the machine
    says, as its error is measured where people judged, too. λ makes the variance least, and is 0 where the
    machine's values are not shown to be correlated with people's.

    Parameters
    ----------
    people, machine : arrays of shape (n,)
        The values of the same queries, or differences of two rankings.
    more : array of shape (m,)
        The machine's values of other queries.

    Returns
    -------
    JudgedMean

    Raises
    ------
    DataError
        If there are fewer than 3 queries or none more, or lengths differ.

    References
    ----------
    .. [1] A. Angelopoulos, S. Bates, C. Fannjiang, M. Jordan, T. Zrnic, "Prediction-powered inference",
       Science 382, 2023.
    .. [2] A. Angelopoulos, J. Duchi, T. Zrnic, "PPI++: efficient prediction-powered inference", 2023.
    """
    y, f, extra = (np.asarray(values, np.float64) for values in (people, machine, more))
    n, m = len(y), len(extra)
    if len(f) != n or n < 3 or m < 1:
        raise DataError(
            f"{n} queries have people's judgments, {len(f)} of them a machine's, and {m} the machine's "
            "alone; expected 3 or more, the same, and 1 or more"
        )
    variance = float(y.var(ddof=1))
    alone = _interval(float(y.mean()), variance / n, n)
    spread = math.sqrt(float(y.var() * f.var()))
    correlation = float(((y - y.mean()) * (f - f.mean())).mean()) / spread if spread > 0.0 else 0.0
    if correlation**2 * (n - 2) <= SHOWN**2 * (1.0 - correlation**2) or not extra.var() > 0.0:
        return JudgedMean(n, m, correlation, 0.0, alone, alone, variance)

    def weight(which: np.ndarray) -> float:
        covariance = float(np.cov(y[which], f[which])[0, 1])
        every = np.concatenate([f[which], extra])
        return covariance / ((1.0 + n / m) * float(every.var(ddof=1)))

    every = np.arange(n)
    if n < CROSS_FITTED:
        weights = np.array([weight(every != one) for one in every])
    else:
        weights = np.full(n, weight(every >= 0))
    left, share = y - weights * f, float(weights.mean())
    error = float(left.var(ddof=1)) / n + share**2 * float(extra.var(ddof=1) if m > 1 else extra.var()) / m
    assisted = _interval(share * float(extra.mean()) + float(left.mean()), error, n)
    if assisted.high - assisted.low >= alone.high - alone.low:
        share, assisted = 0.0, alone
    return JudgedMean(n, m, correlation, share, alone, assisted, variance)


def judged_means(
    people: Any,
    run: Any,
    judge: Any,
    *,
    measures: str | Measure | Sequence[str | Measure] = (DEFAULT_MEASURE,),
    baseline: Any = None,
    how: ReadOptions | None = None,
) -> dict[str, JudgedMean]:
    """Evaluate a run by people's judgments of some queries and a machine's of these and more.

    Parameters
    ----------
    people : path, QueryGroups, data frame, or mapping of qid to mapping of docid to grade
        Judgments of some queries.
    run : path, data frame or mapping of qid to mapping of docid to score
    judge : judgments like `people`
        A machine's, of these queries and of more.
    measures : str, Measure, or a sequence of them, default="nDCG@10"
    baseline : ranking like `run`, optional
        Return the mean of paired differences to it.
    how : ReadOptions, optional
        The columns of tables.

    Returns
    -------
    dict of str to JudgedMean
        By the names of measures.

    Raises
    ------
    DataError
        If fewer than 3 queries of the run are judged by both, or none by the judge alone.
    """
    reported = distinct_measures(measures)

    def values(judgments: Any, ranking: Any) -> dict[str, dict[str, float]]:
        one = Judged(judgments, how).submission("run", ranking)
        measured = evaluate(
            one.queries, one.scores, measures=reported, per_query=True, retrieved=one.retrieved
        )
        qids = [str(qid) for qid in measured.qid.tolist()]
        return {name: dict(zip(qids, measured.per_query[name], strict=True)) for name in measured}

    sides = [values(judgments, run) for judgments in (people, judge)]
    if baseline is not None:
        baselines = [values(judgments, baseline) for judgments in (people, judge)]
        sides = [
            {name: {qid: value - theirs[name][qid] for qid, value in of.items()} for name, of in ours.items()}
            for ours, theirs in zip(sides, baselines, strict=True)
        ]
    results = {}
    for name, of_people in sides[0].items():
        of_judge = sides[1][name]
        both = sorted(qid for qid in of_people if qid in of_judge)
        more = sorted(qid for qid in of_judge if qid not in of_people)
        results[name] = judged_mean(
            [of_people[qid] for qid in both],
            [of_judge[qid] for qid in both],
            [of_judge[qid] for qid in more],
        )
    return results
