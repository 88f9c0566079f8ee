"""Overlap and rank-biased overlap by hand and by their definition, and the command."""

import numpy as np
import pytest

import directrank
from directrank.apps.evaluation.drifting import rank_biased_overlap


def by_definition(first, second, p):
    """Extrapolated RBO of lists of one length: agreement at the last depth goes on for ever."""
    n = len(first)
    agreement = [len({*first[:d]} & {*second[:d]}) / d for d in range(1, n + 1)]
    beyond = sum((1 - p) * p ** (d - 1) for d in range(n + 1, 4000)) * agreement[-1]
    return sum((1 - p) * p ** (d - 1) * a for d, a in enumerate(agreement, 1)) + beyond


@pytest.mark.parametrize("p", [0.5, 0.9])
def test_rbo_is_its_definition(p):
    rng = np.random.default_rng(0)
    for _ in range(20):
        first, second = (rng.permutation(12)[:7].tolist() for _ in range(2))
        assert rank_biased_overlap(first, second, p) == pytest.approx(
            by_definition(first, second, p), abs=1e-12
        )


def test_rbo_of_lists_of_two_lengths_by_hand():
    # Equation 32: X = 1, 1, 2 at depths 1 to 3 with s = 2, l = 3, X_s = 1.
    p = 0.8
    total = 1 * p + 1 / 2 * p**2 + 2 / 3 * p**3 + 1 * (3 - 2) / (2 * 3) * p**3
    expected = (1 - p) / p * total + ((2 - 1) / 3 + 1 / 2) * p**3
    assert rank_biased_overlap(["a", "c"], ["a", "b", "c"], p) == pytest.approx(expected)


def test_shares_by_hand():
    before = {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"a": 3, "b": 2}, "q3": {"a": 1}}
    now = {"q1": {"a": 3, "c": 2, "b": 1}, "q2": {"b": 3, "a": 2}, "q4": {"a": 1}}
    found = directrank.drift(before, now, cutoff=2)
    assert {query.qid: query.overlap for query in found.queries} == {
        "q1": 0.5,
        "q2": 1.0,
        "q3": 0.0,
        "q4": 0.0,
    }
    assert (found.overlap, found.first_changed) == (1.5 / 4, 3 / 4)
    assert (found.only_before, found.only_now) == (1, 1)
    assert [query.qid for query in found.queries][-1] == "q1"
