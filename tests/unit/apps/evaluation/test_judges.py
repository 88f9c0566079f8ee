"""Means with a machine's judgments, against their formula, simulated truth and arithmetic."""

import numpy as np
import pytest

from directrank import DataError
from directrank.apps.evaluation import judged_mean, judged_means


def population(judge, n=3000):
    rng = np.random.default_rng(0)
    people = rng.beta(1.2, 1.2, n)
    good = np.clip(people + 0.15 * rng.normal(size=n), 0, 1)
    machine = {
        "good": good,
        "random": rng.random(n),
        "inverted": 1 - good,
        "lenient": np.clip(people / 2 + 0.5 + 0.1 * rng.normal(size=n), 0, 1),
    }[judge]
    return people, machine


@pytest.mark.parametrize("n", [20, 100])
@pytest.mark.parametrize("judge", ["good", "random", "inverted", "lenient"])
def test_intervals_cover_whatever_the_judge_says(judge, n):
    people, machine = population(judge)
    covered, ratios = 0, []
    draws = 120
    for seed in range(draws):
        order = np.random.default_rng(seed).permutation(len(people))
        some, more = order[:n], order[n : n + 500]
        result = judged_mean(people[some], machine[some], machine[more])
        covered += result.assisted.low <= people.mean() <= result.assisted.high
        ratios.append((result.assisted.high - result.assisted.low) / (result.alone.high - result.alone.low))
    # Three errors of 120 draws.
    assert covered / draws >= 0.95 - 3 * 0.0199
    assert max(ratios) <= 1.0
    assert np.mean(ratios) <= (1.0 if judge == "random" else 0.8)


def test_the_formula_with_many_queries():
    rng = np.random.default_rng(1)
    people, more = rng.random(60), rng.random(200)
    machine = 0.7 * people + 0.1 * rng.random(60)
    result = judged_mean(people, machine, more)
    everything = np.concatenate([machine, more])
    weight = np.cov(people, machine)[0, 1] / ((1 + 60 / 200) * everything.var(ddof=1))
    assert result.weight == pytest.approx(weight)
    assert result.assisted.value == pytest.approx(weight * more.mean() + (people - weight * machine).mean())
    variance = (people - weight * machine).var(ddof=1) / 60 + weight**2 * more.var(ddof=1) / 200
    assert result.assisted.high - result.assisted.low == pytest.approx(2 * 2.0009954 * variance**0.5)
    assert result.alone.value == pytest.approx(people.mean())


def test_few_queries_use_the_weight_of_the_others():
    rng = np.random.default_rng(2)
    people, more = rng.random(10), rng.random(50)
    machine = people + 0.05 * rng.random(10)
    result, total, weights = judged_mean(people, machine, more), 0.0, []
    for one in range(10):
        others = np.arange(10) != one
        every = np.concatenate([machine[others], more])
        weights.append(np.cov(people[others], machine[others])[0, 1] / ((1 + 10 / 50) * every.var(ddof=1)))
        total += (people[one] - weights[-1] * machine[one]) / 10
    assert result.weight == pytest.approx(np.mean(weights))
    assert result.assisted.value == pytest.approx(total + np.mean(weights) * more.mean())


def test_queries_needed_by_the_formula():
    people, machine = population("good")
    result = judged_mean(people[:100], machine[:100], machine[100:])
    assert result.helps
    whole, r = people[:100].var(ddof=1), np.corrcoef(people[:100], machine[:100])[0, 1]
    weights = np.linspace(0.0, 1.5, 3001)  # the best of these, for n queries of people and 2,900 more

    def reached(n):
        shares = 1 - 2 * weights * r**2 + weights**2 * r**2 * (1 + n / 2900)
        return 2 * 1.959964 * np.sqrt(shares.min() * whole / n)

    for width in (0.1, 0.02):
        n, alone = result.queries_needed(width), result.queries_needed(width, assisted=False)
        assert alone == np.ceil(whole / (width / 2 / 1.959964) ** 2)
        assert n < alone
        assert reached(n) <= width < reached(0.99 * n - 1)
    for width in (0.0, np.inf):
        with pytest.raises(ValueError, match="expected the width"):
            result.queries_needed(width)


def test_runs_and_their_difference_by_arithmetic():
    # P@1 of a query is 1 where the first document is relevant.
    people = {f"q{i}": {"a": i % 2, "b": 1 - i % 2} for i in range(4)}
    judge = {f"q{i}": {"a": 1, "b": 0} for i in range(6)}
    run = {f"q{i}": {"a": 2.0, "b": 1.0} for i in range(6)}
    other = {f"q{i}": {"a": 1.0, "b": 2.0} for i in range(6)}
    result = judged_means(people, run, judge, measures="P@1")["P@1"]
    assert (result.n_queries, result.n_more, result.alone.value, result.weight) == (4, 2, 0.5, 0.0)
    result = judged_means(people, other, judge, measures="P@1", baseline=run)["P@1"]
    assert result.alone.value == 0.0  # 2 queries better by 1, 2 worse
    with pytest.raises(DataError, match="0 the machine's alone"):
        judged_means(people, run, people, measures="P@1")
