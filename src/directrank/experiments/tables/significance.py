"""Paired significance tests on the values of queries.

Every function takes differences, one row a query and one column a pair of methods. Smucker, Allan and
Carterette (CIKM 2007) recommend the randomisation test for such values.
"""

from collections.abc import Iterator

import numpy as np

FLIPS = 20_000
RESAMPLES = 5_000
#: The share of resampled means that an interval covers.
LEVEL = 0.95
#: Numbers in a block of signs or counts: 64 MiB of float64.
BLOCK = 1 << 23
#: Sums closer than this to the observed one, relative to the sum of magnitudes, count as equal to it.
ROUNDING = 1e-13


def t_test(differences: np.ndarray) -> np.ndarray:
    """Return two-sided p-values of Student's paired t-test, (n_pairs,).

    Parameters
    ----------
    differences : ndarray of shape (n_queries, n_pairs)

    Returns
    -------
    ndarray of shape (n_pairs,)
        1 where all differences are 0 or there are fewer than two; 0 where all are the same other number.
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

    Parameters
    ----------
    differences : ndarray of shape (n_queries, n_pairs)
    """
    n, n_pairs = differences.shape
    exact = 2**n <= FLIPS
    slack = ROUNDING * np.abs(differences).sum(axis=0)
    observed = np.abs(differences.sum(axis=0)) - slack
    reached = np.zeros(n_pairs, dtype=np.int64)
    for signs in _all_signs(n) if exact else _random_signs(n):
        reached += (np.abs(signs @ differences) >= observed).sum(axis=0)
    return reached / 2**n if exact else (reached + 1) / (FLIPS + 1)


def bootstrap_interval(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the percentile bootstrap interval of the mean difference over queries.

    Parameters
    ----------
    differences : ndarray of shape (n_queries, n_pairs)

    Returns
    -------
    low, high : ndarray of shape (n_pairs,)
    """
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

    0 where all differences are 0, infinite where all are the same other number, NaN below two queries.
    """
    if len(differences) < 2:
        return np.full(differences.shape[1], np.nan)
    mean, spread = differences.mean(axis=0), differences.std(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0, 0.0, mean / spread)


def holm(p: np.ndarray) -> np.ndarray:
    """Return p-values adjusted by Holm's step-down rule, which bounds the chance of any false discovery."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def _block_sizes(total: int, n: int) -> list[int]:
    most = max(1, BLOCK // max(n, 1))
    return [min(most, total - done) for done in range(0, total, most)]


def _all_signs(n: int) -> Iterator[np.ndarray]:
    patterns = np.arange(2**n)[:, None] >> np.arange(n)
    yield 1.0 - 2.0 * (patterns & 1)


def _random_signs(n: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(0)
    for size in _block_sizes(FLIPS, n):
        yield 1.0 - 2.0 * rng.integers(2, size=(size, n), dtype=np.int8)
