"""Significance of differences between rankings, on the values of queries.

The tests take differences, one row per query and one column per pair of rankings. Smucker, Allan and
Carterette (CIKM 2007) recommend the randomisation test for such values.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from directrank.apps.evaluation.evaluation import Evaluation
from directrank.errors import DataError
from directrank.features import one_blas_thread
from directrank.measures import parse_measure

__all__ = [
    "ALPHA",
    "FLIPS",
    "LEVEL",
    "POWER",
    "RESAMPLES",
    "Estimate",
    "PairedTest",
    "Randomisation",
    "benjamini_hochberg",
    "bootstrap_interval",
    "contrasts",
    "effect_size",
    "holm",
    "interval_text",
    "p_value",
    "paired_test",
    "power",
    "queries_needed",
    "query_values",
    "row_alphas",
    "smallest_effect",
    "t_test",
]

ALPHA = 0.05
#: Two methods tie on a query where their values differ by no more than this.
SAME = 1e-12
FLIPS = 20_000
RESAMPLES = 5_000
#: The share of resampled means that an interval covers.
LEVEL = 0.95
#: The probability with which a difference is to be found, where numbers of queries are planned.
POWER = 0.8
#: Above so many queries, the t-distribution is taken as normal.
MANY_QUERIES = 10**6
#: Pairs whose sums are made at a time.
PAIRS_AT_ONCE = 64
#: Numbers in a block of signs or counts: 64 MiB of float64.
BLOCK = 1 << 23
#: Sums closer than this to the observed one, relative to the sum of magnitudes, count as equal to it.
ROUNDING = 1e-13


class Estimate(NamedTuple):
    """A statistic with its 95 % interval; NaN where it is not defined, as of one query."""

    value: float
    low: float
    high: float


def contrasts(
    differences: np.ndarray, error: bool = False, test: "Randomisation | None" = None,
    alpha: float | np.ndarray = ALPHA,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return what paired differences (n_queries, n_pairs) say, an array (n_pairs,) by name.

    The intervals are those of the test at level 1 − `alpha`, a number or one for each pair.
    """
    test = test or Randomisation(differences)
    low, high = test.interval(alpha)
    gains = -differences if error else differences
    return {
        "difference": differences.mean(axis=0),
        "low": low,
        "high": high,
        "effect": effect_size(differences),
        "wins": (gains > SAME).sum(axis=0),
        "ties": (np.abs(gains) <= SAME).sum(axis=0),
        "losses": (gains < -SAME).sum(axis=0),
        "p_t": t_test(differences),
        "p_randomisation": test.p,
    }


def t_test(differences: np.ndarray) -> np.ndarray:
    """Return two-sided p-values of Student's paired t-test, (n_pairs,), of differences (n_queries, n_pairs).

    They are 1 where all differences are 0 or there are fewer than two; 0 where all are the same other number.
    """
    from scipy.special import stdtr

    n = len(differences)
    if n < 2:
        return np.ones(differences.shape[1])
    return 2.0 * stdtr(n - 1, -np.abs(effect_size(differences)) * np.sqrt(n))


class Randomisation:
    """Fisher's paired randomisation test of differences (n_queries, n_pairs), and the intervals it gives.

    Under the null hypothesis each query's difference is equally likely to have the opposite sign; the
    statistic is the mean. One matrix of signs serves all pairs, so that the test is a matrix product. All 2^n
    patterns of signs are tried if there are no more than `FLIPS`; otherwise `FLIPS` random ones and the
    observed one, so that p is never 0.

    An interval holds the values of the true difference that the test does not reject. With the signs of a
    set A of queries turned, the mean of differences less θ is at least the observed one exactly if the mean
    over A is at most θ: the ends are order statistics of means over random sets (Hartigan, JASA 1969).

    Attributes
    ----------
    p : ndarray of shape (n_pairs,)
        Two-sided p-values.
    """

    def __init__(self, differences: np.ndarray):
        n, n_pairs = differences.shape
        self.exact = 2**n <= FLIPS
        self.n_patterns = 2**n if self.exact else FLIPS + 1
        most = max(1, self._allowed(ALPHA) + 1)
        self.lowest, self.highest = np.full((most, n_pairs), np.inf), np.full((most, n_pairs), -np.inf)
        self.range = np.minimum(differences.min(axis=0), 0.0), np.maximum(differences.max(axis=0), 0.0)
        total, slack = differences.sum(axis=0), ROUNDING * np.abs(differences).sum(axis=0)
        reached = np.zeros(n_pairs, dtype=np.int64)
        rng = np.random.default_rng(0)
        blocks = (
            [np.arange(2**n)[:, None] >> np.arange(n)]
            if self.exact
            else (rng.integers(2, size=(size, n), dtype=np.int8) for size in _block_sizes(FLIPS, n))
        )
        for block in blocks:
            signs = 1.0 - 2.0 * (block & 1)
            turned = (block & 1).sum(axis=1, dtype=np.int64)[:, None]
            for first in range(0, n_pairs, PAIRS_AT_ONCE):
                some = slice(first, first + PAIRS_AT_ONCE)
                with one_blas_thread():
                    sums = signs @ differences[:, some]
                reached[some] += (np.abs(sums) >= np.abs(total[some]) - slack[some]).sum(axis=0)
                inside, outside = (total[some] - sums, turned), (total[some] + sums, n - turned)
                for twice, size in (inside,) if self.exact else (inside, outside):
                    self._keep(some, twice, size, slack[some])
        self.p = reached / 2**n if self.exact else (reached + 1) / (FLIPS + 1)

    def _keep(self, some: slice, twice: np.ndarray, size: np.ndarray, slack: np.ndarray) -> None:
        """Keep the extreme means over sets of queries, of twice their sums; no query has an infinite one."""
        for ends, sign in ((self.lowest, 1.0), (self.highest, -1.0)):
            with np.errstate(divide="ignore", invalid="ignore"):
                means = np.where(size > 0, (sign * twice - slack) / (2.0 * size), -np.inf)
            every = np.concatenate([sign * ends[:, some], means])
            ends[:, some] = sign * np.sort(np.partition(every, len(ends) - 1, axis=0)[: len(ends)], axis=0)

    def _allowed(self, alpha: float | np.ndarray) -> Any:
        """Return how many means over sets may lie below a value that is rejected, below 0 if none is."""
        count = np.ceil(np.asarray(alpha) * self.n_patterns / (2 if self.exact else 1))
        return count.astype(np.int64) - (1 if self.exact else 2)

    def interval(self, alpha: float | np.ndarray = ALPHA) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high ends, (n_pairs,), at level 1 − `alpha`; 0 is outside exactly if p < `alpha`.

        Too few queries reject nothing, so that an interval has no ends: the range of their differences, with
        0, stands for it.
        """
        pairs = np.arange(len(self.p))
        place = np.broadcast_to(self._allowed(alpha), self.p.shape)
        ends = (table[np.maximum(place, 0), pairs] for table in (self.lowest, self.highest))
        return tuple(  # pyright: ignore[reportReturnType]
            np.where((place >= 0) & np.isfinite(end), end, wide)
            for end, wide in zip(ends, self.range, strict=True)
        )


def bootstrap_interval(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return low and high ends, (n_pairs,), of the percentile bootstrap of mean differences over queries.

    Resampled means spread less than means do, and the spread is estimated: the middle 95 % of them cover 90 %
    with ten queries. So the percentiles are those that give Student's interval where differences are normal
    (Hesterberg, The American Statistician 2015).
    """
    from scipy.special import ndtr, stdtrit

    n, tail = len(differences), (1 - LEVEL) / 2
    if n > 1:
        tail = float(ndtr(math.sqrt(n / (n - 1)) * stdtrit(n - 1, tail)))
    rng = np.random.default_rng(0)
    means = []
    with one_blas_thread():
        for size in _block_sizes(RESAMPLES, n):
            drawn = rng.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
            counts = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
            means.append(counts @ differences / n)
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail], axis=0)
    return low, high


def effect_size(differences: np.ndarray) -> np.ndarray:
    """Return the mean difference in units of its standard deviation over queries (Cohen's d_z).

    0 where the mean is 0 but for rounding, infinite where all differences are the same other number, NaN
    below two queries.
    """
    if len(differences) < 2:
        return np.full(differences.shape[1], np.nan)
    mean, spread = differences.mean(axis=0), differences.std(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(mean) <= SAME, 0.0, mean / spread)


def power(effect: float, n_queries: int, alpha: float = ALPHA, sides: int = 2) -> float:
    """Return the probability that the paired t-test finds an effect, not 0; see `effect_size`.

    If differences with mean d and standard deviation s are normal, √n d/s is the noncentrality of t. Of two
    sides, t² follows the noncentral F-distribution with 1 and n − 1 degrees of freedom.
    """
    from scipy.stats import ncf, nct, t

    if n_queries < 2:
        return 0.0
    if sides == 1:
        return float(nct.sf(t.isf(alpha, n_queries - 1), n_queries - 1, math.sqrt(n_queries) * effect))
    return float(ncf.sf(t.isf(alpha / 2, n_queries - 1) ** 2, 1, n_queries - 1, n_queries * effect**2))


def queries_needed(effect: float, alpha: float = ALPHA, sides: int = 2) -> int | None:
    """Return the least number of queries at which `power` is 80 %.

    None where the effect is unknown, or 0 but for rounding.
    """
    from scipy.stats import norm

    if not abs(effect) > SAME:
        return None
    if math.isinf(effect):
        return 2
    of_normal = ((norm.isf(alpha / sides) + norm.isf(1 - POWER)) / effect) ** 2
    if of_normal > MANY_QUERIES:
        return math.ceil(of_normal)
    # The t-distribution asks for some more queries, and never for twice as many and a hundred.
    numbers = range(2, 2 * math.ceil(of_normal) + 100)
    return numbers[bisect_left(numbers, POWER, key=lambda n: power(effect, n, alpha, sides))]


def smallest_effect(n_queries: int, alpha: float = ALPHA) -> float:
    """Return the effect that `power` finds with 80 % on so many queries; infinite below two."""
    from scipy.optimize import brentq
    from scipy.stats import t

    if n_queries < 2:
        return math.inf
    limit = t.isf(alpha / 2, n_queries - 1) / math.sqrt(n_queries)
    smallest: Any = brentq(lambda effect: power(effect, n_queries, alpha) - POWER, limit, 2 * limit + 10)
    return float(smallest)


def holm(p: np.ndarray) -> np.ndarray:
    """Return p-values adjusted by Holm's step-down rule, which bounds the chance of any false discovery."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def benjamini_hochberg(p: np.ndarray) -> np.ndarray:
    """Return p-values adjusted by Benjamini and Hochberg's rule, which bounds the share of false discoveries.

    SciPy's function takes a third of a second to import.
    """
    m, order = len(p), np.argsort(-p, kind="stable")
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(np.minimum.accumulate(p[order] * (m / np.arange(m, 0, -1))), 1.0)
    return adjusted


def row_alphas(p: np.ndarray, correction: str) -> np.ndarray:
    """Return the level at which each of many tests is decided, so that intervals say what p-values say.

    Under Holm's rule it is `ALPHA` divided by the number of tests that are left at its step, and at the step
    that ends the rule for all others; under that of Benjamini and Hochberg `ALPHA` times the share of
    rejected tests (their intervals of 2005), with one more for those that are not.
    """
    m = len(p)
    order = np.argsort(p, kind="stable")
    if correction == "holm":
        left = np.arange(m, 0, -1)
        n_rejected = int(np.cumprod(p[order] * left < ALPHA).sum())
        steps = np.maximum(left, m - n_rejected)
        shares = 1.0 / steps
    else:
        passed = np.flatnonzero(p[order] * m < ALPHA * np.arange(1, m + 1))
        n_rejected = int(passed[-1]) + 1 if passed.size else 0
        shares = np.where(np.arange(m) < n_rejected, n_rejected, min(n_rejected + 1, m)) / m
    alphas = np.empty(m)
    alphas[order] = ALPHA * shares
    return alphas


def _block_sizes(total: int, n: int) -> list[int]:
    most = max(1, BLOCK // max(n, 1))
    return [min(most, total - done) for done in range(0, total, most)]


@dataclass(frozen=True)
class PairedTest:
    """The difference between two rankings, and whether it may be chance.

    Attributes
    ----------
    queries : int
        Number of queries that have a value under both.
    difference : float
        Mean of the first minus mean of the second.
    low, high : float
        95 % interval of the difference: what the randomisation test does not reject.
    p : float
        Two-sided p-value of Fisher's randomisation test, the one `directrank.compare` uses.
    p_t : float
        Two-sided p-value of Student's paired t-test.
    effect : float
        The difference in units of the standard deviation of the queries' differences.
    wins, ties, losses : int
        Queries on which the first is better, equal, worse.

    Examples
    --------
    >>> from directrank import paired_test
    >>> found = paired_test([0.5, 0.25, 1.0, 0.75], [0.25, 0.25, 0.5, 0.5])
    >>> found.difference, found.wins, found.losses
    (0.25, 3, 0)
    """

    queries: int
    difference: float
    low: float
    high: float
    p: float
    p_t: float
    effect: float
    wins: int
    ties: int
    losses: int

    @property
    def queries_needed(self) -> int | None:
        """Queries on which a paired t-test finds this difference with a probability of 80 %, level 0.05.

        `directrank.compare` and `directrank.evaluate_runs` divide the level by the number of tested pairs.
        None where the difference is 0 or there are fewer than two queries.
        """
        return queries_needed(self.effect)

    @property
    def smallest_difference(self) -> float:
        """Difference that a paired t-test finds on these queries with a probability of 80 %, level 0.05.

        NaN where all queries differ by the same, or there are fewer than two.
        """
        if not np.isfinite(self.effect) or not self.effect:
            return math.nan
        return smallest_effect(self.queries) * abs(self.difference / self.effect)


def paired_test(a, b, *, measure: str | None = None) -> PairedTest:
    """Test whether two rankings of the same queries differ.

    Parameters
    ----------
    a, b : Evaluation, or array of shape (n_queries,)
        From `directrank.evaluate` with ``per_query=True``; or the values of the queries, in one order. A
        query with NaN in either is left out.
    measure : str, optional
        The measure to compare, where `a` and `b` have several. With arrays it says whether smaller is better,
        as for WPD.

    Returns
    -------
    PairedTest

    Raises
    ------
    DataError
        If the queries differ, or none has a value under both.
    ValueError
        If there are no values of queries, or several measures and none is named.

    Examples
    --------
    >>> test = paired_test([0.5, 0.75, 1.0], [0.25, 0.5, 0.75])
    >>> test.difference, test.p
    (0.25, 0.25)
    """
    evaluated = [ranking for ranking in (a, b) if isinstance(ranking, Evaluation)]
    if measure is None and evaluated and len([*evaluated[0]]) != 1:
        raise ValueError(f"there are several measures; give measure= one of {', '.join(evaluated[0])}")
    name = measure or next((only for evaluation in evaluated for only in evaluation), None)
    if isinstance(a, Evaluation) and isinstance(b, Evaluation) and not np.array_equal(a.qid, b.qid):
        raise DataError("the two evaluations have different queries; evaluate both on the same data")
    values = [query_values(ranking, name) for ranking in (a, b)]
    if values[0].ndim != 1 or values[0].shape != values[1].shape:
        raise DataError(f"values have shapes {values[0].shape} and {values[1].shape}; expected one per query")
    differences = values[0] - values[1]
    differences = differences[np.isfinite(differences)]
    if not len(differences):
        raise DataError("no query has a value in both; there is nothing to compare")
    computed = next(
        (evaluation.computed[name] for evaluation in evaluated if name in evaluation.computed), name
    )
    tests = contrasts(differences[:, None], computed is not None and parse_measure(computed).is_error)
    numbers: dict[str, Any] = {name: column.item() for name, column in tests.items()}
    p = numbers.pop("p_randomisation")
    return PairedTest(queries=len(differences), p=p, **numbers)


def query_values(ranking: object, measure: str | None) -> np.ndarray:
    """Return the values of queries by a measure: of an evaluation, of a mapping by measure, or an array."""
    if isinstance(ranking, Mapping) and not isinstance(ranking, Evaluation):
        if measure not in ranking:
            raise ValueError(f"there are no values of {measure}; expected one of {', '.join(ranking)}")
        return np.asarray(ranking[measure], float)
    if not isinstance(ranking, Evaluation):
        return np.asarray(ranking, float)
    if ranking.per_query is None:
        raise ValueError("the evaluation has no values of queries; call evaluate(..., per_query=True)")
    name = measure if measure in [*ranking] else parse_measure(str(measure)).name
    if name not in ranking.per_query:
        raise ValueError(f"{name} was not evaluated; expected one of {', '.join(ranking)}")
    return ranking.per_query[name]


def p_value(p: float) -> str:
    """Return a p-value as printed, with its sign: ``= 0.012`` or ``< 0.0001``.

    Parameters
    ----------
    p : float

    Returns
    -------
    str
    """
    return "< 0.0001" if p < 0.0001 else f"= {p:.2g}"


def interval_text(interval: tuple[float, float] | None) -> str:
    """Return the ends of an interval as printed, "none" if it is None or NaN."""
    low, high = interval or (math.nan, math.nan)
    return "none" if math.isnan(low) else f"{low:+.4f} to {high:+.4f}"
