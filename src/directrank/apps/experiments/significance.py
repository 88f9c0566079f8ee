"""Significance of differences between methods, on the values of queries.

The tests take differences, one row a query and one column a pair of methods. Smucker, Allan and Carterette
(CIKM 2007) recommend the randomisation test for such values.
"""

import math
import string
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from directrank.apps.experiments.options import check_correction, check_name
from directrank.apps.experiments.records import Pair, Significance
from directrank.errors import DataError
from directrank.measures import parse_measure
from directrank.measures.evaluation import Evaluation

if TYPE_CHECKING:
    from directrank.apps.experiments.results import Comparison


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


def with_significance(result: "Comparison", baseline: str | None, correction: str) -> "Comparison":
    """Return a comparison with the tests of its differences, under every convention of the report."""
    tests = {
        each: significance(result, each, baseline=baseline, correction=correction)
        for each in result.conventions
    }
    return type(result)(replace(result.content, significance=tests))


def significance(
    result: "Comparison", convention: str, *, baseline: str | None = None, correction: str = "holm"
) -> Significance:
    """Return which differences between methods are significant, measure by measure.

    The values of all test queries, over all folds, are paired by query. Methods that failed on a fold are
    skipped. Corrections are over the pairs of one measure: all, or those with a baseline.
    """
    check_correction(correction)
    failed = {cell.method for cell in result.failures}
    whole = [each for each in result.methods if each not in failed]
    compared = list(combinations(whole, 2))
    if baseline is not None:
        check_name("method", result.methods, baseline)
        compared = [(each, baseline) for each in whole if each != baseline and baseline in whole]
    # The 53rd method has the letter (53).
    letters = [*string.ascii_letters, *(f"({place})" for place in range(53, len(result.methods) + 1))]
    tests = Significance(
        alpha=ALPHA,
        correction=correction,
        baseline=baseline,
        level=LEVEL,
        flips=FLIPS,
        resamples=RESAMPLES,
        letters=dict(zip(result.methods, letters, strict=False)),
        better_than={},
        pairs={each: _contrasts(result, convention, each, compared) for each in result.measures},
        intervals={each: _intervals(result, convention, each, whole) for each in result.measures},
    )
    better_than = {each: _better_than(tests, each, result.is_error(each)) for each in result.measures}
    winner = result.best_on_validation()
    against = [(winner, each) for each in result.references if winner in whole]
    references = {each: _contrasts(result, convention, each, against) for each in result.measures if against}
    return replace(tests, better_than=better_than, references=references)


def _intervals(
    result: "Comparison", convention: str, measure: str, methods: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """Return the bootstrap interval of each method's mean over folds; queries are resampled."""
    if not methods:
        return {}
    values = np.stack([per_query(result, convention, measure, each) for each in methods], axis=1)
    sizes = [len(cell.per_query[convention][measure]) for cell in result.of(methods[0])]
    counted = np.isfinite(values).all(axis=1)
    fold = np.repeat(np.arange(len(sizes)), sizes)[counted]
    if not len(fold):
        return {}
    # The mean over folds weighs a query of a small fold more than one of a large fold.
    n_counted = np.bincount(fold)
    scaled = values[counted] * (len(fold) / (np.count_nonzero(n_counted) * n_counted[fold]))[:, None]
    low, high = (ends.tolist() for ends in bootstrap_interval(scaled))
    return {each: (low[place], high[place]) for place, each in enumerate(methods)}


def per_query(result: "Comparison", convention: str, measure: str, method: str) -> np.ndarray:
    """Return a method's values on the test queries of all folds, (n_queries,), fold by fold."""
    values = [np.array(cell.per_query[convention][measure], dtype=float) for cell in result.of(method)]
    return np.concatenate(values)


def _contrasts(
    result: "Comparison", convention: str, measure: str, pairs: Sequence[tuple[str, str]]
) -> list[Pair]:
    """Return the tests of each pair of methods by a measure."""
    from scipy.stats import false_discovery_control

    if not pairs:
        return []
    values = {name: per_query(result, convention, measure, name) for pair in pairs for name in pair}
    differences = np.stack([values[first] - values[second] for first, second in pairs], axis=1)
    # A convention may skip queries; these have no value under any method.
    differences = differences[np.isfinite(differences).all(axis=1)]
    if not len(differences):
        return []
    columns = contrasts(differences, result.is_error(measure))
    p = columns["p_randomisation"]
    columns |= {"p_holm": holm(p), "p_bh": false_discovery_control(p)}
    return [
        Pair(
            method=first,
            baseline=second,
            queries=len(differences),
            **{name: column[place].item() for name, column in columns.items()},
        )
        for place, (first, second) in enumerate(pairs)
    ]


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


def _better_than(tests: Significance, measure: str, error: bool) -> dict[str, str]:
    beaten: dict[str, list[str]] = {name: [] for name in tests.letters}
    for pair in tests.pairs[measure]:
        if tests.significant(pair) and pair.difference:
            ahead = (pair.difference > 0) != error
            winner, loser = (pair.method, pair.baseline)[:: 1 if ahead else -1]
            beaten[winner].append(tests.letters[loser])
    return {name: "".join(sorted(marks)) for name, marks in beaten.items()}


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
    for block in blocks:
        signs = 1.0 - 2.0 * (block & 1)
        reached += (np.abs(signs @ differences) >= observed).sum(axis=0)
    return reached / 2**n if exact else (reached + 1) / (FLIPS + 1)


def bootstrap_interval(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return low and high ends, (n_pairs,), of the percentile bootstrap of mean differences over queries."""
    n = len(differences)
    rng = np.random.default_rng(0)
    means = [
        np.stack([np.bincount(row, minlength=n) for row in rng.integers(n, size=(size, n))]) @ differences / n
        for size in _block_sizes(RESAMPLES, n)
    ]
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
    found: Any = brentq(lambda effect: power(effect, n_queries, alpha) - POWER, limit, 2 * limit + 10)
    return float(found)


def power_line(tests: Significance, measure: str, pair: Pair) -> str:
    """Return how many queries would find the difference of a pair, and what these queries can show.

    Empty where the pair is significant or has no difference. With several pairs, the level of each is divided
    by their number, as Holm's first step does.
    """
    n_pairs = len(tests.pairs[measure])
    needed = queries_needed(pair.effect, tests.alpha / n_pairs)
    if needed is None or math.isinf(pair.effect) or tests.significant(pair):
        return ""
    shown = smallest_effect(pair.queries, tests.alpha / n_pairs) * abs(pair.difference / pair.effect)
    level = f"{tests.alpha:g}" + (f"/{n_pairs}, for {n_pairs} pairs" if n_pairs > 1 else "")
    return (
        f"It takes {needed:,} queries to find a difference of {abs(pair.difference):.4f} with a probability "
        f"of {POWER:.0%}; these {pair.queries:,} find one of {shown:.4f} (paired t-test, two-sided, "
        f"level {level})."
    )


def lead_line(result: "Comparison", convention: str, measure: str) -> str:
    """Return `power_line` of the best method against the second, with their names; empty where that is.

    Where only pairs with a baseline were tested, the second is the baseline, unless it is the best.
    """
    tests = result.content.significance.get(convention)
    if tests is None:
        return ""
    values = {each: result.mean(each, measure, convention) for each in result.trained}
    known = {each: value for each, value in values.items() if value is not None}
    first, second, *_ = [*sorted(known, key=known.__getitem__, reverse=not result.is_error(measure)), "", ""]
    second = second if tests.baseline in (None, first) else tests.baseline
    for pair in tests.pairs[measure]:
        if {*pair.methods} == {first, second} and (line := power_line(tests, measure, pair)):
            return f"{first} leads {second} by {measure}, which may be chance. {line}"
    return ""


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
    evaluated = [each for each in (a, b) if isinstance(each, Evaluation)]
    if measure is None and evaluated and len([*evaluated[0]]) != 1:
        raise ValueError(f"there are several measures; give measure= one of {', '.join(evaluated[0])}")
    name = measure or next((only for each in evaluated for only in each), None)
    if isinstance(a, Evaluation) and isinstance(b, Evaluation) and not np.array_equal(a.qid, b.qid):
        raise DataError("the two evaluations have different queries; evaluate both on the same data")
    values = [_values(each, name) for each in (a, b)]
    if values[0].ndim != 1 or values[0].shape != values[1].shape:
        raise DataError(f"values have shapes {values[0].shape} and {values[1].shape}; expected one a query")
    differences = values[0] - values[1]
    differences = differences[np.isfinite(differences)]
    if not len(differences):
        raise DataError("no query has a value in both; there is nothing to compare")
    known = next((each.computed[name] for each in evaluated if name in each.computed), name)
    found = contrasts(differences[:, None], known is not None and parse_measure(known).is_error)
    numbers: dict[str, Any] = {name: column.item() for name, column in found.items()}
    p = numbers.pop("p_randomisation")
    return PairedTest(queries=len(differences), p=p, **numbers)


def _values(given: Any, measure: str | None) -> np.ndarray:
    if not isinstance(given, Evaluation):
        return np.asarray(given, float)
    if given.per_query is None:
        raise ValueError("the evaluation has no values of queries; call evaluate(..., per_query=True)")
    name = measure if measure in [*given] else parse_measure(str(measure)).name
    if name not in given.per_query:
        raise ValueError(f"{name} was not evaluated; expected one of {', '.join(given)}")
    return given.per_query[name]
