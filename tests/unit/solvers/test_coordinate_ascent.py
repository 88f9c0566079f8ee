"""Coordinate ascent: it finds what it should, whatever the scale of the features, and repeats its bits."""

import numpy as np
import pytest

from directrank import CoordinateAscent, QueryGroups, evaluate, make_ranking
from directrank.contracts import Step
from directrank.measures import AP
from directrank.scorers import Linear
from directrank.solvers import CoordinateAscent as Ascent
from directrank.surrogates import MeasureItself, Objective


@pytest.fixture(scope="module")
def groups():
    return make_ranking(20, 12, 4, random_state=1)


def quick(**options):
    return CoordinateAscent("AP", **{"runs": 2, "cycles": 2, "n_jobs": 1, **options})


def test_it_ranks_better_than_the_best_single_feature(groups):
    found = evaluate(groups, quick().fit(groups).predict(groups), measures="AP")["AP"]
    single = [evaluate(groups, s * groups.X[:, k], measures="AP")["AP"] for k in range(4) for s in (1, -1)]
    assert found > max(single)


def test_the_scale_of_features_does_not_matter(groups):
    """Powers of two change no digit."""
    factors = np.array([2.0**20, 1.0, 2.0**-20, 8.0], np.float32)
    scaled = QueryGroups(groups.X * factors, groups.relevance, groups.qid)
    ours, theirs = quick(scaling="none").fit(groups), quick(scaling="none").fit(scaled)
    np.testing.assert_array_equal(theirs.coef_ * factors, ours.coef_)


def solved(groups, runs, first_run=0, judge=None, **options):
    """The weights of some runs; those of run k depend on the seed and on k alone."""
    objective = Objective(MeasureItself(AP()), groups.queries, groups.shards)

    def monitor(scores):
        return -objective.value(scores) if judge is None else judge(scores)

    monitor.features = groups.features
    seeds = np.random.SeedSequence(0, n_children_spawned=first_run)
    rng = np.random.Generator(np.random.PCG64(seeds))
    solver, scorer = Ascent(cycles=1, runs=runs, **options), quick().components()[2]
    return solver.solve(objective, scorer, groups.features, monitor, rng).scorer.coefficients


def test_weights_below_zero_are_left_out_if_asked(groups):
    turned = QueryGroups(groups.X * np.float32([1, -1, 1, 1]), groups.relevance, groups.qid)
    free, bounded = solved(turned, 2), solved(turned, 2, non_negative=True)
    assert free.min() < 0 <= bounded.min()
    assert bounded.max() > 0


def test_the_result_is_the_mean_of_the_runs(groups):
    alone = [solved(groups, 1, run) for run in range(3)]
    assert len({each.tobytes() for each in alone}) == 3
    np.testing.assert_allclose(solved(groups, 3), np.mean(alone, axis=0), rtol=1e-12)


def test_runs_start_at_the_best_single_feature(groups):
    """A monitor that finds all steps equal keeps the first one: the start."""
    columns = [(sign, k) for k in range(4) for sign in (1.0, -1.0)]
    values = [evaluate(groups, sign * groups.X[:, k], measures="AP")["AP"] for sign, k in columns]
    sign, best = columns[int(np.argmax(values))]
    weights = solved(groups, 2, judge=lambda scores: 0.0)
    assert np.flatnonzero(weights).tolist() == [best]
    assert np.sign(weights[best]) == sign


def test_weights_have_length_one_where_features_have_unit_spread_around_means_of_queries():
    """Around the means 11 and 1 the values 10, 12, −1, 3 lie 1, 1, 2, 2 away: a spread of √(10/4)."""
    groups = QueryGroups(np.array([[10.0], [12.0], [-1.0], [3.0]]), [0, 1, 0, 1], [0, 0, 1, 1])
    assert quick(scaling="none").fit(groups).coef_ == pytest.approx([1.0 / np.sqrt(2.5)])


def test_features_that_are_constant_within_queries_get_no_weight(groups):
    query = np.searchsorted(groups.queries.qid, groups.qid).astype(np.float32)
    wide = QueryGroups(np.column_stack([groups.X, query, np.zeros(len(query))]), groups.relevance, groups.qid)
    assert quick().fit(wide).coef_[4:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("measure", ["nDCG@3", "DCG", "P@5", "RR", "ERR(max=4)@5", "AP(rel=2)@6"])
def test_measures_of_every_kind_rise(groups, measure):
    """The value after training is above that of scores without information."""
    ranker = CoordinateAscent(measure, runs=1, cycles=1, n_jobs=1).fit(groups)
    scores = {"trained": ranker.predict(groups), "tied": np.zeros(groups.n_docs)}
    trained, tied = (each[measure] for each in evaluate(groups, scores, measures=measure).values())
    assert trained > tied


def test_a_run_ends_once_the_last_step_along_each_feature_gained_little(groups, monkeypatch):
    """Of four features, the second gains much in the second cycle; a cycle later nobody has."""
    gains = iter([0.5, 0.4, 0.001, 0.001, 0.0, 0.3, 0.001, 0.004, 0.002, 0.001, 0.5])

    def step(objective, scores, direction, least):
        return Step(0.01, next(gains))

    def monitor(scores):
        return 0.0

    monitor.features = groups.features
    monkeypatch.setattr(Objective, "window_step_along", step)
    solver, scorer = Ascent(runs=1), quick().components()[2]
    objective = Objective(MeasureItself(AP()), groups.queries, groups.shards)
    solution = solver.solve(objective, scorer, groups.features, monitor, np.random.default_rng(0))
    assert next(gains) == 0.5
    assert (solution.status, solution.certificate["last_gain"]) == ("converged", 0.004)
    assert [row["cycle"] for row in solution.trace] == [1, 2, 3]


def test_with_fewer_documents_than_features_the_best_single_ones_are_stepped_along():
    """Of four documents, features 1, 3, 4 and 6 rank all, from above or below; the others err."""
    right, wrong, err = [3.0, 2.0, 1.0, 0.0], [0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 0.0, 2.0]
    X = np.array([err, right, err, wrong, right, err, wrong]).T
    groups = QueryGroups(X, [3, 2, 1, 0], [0, 0, 0, 0])
    objective = Objective(MeasureItself(AP()), groups.queries, groups.shards)
    stepped = set()

    class Watched:
        def __getattr__(self, name):
            return getattr(objective, name)

        def window_step_along(self, scores, direction, least):
            stepped.update(k for k in range(7) if np.corrcoef(X[:, k], direction)[0, 1] > 0.999)
            return objective.window_step_along(scores, direction, least)

    def monitor(scores):
        return -objective.value(scores)

    monitor.features = groups.features
    rng = np.random.default_rng(0)
    Ascent(cycles=1, runs=2).solve(Watched(), quick().components()[2], groups.features, monitor, rng)
    assert stepped == {1, 3, 4, 6}


@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("chosen", [0, 1, 4, 8])
def test_the_monitor_is_shown_the_scores_of_each_step(groups, is_training, chosen):
    """Whatever step it likes best, the result has its scores; no step costs a product with all features."""
    judged, products = [], []

    class Watched(Linear):
        def at(self, parameters):
            return Watched(parameters)

        def scores(self, features):
            products.append(features)
            return super().scores(features)

    def monitor(scores):
        judged.append(scores)
        return float(len(judged) == chosen + 1)

    monitor.features = groups.features if is_training else groups.features[:60] ** 2
    objective = Objective(MeasureItself(AP()), groups.queries, groups.shards)
    solver = Ascent(cycles=3, runs=1)
    solution = solver.solve(objective, Watched(), groups.features, monitor, np.random.default_rng(0)).scorer
    assert len(judged) > 8
    assert len(products) == (2 if is_training else 3), "scores at the start, and the objective at the end"
    np.testing.assert_allclose(solution.scores(monitor.features), judged[chosen], rtol=1e-12, atol=1e-12)


def test_runs_start_at_the_coefficients_of_the_scorer_whatever_their_length():
    """Both features rank perfectly, so that no step gains: the start stays, in units of the features."""
    X = np.array([[0, 0], [1, 2], [3, 3], [0, 1], [2, 2], [5, 4]], np.float32)
    queries = QueryGroups(X, [0, 1, 2, 0, 1, 2], [1, 1, 1, 2, 2, 2])
    objective = Objective(MeasureItself(AP()), queries.queries, queries.shards)

    def monitor(scores):
        return 0.0

    monitor.features, solutions = queries.features, []
    for length in (1.0, 1000.0):
        start = Linear(length * np.array([0.25, 0.75]))
        rng = np.random.default_rng(0)
        solution = Ascent(runs=1).solve(objective, start, queries.features, monitor, rng)
        solutions.append(solution.scorer.coefficients)
    np.testing.assert_allclose(solutions[0] / solutions[0].sum(), [0.25, 0.75], rtol=1e-12)
    np.testing.assert_allclose(*solutions, rtol=1e-12)
