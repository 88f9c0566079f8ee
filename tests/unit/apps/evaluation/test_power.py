"""How many queries find a difference: exact power of the paired t-test, and what is said of a lead."""

import numpy as np
import pytest
from scipy import stats

import pages
from directrank import paired_test
from directrank.apps.evaluation.significance import power, queries_needed, smallest_effect
from directrank.apps.experiments.results.significance import significance, with_significance
from directrank.apps.experiments.results.verdict import verdict


@pytest.mark.parametrize(("effect", "n"), [(0.2, 199), (0.5, 34), (-0.5, 34), (0.8, 15)])
def test_known_numbers_of_queries(effect, n):
    """Those of G*Power 3.1 for two-sided matched pairs, level 0.05, power 0.8."""
    assert queries_needed(effect) == n


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 741])
@pytest.mark.parametrize("effect", [3.0, 0.7, 0.11, 0.006])
def test_the_least_number_of_queries_with_power_80_percent(effect, alpha):
    n = queries_needed(effect, alpha)
    assert power(effect, n - 1, alpha) < 0.8 <= power(effect, n, alpha)
    assert smallest_effect(n, alpha) <= effect < smallest_effect(n - 1, alpha)


@pytest.mark.parametrize("n", [2, 3, 22, 106, 5000])
def test_power_is_that_of_both_tails_of_the_noncentral_t(n):
    limit, shift = stats.t.isf(0.025, n - 1), 1.3
    both = stats.nct.sf(limit, n - 1, shift) + stats.nct.sf(limit, n - 1, -shift)
    assert power(shift / np.sqrt(n), n) == pytest.approx(both, rel=1e-8)
    assert power(smallest_effect(n), n) == pytest.approx(0.8, abs=1e-9)


def test_many_queries_are_taken_as_normal():
    exact = queries_needed(0.0029)  # a little below a million
    assert queries_needed(0.0028) / exact == pytest.approx((29 / 28) ** 2, rel=1e-5)


def test_a_paired_test_says_what_it_could_find():
    a, b = np.random.default_rng(0).normal(size=(2, 40)) * 0.1
    found = paired_test(a, b)
    spread = np.std(a - b, ddof=1)
    assert found.smallest_difference == pytest.approx(smallest_effect(40) * spread)
    assert found.queries_needed == queries_needed((a - b).mean() / spread)


class TestOfALead:
    @pytest.fixture
    def result(self):
        return with_significance(pages.invented(3, 2, ("AP", "WPD"), n_queries=12), None, "holm")

    def test_the_line_is_of_the_best_two(self, result):
        for measure in ("AP", "WPD"):
            best, second = sorted(
                result.methods,
                key=lambda each: result.mean(each, measure, "standard"),
                reverse=measure == "AP",
            )[:2]
            tests = significance(result, "standard")
            pair = next(each for each in tests.pairs[measure] if {*each.methods} == {best, second})
            line = result.lead_line("standard", measure)
            assert bool(line) != tests.significant(pair)
            if line:
                assert line.startswith(f"{best} leads {second} by {measure}, which may be chance. ")
                needed = f"needs {queries_needed(pair.effect, 0.05 / 3):,}"
                assert (needed in line) == (pair.p_randomisation <= 0.5)
                assert f"{pair.queries} queries can detect" in line
                assert "level 0.05/3, for 3 pairs" in line


class TestOfTheDecision:
    """The method to take is the one that validation chooses, whatever leads on the test queries."""

    @pytest.fixture
    def result(self):
        def change(content):
            for cell in content["cells"]:
                cell["validation"] = 0.9 if cell["method"] == "method 0" else 0.5

        return pages.changed(pages.invented(3, 2, ("AP", "WPD"), n_queries=12), change)

    def test_one_sentence_joins_validation_and_test(self, result):
        means = {each: result.mean(each, "AP", "letor3") for each in result.methods}
        best = max(means, key=means.get)
        assert best != "method 0"
        tested = with_significance(result, None, "holm")
        chosen = verdict(tested)
        assert (chosen.method, chosen.other) == ("method 0", best)
        pair = tested.content.significance["letor3"].pair("AP", "method 0", best)
        assert pair.method == "method 0"
        assert pair.low < 0 < pair.high
        assert chosen.sentences[0].startswith(
            f"Take method 0, the best on validation (test AP {means['method 0']:.3f}). It is not clearly "
            f"worse than {best} ({means[best]:.3f}; interval of the difference, at the level of its test, "
            f"{pair.low:+.3f} to {pair.high:+.3f}); "
        )
        needed = queries_needed(pair.effect, 0.05 / 3)
        assert chosen.sentences[0].endswith(f"; {needed:,} queries would tell.") == (
            pair.p_randomisation <= 0.5
        )
