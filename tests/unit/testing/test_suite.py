"""The test suite finds what is broken: each object here fails one check on purpose."""

import numpy as np
import pytest

from directrank.contracts import (
    Curvature,
    HessianVector,
    QueryWeights,
    Solution,
    Solver,
    Surrogate,
    ValueAndGradient,
)
from directrank.estimators import Regression
from directrank.estimators.method import Method, configured_method
from directrank.measures import AP
from directrank.measures.positions import Positions
from directrank.plugins import load_plugin
from directrank.testing import of_rankers, of_solvers, of_surrogates
from directrank.testing.checks import FailedCheckError, run_checks
from directrank.testing.suite import check_measure, check_surrogate
from plugin_examples import MEASURE, SURROGATE, nothing_loaded  # noqa: F401 - the fixture works for all tests


def broken(report) -> set[str]:
    return {each.check for each in report.results if not each.passed}


class Share(AP):
    """A measure of the share of relevant documents among those ranked in the first half, with faults."""

    meaning = "A measure with a fault."
    fault = ""

    def query_values(self, queries, positions):
        right = super().query_values(queries, positions)
        return getattr(self, self.fault)(queries, positions, right)

    def above_one(self, queries, positions, right):
        return 2.0 * right

    def ties_in_order(self, queries, positions, right):
        return super().query_values(queries, Positions(positions.above, np.ones_like(positions.tied)))

    def upside_down(self, queries, positions, right):
        return 1.0 - right

    def short(self, queries, positions, right):
        return right[:-1]

    def of_all(self, queries, positions, right):
        return right * right.mean()

    def failing(self, queries, positions, right):
        return right / None

    def writing(self, queries, positions, right):
        positions.above[:] = 0
        return right


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("above_one", "lies between 0 and 1 for grades up to 31"),
        ("ties_in_order", "counts ties with the mean over all their orders"),
        ("upside_down", "is never better than for the ranking by relevance"),
        ("short", "returns one number per query"),
        ("of_all", "values a query without regard to the others"),
        ("failing", "returns one number per query"),
        ("writing", "does not write into its arguments"),
    ],
)
def test_a_fault_of_a_measure_is_found(fault, check):
    measure = type("Share", (Share,), {"fault": fault})()
    found = broken(check_measure(measure))
    assert any(each.startswith(check) for each in found), found


class Squares(Surrogate):
    """Squared error on documents, with faults."""

    offers = frozenset({ValueAndGradient})
    is_bound, is_convex, is_smooth = False, True, True
    fault = ""

    def on(self, queries, weights):
        return SquaresOracles(queries, weights, self.fault)


class SquaresOracles:
    def __init__(self, queries, weights, fault):
        self.y, self.w, self.fault = queries.relevance, np.repeat(weights, queries.sizes), fault
        if fault == "weights":
            self.w = np.ones(queries.n_docs)

    def value_and_gradient(self, scores):
        error = scores - self.y
        slope = 2.0 * self.w * error
        if self.fault == "slope":
            slope = slope * 1.001
        if self.fault == "type":
            return float(self.w @ error**2), slope
        if self.fault == "writing":
            scores[:] = 0.0
        if self.fault == "concave":
            return -float(self.w @ error**2), -slope.astype(scores.dtype)
        if self.fault == "corner":
            return float(self.w @ np.abs(error)), (self.w * np.sign(error)).astype(scores.dtype)
        return float(self.w @ error**2), slope.astype(scores.dtype)

    def hessian_vector(self, scores, direction):
        return (2.0 + (self.fault == "hessian")) * self.w * direction

    def derivatives(self, scores):
        return *self.value_and_gradient(scores), (2.0 - (self.fault == "curvature")) * self.w


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("slope", "has a gradient that equals differences of its value"),
        ("type", "has in float32 the value and gradient of float64"),
        ("writing", "does not write into scores"),
        ("concave", "is convex in the scores if it says so"),
        ("corner", "has a continuous gradient if it says that it is smooth"),
        ("weights", "counts a query of weight 0 as if it were not there"),
    ],
)
def test_a_fault_of_a_surrogate_is_found(fault, check):
    surrogate = Squares()
    assert not broken(check_surrogate(surrogate))
    surrogate.fault = fault
    found = broken(check_surrogate(surrogate))
    assert any(each.startswith(check) for each in found), found


def test_second_derivatives_are_tried_where_they_are_offered():
    right, hessian, curvature = Squares(), Squares(), Squares()
    hessian.fault, curvature.fault = "hessian", "curvature"
    of_surrogates.hessian_is_the_slope_of_the_gradient(right)
    of_surrogates.curvature_bounds_the_second_derivative(right)
    with pytest.raises(FailedCheckError, match="it differs from differences"):
        of_surrogates.hessian_is_the_slope_of_the_gradient(hessian)
    with pytest.raises(FailedCheckError, match="the second derivative is"):
        of_surrogates.curvature_bounds_the_second_derivative(curvature)
    hessian.offers = curvature.offers = frozenset({ValueAndGradient, HessianVector, Curvature})
    assert len(broken(check_surrogate(hessian))) == len(broken(check_surrogate(curvature))) == 1


class Sneaky(Solver):
    """A solver that asks for the value, and names another oracle."""

    needs = frozenset({QueryWeights})

    def solve(self, objective, scorer, features, monitor, rng):
        objective.value(np.zeros(objective.n_docs))
        return Solution(scorer, "done", {})


def test_a_fault_of_a_solver_is_found():
    verdicts = {each.check: each for each in run_checks(Sneaky(), of_solvers.CHECKS)}
    assert verdicts["calls the oracles that it names, and no others"].message.startswith("it calls value, of")
    ended = verdicts["says how it ended: a status, a certificate, a trace and a sentence"]
    assert ended.message.startswith("the status 'done' is not one of converged")


class Random(Regression):
    """Adds noise of its own to the model."""

    def fit(self, X, y=None, qid=None, **options):
        super().fit(X, y, qid, **options)
        self.scorer_.coefficients[:] += np.random.default_rng().normal(size=self.n_features_in_)
        return self


def test_a_fault_of_a_method_is_found():
    method = configured_method(Method("random", Random), None, "AP")
    verdicts = run_checks(method, of_rankers.CHECKS[:3])
    assert [each.passed for each in verdicts] == [True, False, False]


@pytest.mark.parametrize("last", ["n_docs", "longest"])
def test_a_measure_that_counts_what_a_run_does_not_hold_is_found(last):
    class AtTheEnd(load_plugin(MEASURE).things[0]):
        def query_values(self, queries, positions):
            ends = {"n_docs": np.repeat(queries.sizes - 1, queries.sizes), "longest": queries.longest}
            return super().query_values(
                queries, Positions(np.minimum(positions.above, ends[last]), positions.tied)
            )

    assert broken(check_measure(AtTheEnd())) == {
        "adds nothing for documents that a run does not hold, unless it says that it ranks or counts them"
    }
