"""Simulated annealing before L-BFGS: it leaves a valley that L-BFGS alone ends in, and is reproducible."""

import numpy as np
import pytest

from directrank import ApproxRank, RankSVM, make_ranking
from directrank.contracts import Value, ValueAndGradient
from directrank.scorers import Linear
from directrank.solvers import LBFGS


class Valleys:
    """An objective with a shallow valley near −0.5 and a deep one near 0.8, in the first coefficient.

    From its highest point, −1, a first step of L-BFGS leads to 0, from where the shallow valley is near.
    """

    offers = frozenset({Value, ValueAndGradient})
    stages, dtype, n_docs, scale, is_convex = (), np.float64, 1, 1.0, False

    def value_and_gradient(self, scores):
        x = scores[0]
        product = (x + 0.5) * (x - 0.8)
        return float(product**2 - 0.05 * x + 0.1), np.array([2 * product * (2 * x - 0.3) - 0.05])


@pytest.mark.parametrize(("annealing", "sign"), [(0, -1.0), (500, 1.0)])
def test_annealing_leaves_a_shallow_valley(annealing, sign, monkeypatch):
    monkeypatch.setattr(
        "directrank.solvers.descent.Problem.at",
        lambda self, point: Valleys().value_and_gradient(np.asarray(point)),
    )
    monkeypatch.setattr("directrank.solvers.descent.Problem.relative", lambda *ignored: 0.0)
    monkeypatch.setattr("directrank.solvers.descent.Problem.approximation_errors", lambda *ignored: {})

    class Monitor:
        features = np.ones((1, 1), np.float32)

        def __call__(self, scores):
            return -Valleys().value_and_gradient(scores)[0]

    solver = LBFGS(annealing=annealing)
    found = solver.solve(
        Valleys(), Linear(np.array([-0.56])), Monitor.features, Monitor(), np.random.default_rng(0)
    )
    assert np.sign(found.scorer.coefficients[0]) == sign


def test_it_is_a_start_of_approx_rank_and_a_seed_repeats_it():
    data = make_ranking(n_queries=12, n_features=4, random_state=0)
    fits = [ApproxRank("AP", start="annealing", random_state=seed).fit(data) for seed in (1, 1)]
    assert fits[0].coef_.tobytes() == fits[1].coef_.tobytes()
    assert fits[0].certificate_["objective"] < 1.0
    with pytest.raises(ValueError, match="needs solver"):
        ApproxRank("AP", start="annealing", solver="sgd").fit(data)


def test_the_named_starts_of_approx_rank():
    """RankSVM's is that of a fitted RankSVM; annealing ends lower than zeros where the measure is steep."""
    data = make_ranking(n_queries=12, n_features=4, random_state=0)
    options = {"measure": "AP", "steepness": 100.0, "scaling": "standard", "random_state": 0}
    starts = ("ranksvm", RankSVM(scaling="standard").fit(data), "annealing", "zero")
    named, given, annealed, zero = (ApproxRank(start=each, **options).fit(data) for each in starts)
    np.testing.assert_allclose(named.coef_, given.coef_, rtol=1e-6)
    assert annealed.certificate_["objective"] < zero.certificate_["objective"]
