"""Means by category: by hand, beside tests of each category alone, and from the command line."""

import numpy as np
import pytest

import directrank
from directrank.apps.evaluation.significance import smallest_effect


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    grades = {f"q{q}": {f"d{d}": int(g) for d, g in enumerate(rng.integers(0, 3, 8))} for q in range(30)}
    old = {q: {d: float(rng.normal()) for d in of} for q, of in grades.items()}
    new = {q: {d: s + 0.5 * grades[q][d] for d, s in of.items()} for q, of in old.items()}
    kinds = {f"q{q}": "head" if q < 20 else "tail" for q in range(28)}
    return grades, {"old": old, "new": new}, kinds


def test_each_category_is_that_of_its_queries_alone(data):
    grades, runs, kinds = data
    result = directrank.evaluate_runs(grades, runs, measures=["AP"], baseline="old")
    found = {(row.run, row.category): row for row in directrank.by_category(result, kinds)}
    assert [key[1] for key in found][:3] == ["head", "tail", "(none)"]
    p = {}
    for kind, members in (("head", range(20)), ("tail", range(20, 28)), ("(none)", range(28, 30))):
        part = {f"q{q}": grades[f"q{q}"] for q in members}
        some = {name: {q: run[q] for q in part} for name, run in runs.items()}
        alone = directrank.evaluate_runs(part, some, measures=["AP"], baseline="old")
        (pair,) = alone.content.significance["standard"].pairs["AP"]
        row = found["new", kind]
        assert (row.queries, row.difference) == (len(part), pytest.approx(pair.difference))
        means = {run: np.mean(alone.of(run)[0].per_query["standard"]["AP"]) for run in runs}
        assert (row.mean, found["old", kind].mean) == pytest.approx((means["new"], means["old"]))
        spread = np.std(np.subtract(*(alone.of(run)[0].per_query["standard"]["AP"] for run in runs)), ddof=1)
        assert row.detectable == pytest.approx(smallest_effect(len(part), 0.05 / 3) * spread)
        p[kind] = pair.p_randomisation
    by_p = sorted(p, key=p.__getitem__)
    adjusted = np.maximum.accumulate([p[kind] * (3 - place) for place, kind in enumerate(by_p)])
    for kind, expected in zip(by_p, np.minimum(adjusted, 1.0), strict=True):
        assert found["new", kind].p == pytest.approx(expected)
    assert found["old", "head"].difference is None
