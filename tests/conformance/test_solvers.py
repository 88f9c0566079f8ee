"""Every registered solver: its certificate holds, its trace descends, seeds and threads reproduce bits."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from directrank.apps.papers import Perceptron
from directrank.data.groups import QueryGroups
from directrank.measures import AP, NDCG, mean_value
from directrank.scorers import Linear, Trees, default_scorer
from directrank.solvers import (
    BCFW,
    LBFGS,
    SGD,
    ClosedForm,
    CoordinateAscent,
    CuttingPlane,
    DocumentBoosting,
    QueryBoosting,
    Reweighted,
    TreeBoosting,
    TruncatedNewton,
    WorkingSets,
)
from directrank.solvers.passes import value_and_gradient
from directrank.surrogates import (
    ExpectedMeasure,
    MeasureItself,
    Objective,
    Pairwise,
    SmoothedPositions,
    SquaredError,
    SwapWeighted,
    TypeOneBound,
    TypeTwoBound,
    WorkingSetBound,
)
from directrank.testing import of_solvers
from directrank.testing.checks import groups as collection
from directrank.testing.of_solvers import METHODS_OF, check_calls, check_solution
from surrogate_examples import SOLVERS


@dataclass
class Example:
    """A solver, a surrogate that suits it, and what its solution has."""

    solver: Any
    surrogate: Any
    descends: bool = False
    random: bool = False
    certificates: set = field(default_factory=set)


#: How to try each solver: class name → function to an example.
EXAMPLES = {
    "LBFGS": lambda: Example(
        LBFGS(penalty=1e-2, max_iterations=40), SmoothedPositions(NDCG()), True, False, {"gradient_norm"}
    ),
    "SGD": lambda: Example(
        SGD(max_epochs=4, tolerance=1e-9), SmoothedPositions(AP()), False, True, {"last_change"}
    ),
    "TruncatedNewton": lambda: Example(
        TruncatedNewton(penalty=1e-2),
        Pairwise(margin="squared_hinge"),
        True,
        False,
        {"gradient_norm", "gap", "objective"},
    ),
    "Reweighted": lambda: Example(
        Reweighted(rounds=3, max_iterations=10), SwapWeighted(NDCG()), certificates={"gradient_norm"}
    ),
    "ClosedForm": lambda: Example(ClosedForm(), SquaredError(), certificates={"gradient_norm"}),
    "QueryBoosting": lambda: Example(QueryBoosting(rounds=12), TypeOneBound(AP()), certificates={"bound"}),
    "DocumentBoosting": lambda: Example(
        DocumentBoosting(rounds=25, keep="last"),
        ExpectedMeasure(NDCG()),
        True,
        False,
        {"objective", "promised"},
    ),
    "TreeBoosting": lambda: Example(
        TreeBoosting(rounds=12, leaves=4, keep="last"), SmoothedPositions(NDCG()), certificates={"objective"}
    ),
    "BCFW": lambda: Example(BCFW(C=10.0), TypeTwoBound(AP()), random=True, certificates={"duality_gap"}),
    "Perceptron": lambda: Example(
        Perceptron(max_passes=20), TypeTwoBound(AP()), random=True, certificates={"violations"}
    ),
    "CuttingPlane": lambda: Example(
        CuttingPlane(C=10.0), TypeTwoBound(AP()), descends=True, certificates={"duality_gap"}
    ),
    "CoordinateAscent": lambda: Example(
        CoordinateAscent(cycles=2, runs=2), MeasureItself(AP()), random=True, certificates={"objective"}
    ),
    "WorkingSets": lambda: Example(
        WorkingSets(C=3.0, rounds=10), WorkingSetBound(AP()), certificates={"bound", "duality_gap"}
    ),
}


class MeanAP:
    """Mean AP of some documents: what a run is judged by."""

    def __init__(self, groups):
        self.groups, self.features = groups, groups.features

    def __call__(self, scores):
        return mean_value(AP(), self.groups.queries, scores)


def solve(solver, surrogate, groups, n_threads=1, seed=0, scorer=None):
    objective = Objective(surrogate, groups.queries, groups.shards, n_threads=n_threads)
    rng = np.random.default_rng(seed)
    solution = solver.solve(
        objective, scorer or default_scorer(solver.trains), groups.features, MeanAP(groups), rng
    )
    return objective, solution


@pytest.fixture(params=SOLVERS, ids=lambda cls: cls.__name__)
def example(request):
    name = request.param.__name__
    assert name in EXAMPLES, f"{name} is registered but never tested: add to EXAMPLES how to try it"
    return EXAMPLES[name]()


@pytest.mark.parametrize("optional", [True, False])
def test_what_is_called_is_what_is_declared(example, optional):
    """Of bound surrogates and objectives a solver reads the oracles that it names, and no others."""
    called = check_calls(example.solver, example.surrogate, optional)
    if not optional:
        assert all(METHODS_OF[oracle] & called for oracle in example.solver.needs)


def test_a_solution_learns_descends_where_promised_and_says_how_it_ended(example):
    groups = collection()
    judge = MeanAP(groups)
    _, solution = solve(example.solver, example.surrogate, groups)
    assert example.certificates <= solution.certificate.keys()
    check_solution(solution)
    assert judge(solution.scorer.scores(groups.features)) > 0.05 + judge(np.zeros(groups.n_docs))
    if example.descends:
        values = [row["objective"] for row in solution.trace]
        assert (np.diff(values) <= 1e-12).all()
        assert values[-1] < values[0]


def numbers_of(scorer):
    """The bytes of what a solver has trained."""
    return (scorer.value if isinstance(scorer, Trees) else scorer.coefficients).tobytes()


def test_the_seed_reproduces_every_bit(example):
    groups = collection()
    first, again, other = (solve(example.solver, example.surrogate, groups, seed=s)[1] for s in (1, 1, 2))
    assert numbers_of(first.scorer) == numbers_of(again.scorer)
    assert first.trace == again.trace
    assert (first.trace == other.trace) != example.random


@pytest.mark.heavy
def test_threads_change_no_bit(example):
    groups = collection(n_queries=512, n_docs=24, n_features=64)  # 12,288 documents of 256 bytes: three MiB
    groups.shards  # noqa: B018 - made once, outside the runs
    assert len(groups.shards) == 3
    solver = example.solver
    for name in ("max_iterations", "rounds", "max_epochs", "max_passes"):
        if hasattr(solver, name):
            setattr(solver, name, 3)
    one, three = (solve(solver, example.surrogate, groups, n_threads=n)[1] for n in (1, 3))
    assert numbers_of(one.scorer) == numbers_of(three.scorer)
    assert one.trace == three.trace


def test_features_are_not_written(example):
    of_solvers.does_not_write_into_features(example.solver, example.surrogate)


def test_gradient_norm_is_that_of_the_solution():
    groups = collection()
    # A smaller tolerance is beyond float64: what a gradient of 1e-8 can gain is rounding in the objective.
    for scale in (1.0, 1e-2):
        objective, solution = solve(
            LBFGS(penalty=1e-2, tolerance=1e-7 * scale), SmoothedPositions(NDCG()), groups
        )
        w = solution.scorer.coefficients
        value, gradient = value_and_gradient(objective, Linear(), w, groups.features)
        assert np.abs(gradient + 1e-2 * w).max() == pytest.approx(
            solution.certificate["gradient_norm"], rel=1e-6
        )
        assert value + 0.5e-2 * w @ w == pytest.approx(solution.certificate["objective"], rel=1e-12)
        assert solution.status == "converged"
        assert solution.certificate["gradient_norm"] <= 1e-5


def test_gradient_norm_of_the_closed_form_is_that_of_the_solution():
    groups = collection(n_features=5)
    _, solution = solve(ClosedForm(), SquaredError(), groups)
    X, y = groups.features.astype(float), groups.queries.relevance
    residual = X @ solution.scorer.coefficients - y
    slope = X.T @ (residual - residual.mean()) / len(y)  # the intercept takes the mean
    assert np.abs(slope).max() <= 1e-12
    assert solution.certificate["gradient_norm"] <= 1e-12
    assert solution.certificate["rank"] == 5


def standardised(groups):
    X = groups.X.astype(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return QueryGroups(X, groups.relevance, groups.qid)


@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_two_solvers_of_one_convex_problem_agree(penalty):
    groups = standardised(collection(n_features=5))
    objective, by_gradient = solve(
        LBFGS(penalty=penalty, tolerance=1e-10, max_iterations=500), SquaredError(), groups
    )
    # scale · Σ w (s − y)² + λ/2 |θ|², w = 1/12 on each of 180 documents: λ becomes a ridge on their mean.
    ridge = penalty / (2 * objective.scale * 180 / 12)
    _, closed = solve(ClosedForm(ridge=ridge), SquaredError(), groups)
    np.testing.assert_allclose(by_gradient.scorer.coefficients, closed.scorer.coefficients, rtol=0, atol=1e-6)


@pytest.mark.parametrize("surrogate", [Pairwise(margin="squared_hinge"), Pairwise(margin="logistic")])
def test_cutting_planes_and_lbfgs_agree_on_smooth_convex_surrogates(surrogate):
    groups = collection(n_features=3)
    _, planes = solve(CuttingPlane(penalty=0.1, tolerance=1e-5), surrogate, groups)
    _, descent = solve(LBFGS(penalty=0.1, tolerance=1e-9), surrogate, groups)
    assert planes.status == "converged"
    lowest, gap = descent.certificate["objective"], planes.certificate["duality_gap"]
    assert planes.certificate["objective"] - gap <= lowest * (1 + 1e-9)
    assert lowest <= planes.certificate["objective"] * (1 + 1e-9)


@pytest.mark.parametrize("start", [None, Linear(np.array([3.0, -3.0, 1.0, 0.0]))])
def test_a_convex_problem_does_not_remember_its_start(start):
    groups = collection()
    solver = LBFGS(penalty=0.1, tolerance=1e-9)
    _, from_zero = solve(solver, SquaredError(), groups)
    _, solution = solve(solver, SquaredError(), groups, scorer=start)
    np.testing.assert_allclose(solution.scorer.coefficients, from_zero.scorer.coefficients, atol=1e-6)
