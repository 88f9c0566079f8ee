"""Truncated Newton and reweighting: they solve what they say they solve."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from directrank import LambdaLoss, RankNet, RankSVM, make_ranking
from directrank.data import QueryGroups
from directrank.estimators import Ranker
from directrank.estimators.training import MeanMonitor
from directrank.measures import NDCG
from directrank.scorers import Linear
from directrank.solvers import LBFGS, Reweighted, TruncatedNewton, descent
from directrank.solvers.descent import Problem
from directrank.solvers.newton import hessian_vector
from directrank.surrogates import Objective, Pairwise, SmoothedPositions


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(0)
    sizes = rng.integers(4, 30, 40)
    X = rng.normal(size=(sizes.sum(), 6))
    noise = rng.normal(size=sizes.sum())
    y = np.clip(np.round(X @ [1.0, -0.5, 0.2, 0, 0, 0.1] + noise), 0, 3)
    return QueryGroups(X, y, np.repeat(np.arange(40), sizes))


def definition(groups, theta, penalty, loss):
    """The objective of RankSVM by double loops over float64 features."""
    q, total, at_zero = groups.queries, 0.0, 0.0
    scores = groups.features.astype(float) @ theta
    for k in range(q.n_queries):
        rows = slice(q.indptr[k], q.indptr[k + 1])
        s, y = scores[rows], q.relevance[rows]
        better = y[:, None] > y[None, :]
        total += loss(s[:, None] - s[None, :])[better].sum()
        at_zero += better.sum()
    return total / at_zero + penalty / 2 * theta @ theta


def test_the_minimum_is_that_of_the_definition(groups):
    def function(theta):
        return definition(groups, theta, 0.1, lambda t: np.maximum(0, 1 - t) ** 2)

    ranker = RankSVM(penalty=0.1).fit(groups)
    found = minimize(function, np.zeros(6), method="BFGS", options={"gtol": 1e-9})
    assert ranker.status_ == "converged"
    assert ranker.certificate_["objective"] == pytest.approx(function(ranker.scorer_.coefficients), rel=1e-9)
    np.testing.assert_allclose(ranker.scorer_.coefficients, found.x, atol=1e-5)


def test_the_objective_descends_and_the_gap_holds(groups):
    ranker = RankSVM(penalty=0.01).fit(groups)
    values = [row["objective"] for row in ranker.history_]
    assert all(a > b for a, b in pairwise(values))
    assert ranker.certificate_["gap"] >= 0
    early = RankSVM(penalty=0.01, max_iterations=1).fit(groups)
    assert early.status_ == "budget"
    assert early.certificate_["objective"] - values[-1] <= early.certificate_["gap"] + 1e-12


def test_products_with_the_hessian(groups):
    for n_features in (6, 2**15):  # one shard, and many in single precision
        from directrank.features.shards import make_shards

        shards = make_shards(groups.queries.indptr, n_features)
        objective = Objective(Pairwise(margin="logistic"), groups.queries, shards, n_threads=2)
        rng = np.random.default_rng(1)
        theta, direction = rng.normal(size=(2, 6))
        features = groups.features
        scores = (features @ theta).astype(objective.dtype)
        product = hessian_vector(objective, Linear(), direction, scores, features)
        flat = objective.hessian_vector(scores, (features @ direction).astype(objective.dtype))
        np.testing.assert_allclose(product, features.T.astype(float) @ flat, rtol=1e-3, atol=1e-5)
        step = 1e-4
        slopes = [
            features.T.astype(float)
            @ objective.value_and_gradient(features.astype(float) @ (theta + t * direction))[1]
            for t in (step, -step)
        ]
        expected = (slopes[0] - slopes[1]) / (2 * step)
        np.testing.assert_allclose(
            product, expected, atol=1e-5 * np.abs(expected).max() * (1 + 99 * (n_features > 6))
        )


@pytest.mark.parametrize("whitens", [False, True])
def test_directions_solve_the_newton_equation(groups, whitens):
    objective = Objective(Pairwise(margin="logistic"), groups.queries, groups.shards)
    solver, scorer, features = TruncatedNewton(penalty=0.01), Linear(), groups.features
    theta = np.random.default_rng(3).normal(size=6)
    scores = (features @ theta).astype(objective.dtype)
    gradient = np.linspace(-1.0, 2.0, 6)
    problem = Problem(objective, scorer, features, 0.01)
    whitening = problem.whitening if whitens else None
    direction, products = solver._newton_direction(problem, scores, gradient, whitening)
    curved = hessian_vector(objective, scorer, direction, scores, features) + 0.01 * direction
    assert np.linalg.norm(curved + gradient) <= 0.1 * np.linalg.norm(gradient) * (1 + 1e-9)
    assert products <= 6


@pytest.fixture(scope="module")
def dependent():
    """Features of which most are nearly sums of others."""
    rng = np.random.default_rng(1)
    found = make_ranking(80, docs_per_query=20, n_features=40, noise=1.0, random_state=1)
    mixed = (
        found.X @ rng.normal(size=(40, 40)) @ np.diag(np.geomspace(1e-3, 1.0, 40)) @ rng.normal(size=(40, 40))
    )
    return QueryGroups(mixed / mixed.std(axis=0), found.relevance, found.qid)


@pytest.mark.parametrize("weighted", [False, True])
def test_whitened_features_have_the_scatter_inside_queries(groups, weighted):
    weights = (
        np.random.default_rng(2).integers(0, 3, groups.n_queries) if weighted else np.ones(groups.n_queries)
    )
    objective = Objective(Pairwise(), groups.queries, groups.shards, weights=weights.astype(float))
    q, X, expected = groups.queries, groups.features.astype(float), 0.02 * np.eye(6)
    for k in range(q.n_queries):
        expected += objective.weights[k] * np.cov(X[q.indptr[k] : q.indptr[k + 1]].T, bias=True)
    whitening = Problem(objective, Linear(), groups.features, 0.02).whitening
    np.testing.assert_allclose(np.linalg.inv(whitening.T @ whitening), expected, rtol=1e-5, atol=1e-5)


def test_dependent_features_take_few_iterations(dependent, monkeypatch):
    lbfgs = RankNet(penalty=1e-5, scaling="none")
    assert lbfgs.fit(dependent).status_ == "converged"
    newton = Ranker(lbfgs.components()[0], TruncatedNewton(penalty=1e-5)).fit(dependent)
    assert lbfgs.certificate_["objective"] == pytest.approx(newton.certificate_["objective"], rel=1e-6)
    iterations, products = len(lbfgs.history_), sum(row.get("products", 0) for row in newton.history_)
    # Without whitening neither comes as far in several times as many steps.
    monkeypatch.setattr(Problem, "whitens", False)
    monkeypatch.setattr(Problem, "whitening", np.eye(40))
    assert lbfgs.fit(dependent).status_ == "budget"
    newton.fit(dependent)
    assert iterations < 60
    assert sum(row.get("products", 0) for row in newton.history_) > 2 * products


def test_rounds_see_the_ranking_of_the_last(groups):
    solver = Reweighted(penalty=1e-3, rounds=2, max_iterations=300)
    ranker = Ranker(LambdaLoss().components()[0], solver).fit(groups)
    assert ranker.history_[1]["change"] > 1e-2  # at the same weights a second round would stand still


def test_reweighting_keeps_the_last_round(groups):
    surrogate = LambdaLoss().components()[0]
    ranker = Ranker(surrogate, Reweighted(rounds=4), select_by="nDCG").fit(groups)
    assert [row["round"] for row in ranker.history_] == [1, 2, 3, 4]
    assert ranker.score(groups) == pytest.approx(ranker.history_[-1]["monitor"])


def test_with_fewer_documents_than_features_the_minimum_is_that_of_the_definition(monkeypatch):
    """Six documents of nine features, and a start outside the space that the documents span."""
    monkeypatch.setattr(descent, "WIDE", 9)
    rng = np.random.default_rng(0)
    wide = QueryGroups(rng.normal(size=(6, 9)), [2, 0, 1, 0, 1, 0], [0, 0, 0, 1, 1, 1])

    def function(theta):
        return definition(wide, theta, 0.1, lambda t: np.maximum(0, 1 - t) ** 2)

    def solved(scorer):
        surrogate = Pairwise(margin="squared_hinge", normalise=False)
        objective = Objective(surrogate, wide.queries, wide.shards)
        monitor = MeanMonitor(NDCG(), wide)
        return TruncatedNewton(penalty=0.1).solve(objective, scorer, wide.features, monitor, rng)

    best = minimize(function, np.zeros(9), method="BFGS", options={"gtol": 1e-9})
    for scorer in (Linear(), Linear(np.ones(9))):
        solution = solved(scorer)
        assert solution.status == "converged"
        np.testing.assert_allclose(solution.scorer.coefficients, best.x, atol=1e-5)
        assert solution.certificate["objective"] == pytest.approx(function(best.x), rel=1e-6)


def wide_groups(case: str) -> QueryGroups:
    """48 documents of 600 features, whose coordinates are rounded."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((48, 600))
    y = np.digitize(x[:, :5].sum(axis=1) + rng.normal(size=48), [0, 2]).astype(float)
    if case == "offset 1e5":
        x += 1e5
    elif case == "offset 1e6":
        x += 1e6
    elif case == "one size of 1e6":
        x[:, 0] *= 1e6
    elif case == "zeros and duplicates":
        x[:, ::3], x[5], x[20] = 0.0, x[6], x[7]
        x[:, 0] = 0.0
    return QueryGroups(x.astype(np.float32), y, np.repeat(np.arange(6), 8))


def slopes_of(groups, theta, penalty, derivative):
    """The gradient of `definition`, feature by feature, by double loops; `derivative` is that of the loss."""
    q, x = groups.queries, groups.features.astype(float)
    scores, total, pairs = x @ theta, np.zeros(groups.n_features), 0.0
    for k in range(q.n_queries):
        rows = range(q.indptr[k], q.indptr[k + 1])
        for i in rows:
            for j in rows:
                if q.relevance[i] > q.relevance[j]:
                    pairs += 1.0
                    total += derivative(scores[i] - scores[j]) * (x[i] - x[j])
    return total / pairs + penalty * theta


@pytest.mark.parametrize(
    "case", ["as drawn", "offset 1e5", "offset 1e6", "one size of 1e6", "zeros and duplicates"]
)
def test_the_certificate_of_wide_data_is_that_of_the_features(case, monkeypatch):
    """Coordinates in the documents' own space are rounded to float32, and their minimum is another one."""
    groups = wide_groups(case)
    ranker = RankSVM(penalty=0.1, scaling="none").fit(groups)
    theta, said = ranker.scorer_.coefficients, ranker.certificate_
    assert ranker.status_ == "converged"
    assert said["gradient_norm"] <= 1e-6
    assert said["gradient_norm"] == ranker.history_[-1]["gradient_norm"]
    true = np.abs(slopes_of(groups, theta, 0.1, lambda t: -2.0 * max(0.0, 1.0 - t))).max()
    assert said["gradient_norm"] == pytest.approx(true, abs=1e-7)
    value = definition(groups, theta, 0.1, lambda t: np.maximum(0, 1 - t) ** 2)
    assert said["objective"] == pytest.approx(value, rel=1e-6)
    assert "rounded_gradient_norm" in ranker.history_[0]
    monkeypatch.setattr(descent, "WIDE", 601)
    alone = RankSVM(penalty=0.1, scaling="none").fit(groups)
    assert "rounded_gradient_norm" not in alone.history_[0]
    np.testing.assert_allclose(theta, alone.scorer_.coefficients, atol=2e-6)
    assert not theta[~groups.features.any(axis=0)].any(), "features of zeros have weights of 0"


def by_lbfgs(groups, judged=None, start=None, **options):
    """What L-BFGS makes of the logistic loss over all pairs, judged by nDCG."""
    objective = Objective(Pairwise(margin="logistic", normalise=False), groups.queries, groups.shards)
    monitor, rng = MeanMonitor(NDCG(), judged or groups), np.random.default_rng(0)
    return LBFGS(**options).solve(objective, Linear(start), groups.features, monitor, rng)


@pytest.mark.share(3)
@pytest.mark.parametrize("penalty", [0.1, 1e-3])
@pytest.mark.parametrize(
    "case", ["as drawn", "offset 1e5", "offset 1e6", "one size of 1e6", "zeros and duplicates"]
)
def test_lbfgs_on_wide_data_ends_on_the_features(case, penalty, monkeypatch):
    """The certificate is that of the features, and the objective no worse than without coordinates."""
    groups = wide_groups(case)
    solution = by_lbfgs(groups, penalty=penalty)
    theta, said = solution.scorer.coefficients, solution.certificate
    assert solution.status == "converged"
    slopes = slopes_of(groups, theta, penalty, lambda t: -1.0 / (1.0 + np.exp(t)) / np.log(2))
    assert said["gradient_norm"] == pytest.approx(np.abs(slopes).max(), rel=1e-6, abs=1e-9)
    value = definition(groups, theta, penalty, lambda t: np.logaddexp(0, -t) / np.log(2))
    assert said["objective"] == pytest.approx(value, rel=1e-6)
    assert "gradient_norm" not in solution.trace[0]
    assert not theta[~groups.features.any(axis=0)].any(), "features of zeros have weights of 0"
    monkeypatch.setattr(descent, "WIDE", 601)
    alone = by_lbfgs(groups, penalty=penalty)
    assert "gradient_norm" in alone.trace[0]
    assert said["objective"] <= alone.certificate["objective"] * (1 + 1e-5)
    if case == "as drawn":
        assert abs(len(solution.trace) - len(alone.trace)) < 5, "steps are the same in any orthogonal basis"


def test_lbfgs_on_wide_data_starts_where_it_is_told():
    """From a minimum nothing is left to do; a start outside the documents' space ends inside it."""
    groups = wide_groups("as drawn")
    found = by_lbfgs(groups, penalty=0.1).scorer.coefficients
    again = by_lbfgs(groups, penalty=0.1, start=found)
    assert len(again.trace) < 5
    np.testing.assert_allclose(again.scorer.coefficients, found, atol=1e-5)
    outside = np.random.default_rng(0).normal(size=600)
    elsewhere = by_lbfgs(groups, penalty=0.1, start=outside)
    np.testing.assert_allclose(elsewhere.scorer.coefficients, found, atol=1e-4)
    assert elsewhere.certificate["relative_gradient"] <= 1e-4


def test_lbfgs_on_wide_data_keeps_budgets_and_the_best_iterate():
    groups = wide_groups("as drawn")
    for budget in (1, 2, 5):
        solution = by_lbfgs(groups, penalty=1e-3, max_iterations=budget)
        assert len(solution.trace) == budget + 1, "a row for each iteration, and one for the end"
        assert ["gradient_norm" in row for row in solution.trace] == [False] * (budget - 1) + [True, True]
        assert solution.message.startswith(f"start 0 of 1: {budget} iterations")
    best = by_lbfgs(groups, penalty=1e-3, keep="best", max_iterations=5)
    value = MeanMonitor(NDCG(), groups)(best.scorer.scores(groups.features))
    assert value == max(row["monitor"] for row in best.trace)


def test_losses_that_are_not_convex_are_minimised_on_the_features():
    """In coordinates they would end at other minima."""
    groups = wide_groups("as drawn")
    for anneal in ((), (1.0, 3.0)):
        surrogate = SmoothedPositions(NDCG(), anneal=anneal)
        objective, rng = Objective(surrogate, groups.queries, groups.shards), np.random.default_rng(0)
        solution = LBFGS().solve(objective, Linear(), groups.features, MeanMonitor(NDCG(), groups), rng)
        assert all("gradient_norm" in row for row in solution.trace)


@pytest.mark.parametrize("is_wide", [True, False])
@pytest.mark.parametrize("budget", [1, 2, 3])
def test_the_certificate_of_a_budget_is_that_of_where_the_last_step_ended(budget, is_wide, monkeypatch):
    groups, penalty = wide_groups("as drawn"), 0.1
    if not is_wide:
        monkeypatch.setattr(descent, "WIDE", 601)
    ranker = RankSVM(penalty=penalty, scaling="none", max_iterations=budget).fit(groups)
    theta, said = ranker.scorer_.coefficients, ranker.certificate_
    assert ranker.status_ == "budget"
    assert ranker.message_.startswith(f"{budget} iterations")
    assert sum("step" in row for row in ranker.history_) == budget
    # Of wide data the last step is on the features; where each part ends has a row of its own.
    assert ["rounded_gradient_norm" in row for row in ranker.history_] == [is_wide] * (
        budget if is_wide else 0
    ) + [False] * (2 if is_wide else budget + 1)
    value = definition(groups, theta, penalty, lambda t: np.maximum(0, 1 - t) ** 2)
    assert said["objective"] == ranker.history_[-1]["objective"] == pytest.approx(value, rel=1e-5)
    slopes, first = (
        slopes_of(groups, point, penalty, lambda t: -2.0 * max(0.0, 1.0 - t))
        for point in (theta, 0.0 * theta)
    )
    assert said["gradient_norm"] == pytest.approx(np.abs(slopes).max(), rel=1e-4)
    unit = np.sqrt(penalty + groups.features.var(axis=0))
    relative = np.abs(slopes / unit).max() / max(1.0, np.abs(first / unit).max())
    assert np.abs(first / unit).max() > 1.05
    assert said["relative_gradient"] == pytest.approx(relative, rel=1e-4)


def test_steps_in_coordinates_are_those_on_the_features(monkeypatch):
    """Both begin with the same gradient; what is left for the features is a step or two."""
    groups = wide_groups("as drawn")
    ranker = RankSVM(penalty=0.1, scaling="none").fit(groups)
    turned = QueryGroups(groups.X, groups.relevance[::-1].copy(), groups.qid)
    options = {"judged": turned, "penalty": 1e-3, "keep": "best", "max_iterations": 8}
    best = by_lbfgs(groups, **options)
    monkeypatch.setattr(descent, "WIDE", 601)
    alone = RankSVM(penalty=0.1, scaling="none").fit(groups)
    first, expected = ranker.history_[0]["rounded_gradient_norm"], alone.history_[0]["gradient_norm"]
    assert first == pytest.approx(expected, rel=1e-5)
    assert sum("gradient_norm" in row for row in ranker.history_) <= 3
    values = [row["monitor"] for row in by_lbfgs(groups, **options).trace]
    assert len(set(values[:4])) > 1
    assert [row["monitor"] for row in best.trace[:4]] == pytest.approx(values[:4], abs=1e-3)


def test_a_basis_has_as_many_directions_as_the_documents_span():
    """Of 48 documents two are equal to others; the basis is orthogonal, and gives the features back."""
    features = wide_groups("zeros and duplicates").features
    rows, basis = descent.in_row_space(features)
    assert rows.shape == (48, 46)
    np.testing.assert_allclose(basis @ basis.T, np.eye(46), atol=1e-12)
    np.testing.assert_allclose(rows @ basis, features, atol=1e-5)
    nothing, _ = descent.in_row_space(np.zeros((3, 600), np.float32))
    assert not nothing.any()
