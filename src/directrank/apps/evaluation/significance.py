"""Significance of differences between rankings, on the values of queries.

The tests take differences, one row per query and one column per pair of rankings. Smucker, Allan and
Carterette (CIKM 2007) recommend the randomisation test for such values.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrank.errors import DataError
from directrank.features import one_blas_thread
from directrank.measures import Evaluation, parse_measure

__all__ = [
    "ALPHA",
    "FLIPS",
    "LEVEL",
    "POWER",
    "RESAMPLES",
    "PairedTest",
    "bootstrap_interval",
    "contrasts",
    "effect_size",
    "holm",
    "paired_test",
    "power",
    "queries_needed",
    "randomisation_test",
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
#: Numbers in a block of signs or counts: 64 MiB of float64.
BLOCK = 1 << 23
#: Sums closer than this to the observed one, relative to the sum of magnitudes, count as equal to it.
ROUNDING = 1e-13


def contrasts(differences: np.ndarray, error: bool = False) -> dict[str, np.ndarray]:
    """Return what paired differences (n_queries, n_pairs) say, an array (n_pairs,) by name."""
    low, high = bootstrap_interval(differences)
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
        "p_randomisation": randomisation_test(differences),
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


def randomisation_test(differences: np.ndarray) -> np.ndarray:
    """Return two-sided p-values of Fisher's paired randomisation test, (n_pairs,).

    Under the null hypothesis each query's difference is equally likely to have the opposite sign; the
    statistic is the mean. One matrix of signs serves all pairs, so that the test is a matrix product. All 2^n
    patterns of signs are tried if there are no more than `FLIPS`; otherwise `FLIPS` random ones and the
    observed one, so that p is never 0.
    """
    n, n_pairs = differences.shape
    exact = 2**n <= FLIPS
    slack = ROUNDING * np.abs(differences).sum(axis=0)
    observed = np.abs(differences.sum(axis=0)) - slack
    reached = np.zeros(n_pairs, dtype=np.int64)
    if exact:
        patterns = np.arange(2**n)[:, None] >> np.arange(n)
        blocks = [patterns]
    else:
        rng = np.random.default_rng(0)
        blocks = (rng.integers(2, size=(size, n), dtype=np.int8) for size in _block_sizes(FLIPS, n))
    with one_blas_thread():
        for block in blocks:
            signs = 1.0 - 2.0 * (block & 1)
            reached += (np.abs(signs @ differences) >= observed).sum(axis=0)
    return reached / 2**n if exact else (reached + 1) / (FLIPS + 1)


def bootstrap_interval(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return low and high ends, (n_pairs,), of the percentile bootstrap of mean differences over queries."""
    n = len(differences)
    rng = np.random.default_rng(0)
    means = []
    with one_blas_thread():
        for size in _block_sizes(RESAMPLES, n):
            drawn = rng.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
            counts = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
            means.append(counts @ differences / n)
    low, high = np.quantile(np.concatenate(means), [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
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


def power(effect: float, n_queries: int, alpha: float = ALPHA) -> float:
    """Return the probability that the two-sided paired t-test finds an effect, not 0; see `effect_size`.

    T² of differences with mean d and standard deviation s follows the noncentral F-distribution with 1 and n
    − 1 degrees of freedom and noncentrality n (d/s)², if differences are normal.
    """
    from scipy.stats import ncf, t

    if n_queries < 2:
        return 0.0
    return float(ncf.sf(t.isf(alpha / 2, n_queries - 1) ** 2, 1, n_queries - 1, n_queries * effect**2))


def queries_needed(effect: float, alpha: float = ALPHA) -> int | None:
    """Return the least number of queries at which `power` is 80 %; None where the effect is 0 or unknown."""
    from scipy.stats import norm

    if not effect or math.isnan(effect):
        return None
    if math.isinf(effect):
        return 2
    of_normal = ((norm.isf(alpha / 2) + norm.isf(1 - POWER)) / effect) ** 2
    if of_normal > MANY_QUERIES:
        return math.ceil(of_normal)
    # The t-distribution asks for some more queries, and never for twice as many and a hundred.
    numbers = range(2, 2 * math.ceil(of_normal) + 100)
    return numbers[bisect_left(numbers, POWER, key=lambda n: power(effect, n, alpha))]


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
        95 % interval of the difference: percentile bootstrap over queries.
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
    values = [_values(ranking, name) for ranking in (a, b)]
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


def _values(ranking: object, measure: str | None) -> np.ndarray:
    if not isinstance(ranking, Evaluation):
        return np.asarray(ranking, float)
    if ranking.per_query is None:
        raise ValueError("the evaluation has no values of queries; call evaluate(..., per_query=True)")
    name = measure if measure in [*ranking] else parse_measure(str(measure)).name
    if name not in ranking.per_query:
        raise ValueError(f"{name} was not evaluated; expected one of {', '.join(ranking)}")
    return ranking.per_query[name]
