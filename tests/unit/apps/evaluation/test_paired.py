"""The public paired test, against scipy and the pairs of a comparison."""

import numpy as np
import pytest
from scipy import stats

from directrank import evaluate, paired_test


def test_values_by_hand_and_by_scipy():
    a, b = np.random.default_rng(0).random((2, 10))
    found = paired_test(a, b)
    exact = stats.permutation_test(
        (a, b), lambda x, y, axis: (x - y).mean(axis), permutation_type="samples", vectorized=True,
        n_resamples=np.inf,
    )  # fmt: skip
    assert found.queries == 10
    assert found.difference == pytest.approx(np.mean(a - b))
    assert found.p == pytest.approx(exact.pvalue, abs=1e-12)
    assert found.p_t == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-10)
    assert (found.wins, found.ties, found.losses) == ((a > b).sum(), 0, (a < b).sum())
    assert found.low < found.difference < found.high


def test_evaluations_and_errors_where_smaller_is_better():
    relevance, qid = [1, 0, 1, 0, 2, 0], ["a", "a", "b", "b", "c", "c"]
    ours, theirs = evaluate(
        relevance,
        {"ours": relevance, "theirs": [0, 1, 1, 0, 0, 1]},
        qid,
        measures=["WPD", "AP"],
        per_query=True,
    ).values()
    found = paired_test(ours, theirs, measure="WPD")
    assert (found.difference, found.wins, found.ties, found.losses) == (pytest.approx(-2 / 3), 2, 1, 0)
    assert paired_test(ours, theirs, measure="MAP").difference == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="several measures; give measure= one of WPD, AP"):
        paired_test(ours, theirs)
    with pytest.raises(ValueError, match="RR was not evaluated"):
        paired_test(ours, theirs, measure="RR")
