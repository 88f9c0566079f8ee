"""Tests of paired differences: by hand, by scipy, and by the theorems they rest on."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy import special, stats
from threadpoolctl import threadpool_info

from directrank.apps.evaluation.significance import (
    ALPHA,
    Randomisation,
    benjamini_hochberg,
    bootstrap_interval,
    effect_size,
    holm,
    row_alphas,
    t_test,
)


@pytest.fixture(scope="module")
def differences():
    rng = np.random.default_rng(5)
    shifts = np.array([0.0, 0.02, 0.05, -0.03])
    return rng.normal(size=(80, 4)) * 0.1 + shifts


def test_t_test_is_that_of_scipy(differences):
    expected = stats.ttest_1samp(differences, 0.0).pvalue
    assert t_test(differences) == pytest.approx(expected, rel=1e-10)


def test_randomisation_tries_every_pattern_of_few_queries():
    """Of 2³ sign patterns of 1, 2, 4 only +++ and −−− reach 7; of 1, 1, 0: |sum| ≥ 2 in half of them."""
    pairs = np.array([[1.0, 1.0], [2.0, 1.0], [4.0, 0.0]])
    assert Randomisation(pairs).p.tolist() == [2 / 8, 4 / 8]


def test_randomisation_is_that_of_scipy_where_it_is_exact():
    few = np.random.default_rng(1).normal(0.3, 1, size=(12, 3))
    for column, ours in zip(few.T, Randomisation(few).p, strict=True):
        theirs = stats.permutation_test(
            (column, np.zeros(12)), lambda a, b, axis: (a - b).mean(axis), permutation_type="samples",
            vectorized=True, n_resamples=np.inf,
        ).pvalue  # fmt: skip
        assert ours == pytest.approx(theirs, abs=1e-12)


def test_random_patterns_agree_with_scipy(differences):
    ours = Randomisation(differences).p
    for column, p in zip(differences.T, ours, strict=True):
        theirs = stats.permutation_test(
            (column, np.zeros(80)), lambda a, b, axis: (a - b).mean(axis), permutation_type="samples",
            vectorized=True, n_resamples=9_999, rng=np.random.default_rng(3),
        ).pvalue  # fmt: skip
        # Five standard errors of the difference of two Monte Carlo estimates.
        assert abs(p - theirs) < 5 * np.sqrt(max(p, 1e-3) * (1 - p) * (1 / 10_000 + 1 / 20_000)) + 1e-4
    assert (ours == Randomisation(differences).p).all()
    assert Randomisation(differences + 10.0).p == pytest.approx(1 / 20_001)


def test_the_interval_of_few_queries_by_hand():
    """Of 2⁶ sets of queries, p < .05 allows one mean below what is rejected, the infinite one of no query.

    The next one is the least difference. With five queries p is 2/32 at least: no interval has an end.
    """
    six = Randomisation(np.arange(1.0, 7.0)[:, None])
    assert (six.p.item(), *np.ravel(six.interval())) == pytest.approx((2 / 64, 1.0, 6.0))
    five = Randomisation(np.arange(1.0, 6.0)[:, None])
    assert (five.p.item(), *np.ravel(five.interval())) == pytest.approx((2 / 32, 0.0, 5.0))
    # At level 1 − .05/3 the same holds of six queries: 2/64 is no less than .05/3.
    assert np.ravel(six.interval(ALPHA / 3)) == pytest.approx((0.0, 6.0))


@pytest.mark.parametrize("n", [9, 60])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 4])
def test_the_interval_holds_what_the_test_does_not_reject(n, alpha):
    """The ends are where the p-value of the differences less a value crosses the level."""
    differences = np.random.default_rng(n).gamma(1.0, size=(n, 3)) - 0.8
    for end, inwards in zip(Randomisation(differences).interval(alpha), (1.0, -1.0), strict=True):
        assert (Randomisation(differences - end + 1e-9 * inwards).p < alpha).all()
        assert (Randomisation(differences - end - 1e-9 * inwards).p >= alpha).all()


@pytest.mark.parametrize("correction", ["holm", "bh"])
def test_zero_is_outside_the_interval_exactly_where_the_corrected_p_value_is_below_the_level(correction):
    rng, significant = np.random.default_rng(4), 0
    for trial in range(120):
        differences = rng.normal(size=(rng.integers(1, 40), rng.integers(1, 12))) * 0.1
        differences += rng.normal(size=differences.shape[1]) * 0.05
        if trial % 3 == 0:
            differences = np.round(differences, 1)  # many queries are tied
        test = Randomisation(differences)
        adjusted = holm(test.p) if correction == "holm" else stats.false_discovery_control(test.p)
        low, high = test.interval(row_alphas(test.p, correction))
        np.testing.assert_array_equal((low > 0) | (high < 0), adjusted < ALPHA)
        assert ((low <= differences.mean(axis=0) + 1e-12) & (high >= differences.mean(axis=0) - 1e-12)).all()
        significant += int((adjusted < ALPHA).sum())
    assert significant > 50


def test_levels_of_rows_by_hand():
    """Holm: .001 at .05/4, .02 at .05/3 ends the rule, for the others too. Benjamini and Hochberg: 2 of 4."""
    p = np.array([0.03, 0.001, 0.9, 0.02])
    assert row_alphas(p, "holm") == pytest.approx(np.array([1 / 3, 1 / 4, 1 / 3, 1 / 3]) * 0.05)
    assert row_alphas(p, "bh") == pytest.approx(np.array([3 / 4, 3 / 4, 1, 3 / 4]) * 0.05)
    assert row_alphas(np.array([0.001, 0.002]), "holm") == pytest.approx([0.025, 0.05])


def test_bootstrap_interval_is_that_of_the_normal_for_many_queries():
    values = np.random.default_rng(2).normal(0.1, 1.0, size=(2000, 1))
    low, high = bootstrap_interval(values)
    half = 1.959964 * values.std(ddof=1) / np.sqrt(2000)
    assert low[0] == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert high[0] == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_bootstrap_intervals_of_few_queries_cover_what_they_promise():
    values = np.random.default_rng(3).normal(size=(8, 1000))
    low, high = bootstrap_interval(values)
    # Percentiles of 2.5 and 97.5 % cover 89 %.
    assert np.mean((low <= 0) & (high >= 0)) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 1000)
    assert [end.item() for end in bootstrap_interval(np.array([[0.5]]))] == [0.5, 0.5]


def test_bootstrap_percentiles_are_those_of_all_resamples():
    """Of six queries, each resample of six; Student's 2.5 % point, whose normal percentile is .24 %."""
    n, rng = 6, np.random.default_rng(4)
    values = rng.normal(size=(n, 300))
    counts = np.array([np.bincount(some, minlength=n) for some in combinations_with_replacement(range(n), n)])
    share = special.factorial(n) / special.factorial(counts).prod(axis=1) / n**n
    low, high = bootstrap_interval(values)
    means, tail = counts @ values / n, stats.norm.cdf(np.sqrt(n / (n - 1)) * stats.t(n - 1).ppf(0.025))
    # Of 5,000 resamples the share is known to a third for one column, to a tenth for the mean of many.
    assert [(share @ beyond).mean() for beyond in (means < low, means > high)] == pytest.approx(
        [tail, tail], rel=0.2
    )


def test_effect_size_by_hand():
    """Mean 2, squared deviations 1 + 1 over 2 − 1: 2 / √2. Zeros have none, equal ones no spread."""
    found = effect_size(np.array([[1.0, 0.0, 0.5], [3.0, 0.0, 0.5]]))
    assert found[:2] == pytest.approx([2 / np.sqrt(2), 0.0])
    assert np.isinf(found[2])


def test_holm_by_hand():
    """Sorted: 0.01·4, 0.02·3, 0.03·2 raised to the one before, 0.2·1."""
    assert holm(np.array([0.02, 0.2, 0.01, 0.03])) == pytest.approx([0.06, 0.2, 0.04, 0.06])
    assert holm(np.array([0.6, 0.7])) == pytest.approx([1.0, 1.0])


def test_benjamini_and_hochberg_are_those_of_scipy():
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 40):
        p = rng.random(n).round(1) ** 2
        assert benjamini_hochberg(p).tolist() == stats.false_discovery_control(p).tolist()


def test_products_of_tests_run_on_one_thread_of_linear_algebra():
    """More threads would spin between the small products, which cost the demo a sixth of its time."""
    threads = []

    class Watching(np.ndarray):
        def __rmatmul__(self, left):
            threads.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
            return left @ np.asarray(self)

    differences = np.random.default_rng(0).normal(size=(40, 2))
    expected = bootstrap_interval(differences), Randomisation(differences).p
    found = bootstrap_interval(differences.view(Watching)), Randomisation(differences.view(Watching)).p
    assert set(threads) == {1}
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
