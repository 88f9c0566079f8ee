"""Structural SVMs and working sets: two solvers reach one objective, and certificates tell the truth."""

import numpy as np
import pytest

from directrank.contracts import CutKernel
from directrank.data.groups import QueryGroups
from directrank.estimators import PermuRank
from directrank.measures import AP, NDCG, mean_value, parse_measure
from directrank.scorers import Linear
from directrank.solvers import BCFW, CuttingPlane, WorkingSets
from directrank.solvers.frank_wolfe import (
    no_cuts,
    optimise_kept_cuts,
    step_among_kept,
    take_cut,
)
from directrank.solvers.planes import dual_value
from directrank.solvers.working_sets import FoundRankings, minimise
from directrank.surrogates import Objective, TypeTwoBound, WorkingSetBound
from groups import first_group


def collection(n_queries=20, n_docs=12, n_features=5, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_docs, n_features))
    truth = X @ np.linspace(1.0, -0.5, n_features) + noise * rng.normal(size=len(X))
    return QueryGroups(
        X, np.digitize(truth, [0.5, 1.5]).astype(float), np.repeat(np.arange(n_queries), n_docs)
    )


def judge(groups):
    class Judge:
        features = groups.features

        def __call__(self, scores):
            return float(-np.square(scores).mean())

    return Judge()


def solve(solver, surrogate, groups, seed=0, **options):
    objective = Objective(surrogate, groups.queries, groups.shards, **options)
    rng = np.random.default_rng(seed)
    return objective, solver.solve(objective, Linear(), groups.features, judge(groups), rng)


def primal(objective, groups, w, C):
    """Eq. (8) by definition: the bound of each query with its weight, and half the squared norm."""
    total = 0.5 * w @ w
    for part in objective.single_queries():
        scores = groups.features[part.rows].astype(float) @ w
        losses, direction = part.oracles.most_violated(scores)
        total += C * objective.weights[part.queries][0] * (losses[0] + direction @ scores)
    return total


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "name", first_group(["AP", "nDCG", "RR", "WPD", "P@3", "nDCG@3"], lambda name: "@" not in name)
)
@pytest.mark.parametrize("C", [0.3, 10.0, 300.0])
def test_solvers_reach_one_objective_within_their_gaps(name, C):
    groups = collection()
    found = []
    for solver in (
        BCFW(C=C, tolerance=1e-3, max_passes=3000),
        CuttingPlane(C=C, tolerance=1e-3),
        CuttingPlane(C=C, tolerance=1e-3, line_search=False, max_iterations=3000),
    ):
        objective, solution = solve(solver, TypeTwoBound(parse_measure(name)), groups)
        assert solution.status == "converged"
        value, gap = solution.certificate["objective"], solution.certificate["duality_gap"]
        assert primal(objective, groups, solution.scorer.coefficients, C) == pytest.approx(value, rel=1e-6)
        assert -1e-9 * value <= gap <= 1e-3 * value
        found.append((value - gap, value))
    # Each value lies above the other's lower bound.
    assert max(low for low, _ in found) <= min(high for _, high in found) * (1 + 1e-6)


def test_the_gap_bounds_the_distance_to_a_better_solution():
    groups = collection()
    _objective, rough = solve(BCFW(C=30.0, max_passes=6), TypeTwoBound(AP()), groups)
    _, fine = solve(CuttingPlane(C=30.0, tolerance=1e-6), TypeTwoBound(AP()), groups)
    assert rough.status == "budget"
    assert rough.certificate["passes"] <= 6
    distance = rough.certificate["objective"] - fine.certificate["objective"]
    assert 0 <= distance <= rough.certificate["duality_gap"] * (1 + 1e-9)


@pytest.mark.parametrize("n_queries", [12, 400])  # one shard in float64, many in float32
@pytest.mark.parametrize("name", ["AP", "RR", "P@3"])
def test_the_compiled_loop_is_the_oracle_query_by_query(name, n_queries):
    """Whatever way the queries are visited, the cuts, the steps and the certificates are the same."""
    groups = collection(n_queries=n_queries, n_features=40 if n_queries > 12 else 5, n_docs=16)
    surrogate = TypeTwoBound(parse_measure(name))
    solver = BCFW(C=10.0, tolerance=1e-3)
    _, compiled = solve(solver, surrogate, groups)
    surrogate.offers = surrogate.offers - {CutKernel}
    _, one_by_one = solve(solver, surrogate, groups)
    same = 1e-9 if n_queries == 12 else 1e-3
    assert compiled.certificate["objective"] == pytest.approx(one_by_one.certificate["objective"], rel=same)
    if n_queries == 12:
        np.testing.assert_allclose(compiled.scorer.coefficients, one_by_one.scorer.coefficients, atol=1e-9)
        assert [row["pass"] for row in compiled.trace] == [row["pass"] for row in one_by_one.trace]


def test_kept_cuts_change_neither_w_nor_the_dual_when_room_runs_out():
    """Random cuts of one query: the dual never falls, and w stays the sum of what is kept."""
    rng = np.random.default_rng(0)
    for room in (2, 3, 8):
        steps = no_cuts(np.array([2.0, 1.0]), room, 4)
        cuts = steps.planes
        last = 0.0
        for trial in range(60):
            query, vector, offset = trial % 2, rng.normal(size=4), rng.random()
            height = offset + vector @ cuts.w
            heights = [
                cuts.offsets[k] + cuts.vectors[k] @ cuts.w for k in range(query * room, (query + 1) * room)
            ]
            held = sum(cuts.alpha[query * room + k] * heights[k] for k in range(room))
            gap = take_cut(cuts, query, offset, vector)
            if trial % 5:
                step_among_kept(steps, query)
            assert gap == pytest.approx(cuts.caps[query] * max(0.0, height, *heights) - held, abs=1e-12)
            moved = cuts.w.copy()
            dual = dual_value(cuts)
            np.testing.assert_allclose(moved, cuts.w, atol=1e-12)
            assert dual >= last - 1e-12
            by_query = cuts.alpha.reshape(2, room)
            assert (by_query >= 0).all()
            assert (by_query.sum(axis=1) <= cuts.caps + 1e-12).all()
            last = dual
        assert optimise_kept_cuts(steps, np.arange(2), 1e-9, 500) < 500
        assert dual_value(cuts) >= last - 1e-12


def test_graded_gains():
    groups = collection(n_queries=6, n_docs=8)
    surrogate = TypeTwoBound(NDCG(), grades="all", feature_map="pairs")
    objective, solution = solve(BCFW(C=50.0, tolerance=1e-2, max_passes=400), surrogate, groups)
    assert solution.status == "converged"
    assert objective.value_and_gradient(np.zeros(groups.n_docs))[0] == pytest.approx(1.0)


@pytest.mark.parametrize("margin", ["hinge", "margin-rescaled", "logistic"])
def test_max_is_a_cutting_plane_method(margin):
    """The bound over the working sets never falls, and at the end it lies above 1 − E of every query."""
    groups = collection(n_queries=8, n_docs=8)
    surrogate = WorkingSetBound(AP(), margin=margin, aggregate="max")
    C = 5.0
    solver = WorkingSets(C=C, rounds=200, averaged=False, keep="last", tolerance=1e-7)
    _objective, solution = solve(solver, surrogate, groups)
    bounds = [row["bound"] for row in solution.trace]
    assert (np.diff(bounds) >= -1e-5 * bounds[-1]).all()
    assert solution.status == "converged"
    w = solution.scorer.coefficients
    scores = groups.features.astype(float) @ w
    risk = (solution.certificate["bound"] - 0.5 * w @ w) / C
    assert risk >= 1 - mean_value(AP(), groups.queries, scores) - 1e-9


@pytest.mark.parametrize("aggregate", ["sum", "mean"])
@pytest.mark.parametrize("margin", ["hinge", "margin-rescaled", "logistic"])
def test_bound_over_working_sets_of_several_rankings_is_11_by_definition(aggregate, margin):
    """With |B| = 2 and 3 and |C| = 3 and 2: the sum over both, divided by |B|, and by |C| for "mean" only."""
    from scipy.optimize import minimize as scipy_minimize

    rng = np.random.default_rng(4)
    loss = WorkingSetBound(AP(), margin=margin, aggregate=aggregate).pair_loss
    found, caps = FoundRankings(2, 2), np.array([1.5, 0.7])
    rights, wrongs = rng.normal(size=(2, 3, 2, 2))
    losses = rng.random((3, 2))
    rights[2, 0], wrongs[2, 1] = rights[0, 0], wrongs[0, 1]
    for right, wrong, delta in zip(rights, wrongs, losses, strict=True):
        found.add(right, wrong, delta, np.ones(2, bool))
    assert (found.perfect.counts.tolist(), found.imperfect.counts.tolist()) == ([2, 3], [3, 2])

    def eleven(w):
        total = 0.5 * w @ w
        for query, (cap, perfect, imperfect) in enumerate(zip(caps, (2, 3), (3, 2), strict=True)):
            added = 0.0
            for right in rights[:perfect, query]:
                for wrong, delta in zip(wrongs[:imperfect, query], losses[:imperfect, query], strict=True):
                    x = (right - wrong) @ w
                    added += {
                        "hinge": delta * max(0.0, 1.0 - x),
                        "margin-rescaled": max(0.0, delta - x),
                        "logistic": delta * np.log2(1.0 + np.exp(-x)),
                    }[margin]
            divisor = perfect * (imperfect if aggregate == "mean" else 1)
            total += cap * added / divisor
        return total

    w, value, dual = minimise(loss, found, caps, np.zeros(2), 1e-8)
    assert value == pytest.approx(eleven(w), rel=1e-9)
    assert dual - 1e-9 <= value <= dual * (1 + 1e-6) + 1e-9
    exact = scipy_minimize(eleven, w, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13})
    assert value == pytest.approx(exact.fun, rel=1e-6)


def test_the_literal_mode_is_worse_and_has_many_perfect_rankings():
    groups = collection(n_queries=12, n_docs=15, noise=1.5)
    paper = {"aggregate": "sum", "feature_map": "pairs", "averaged": False, "keep": "last"}
    literal = PermuRank("nDCG", C=12.0, rounds=12, select_by="AP", **paper).fit(groups)
    default = PermuRank("nDCG", C=12.0, rounds=12, select_by="AP").fit(groups)
    assert literal.history_[-1]["perfect"] > 5
    assert default.history_[-1]["perfect"] == 1
    assert literal.score(groups) < default.score(groups)


def test_the_round_is_best_on_training_queries_unless_asked_otherwise():
    groups, validation = collection(n_queries=8, noise=2.0), collection(n_queries=6, seed=1, noise=2.0)
    fitted = PermuRank("nDCG", rounds=12, select_by="AP").fit(groups, eval_set=validation)
    assert fitted.score(groups) == max(row["monitor"] for row in fitted.history_)
    other = PermuRank("nDCG", rounds=12, select_by="AP", best_on="validation")
    other.fit(groups, eval_set=validation)
    assert other.score(validation) == max(row["monitor"] for row in other.history_)
    assert other.score(validation) >= fitted.score(validation)
    with pytest.raises(ValueError, match="best_on must be 'training' or 'validation', not 'test'"):
        PermuRank(best_on="test").fit(groups)
