"""Agreement of judgments: statistics against definitions and another package, and what is said of both."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import cohen_kappa_score

from directrank import agreement, evaluate_runs
from directrank.apps.evaluation.raters import krippendorff_alpha, weighted_kappa
from directrank.errors import DataError


def judged(grades, n_queries=10):
    """Grades as judgments, dealt to queries in turn; the qids have leading zeros."""
    judgments = {f"{query:03d}": {} for query in range(n_queries)}
    for document, grade in enumerate(grades):
        judgments[f"{document % n_queries:03d}"][f"d{document}"] = int(grade)
    return judgments


def alpha_naive(first, second):
    """Krippendorff's α by definition: the distance of grades c < k counts the values from c to k."""
    values = np.concatenate([first, second])
    number = {grade: int((values == grade).sum()) for grade in set(values.tolist())}

    def distance(c, k):
        c, k = min(c, k), max(c, k)
        return (sum(number[g] for g in number if c <= g <= k) - (number[c] + number[k]) / 2) ** 2

    observed = np.mean([distance(c, k) for c, k in zip(first.tolist(), second.tolist(), strict=True)])
    n = len(values)
    expected = sum(distance(c, k) for c, k in product(values.tolist(), repeat=2)) / (n * (n - 1))
    return 1.0 - observed / expected


@pytest.mark.parametrize("seed", range(5))
def test_statistics_are_those_of_their_definitions(seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, 60)
    second = np.clip(first + rng.integers(-1, 3, 60), 0, 5)
    found = agreement(judged(first), judged(second))
    assert found.kappa.value == pytest.approx(
        cohen_kappa_score(first, second, weights="quadratic"), abs=1e-12
    )
    assert found.alpha.value == pytest.approx(alpha_naive(first, second), abs=1e-12)
    assert found.kappa.low < found.kappa.value < found.kappa.high
    assert found.counts.sum() == found.n_documents == 60


def test_statistics_by_hand():
    # Two agree on 0, one on 1, and one pair has 0 and 1: of eight values five are 0 and three are 1.
    counts = np.array([[2, 1], [0, 1]])
    assert weighted_kappa(counts, np.array([0.0, 1.0])) == pytest.approx(
        1 - (1 / 4) / (3 / 4 * 2 / 4 + 1 / 4 * 2 / 4)
    )
    assert krippendorff_alpha(counts) == pytest.approx(1 - (1 / 4) / (2 * 5 * 3 / (8 * 7)))


def test_equal_judgments_agree_wholly_and_one_grade_says_nothing():
    grades = np.arange(40) % 3
    found = agreement(judged(grades), judged(grades))
    assert found.kappa == found.alpha == (1.0, 1.0, 1.0)
    assert found.most == []
    constant = agreement(judged(np.ones(10)), judged(np.ones(10)))
    assert np.isnan([*constant.kappa, *constant.alpha]).all()


def test_documents_that_one_side_has_not_judged_are_left_out_and_counted():
    first, second = {"7": {"a": 0, "b": 2, "c": 1}, "007": {"a": 1}}, {"7": {"a": 2, "b": 2, "c": -1, "d": 0}}
    found = agreement(first, second)
    assert (found.n_queries, found.n_documents, found.only_first, found.only_second) == (1, 2, 2, 1)
    assert found.most == [("7", "a", 0.0, 2.0)]
    with pytest.raises(DataError, match=r"no judged document in common: they are called q a and q b"):
        agreement({"q": {"a": 1}}, {"q": {"b": 1}})


def test_tau_is_that_of_the_means_over_common_queries():
    rng = np.random.default_rng(3)
    first = rng.integers(0, 3, 80)
    second = np.clip(first + rng.integers(-1, 2, 80), 0, 2)
    people, model = judged(first), judged(second)
    people["extra"] = {"d0": 1, "d1": 0}
    runs = {
        f"run {s}": {
            q: {d: float(rng.random() + s * first[int(d[1:])] / 9) for d in of} for q, of in people.items()
        }
        for s in range(5)
    }
    found = agreement(people, model, runs, measure="AP")
    for side, judgments in enumerate((judged(first), model)):
        frame = evaluate_runs(
            judgments,
            {n: {q: r for q, r in run.items() if q != "extra"} for n, run in runs.items()},
            measures=["AP"],
        )
        means = [frame.mean(name, "AP", "standard") for name in runs]
        assert [pair[side] for pair in found.systems.values()] == pytest.approx(means)
    pairs = np.array([*found.systems.values()])
    assert found.tau.value == pytest.approx(kendalltau(pairs[:, 0], pairs[:, 1]).statistic)
    assert found.tau.low <= found.tau.value <= found.tau.high
    assert agreement(people, model, {"one": runs["run 0"]}).tau is None
