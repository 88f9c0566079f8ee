"""J. Xu, T.-Y. Liu, M. Lu, H. Li, W.-Y. Ma, "Directly optimizing evaluation measures", SIGIR 2008.

What the library computes, against enumeration of all rankings of short lists.
"""

import math

import numpy as np
import pytest

import oracles
from directrank.apps.papers import Perceptron
from directrank.data.grouping import group_rows
from directrank.data.groups import QueryGroups
from directrank.diagnostics import audit_scores
from directrank.errors import DataError
from directrank.measures import parse_measure
from directrank.scorers import Linear
from directrank.solvers import BCFW, CuttingPlane, QueryBoosting, WorkingSets
from directrank.solvers.query_boosting import weak_ranker_table
from directrank.surrogates import Objective, TypeTwoBound, WorkingSetBound
from directrank.surrogates.rankings.permutations import ViolatedRankings
from directrank.testing import of_surrogates
from directrank.testing.checks import random_scores, slope, some_queries
from groups import first_group
from rankings import (
    cross_level_map,
    literal_map,
    margins_and_losses,
    permutations,
    queries,
    split,
    type_two_bounds,
    working_set_loss,
)

#: Measures of two classes; the best ranking of some queries has a value below 1 for those in `OUT_OF_REACH`.
STRICT = {
    "AP": oracles.average_precision(),
    "AP@2": oracles.average_precision(2),
    "nDCG": oracles.ndcg(),
    "nDCG@2": oracles.ndcg(2),
    "RR": oracles.reciprocal_rank(),
    "RR@2": oracles.reciprocal_rank(2),
    "P@1": oracles.precision(1),
    "P@2": oracles.precision(2),
    "P@3": oracles.precision(3),
    "WTA": oracles.winner_takes_all(),
    "WPD": oracles.right_pairs,
}
OUT_OF_REACH = ("AP@2", "P@2", "P@3")
#: The rows of an audit, and the bounds of `type_two_bounds` that they compute.
ROWS = {
    "step, Eq. (6)": "(6)",
    "exponential": "exponential",
    "logistic": "logistic",
    "slack-rescaled hinge": "slack-rescaled hinge",
    "margin-rescaled hinge, Eq. (9)": "margin-rescaled hinge (9)",
}


def in_inner_order(y, s):
    """One query of the library, with relevance and scores in its order."""
    inner, order = group_rows(y, np.zeros(len(y)))
    return inner, y[order], s[order]


def descending(count, grades=2, longest=5, seed=0):
    """Random queries in the library's order."""
    for y, s in queries(count, grades, longest, seed):
        yield in_inner_order(y, s)


def pairs_of_the_sorted_ranking(measure, y, s):
    """Losses and margins of all rankings against the one by relevance, the library's π*."""
    perfect = cross_level_map(list(range(len(y))), y) @ s
    return [
        (1.0 - measure(y[ranking]), perfect - cross_level_map(ranking, y) @ s)
        for ranking in permutations(len(y))
    ]


@pytest.mark.statement("Xu, Theorem 1")
@pytest.mark.parametrize("feature_map", ["pairs", "cross"])
def test_theorem_1_the_library_s_F_is_largest_for_the_ranking_by_score(feature_map):
    for inner, y, s in descending(40, grades=3):
        searches = ViolatedRankings(inner, y, np.ones(1, bool), feature_map, None)
        F = {}
        for ranking in permutations(len(y)):
            found = searches.coefficients(np.array(ranking))
            expected = literal_map(ranking) if feature_map == "pairs" else cross_level_map(ranking, y)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
            F[tuple(ranking)] = found @ s
        assert F[tuple(np.argsort(-s, kind="stable").tolist())] == pytest.approx(max(F.values()), abs=1e-12)


@pytest.mark.statement("Xu, Theorem 1")
@pytest.mark.parametrize("feature_map", ["pairs", "cross"])
def test_theorem_1_the_F_that_svm_map_trains_with(feature_map):
    """The direction of its cut is F(π) − F(π*) of a ranking π; far from zero scores, of the one by score.

    There only F counts: margins are larger than any loss.
    """
    wrong = 0
    for inner, y, s in descending(40):
        far = 1e4 * (s + 1e-3 * np.arange(len(s)))  # no ties
        direction = TypeTwoBound(parse_measure("AP"), feature_map=feature_map).on(inner, np.ones(1))
        direction = direction.value_and_gradient(far)[1]
        by_score = np.argsort(-far).tolist()
        perfect = [i for i in by_score if y[i]] + [i for i in by_score if not y[i]]
        F = [literal_map(each) if feature_map == "pairs" else cross_level_map(each, y)
             for each in (perfect, by_score)]  # fmt: skip
        np.testing.assert_allclose(direction, F[1] - F[0], rtol=0, atol=1e-14)
        assert direction @ far >= 0
        wrong += perfect != by_score
    assert wrong > 12


@pytest.mark.share(4)
@pytest.mark.statement("Xu, Eq. (9)")
@pytest.mark.parametrize("name", STRICT)
@pytest.mark.parametrize("feature_map", ["cross", "pairs"])
def test_equation_9_is_the_value_of_the_library_s_hinge(name, feature_map):
    """max over π of 1 − E(π) − [F(π*) − F(π)], π* ordered inside a class as π is; (9) where E(π*) = 1."""
    measure, beyond = parse_measure(name), 0
    for inner, y, s in descending(25, seed=1):
        surrogate = TypeTwoBound(measure, feature_map=feature_map)
        if surrogate.uninformative(inner)[0]:
            continue
        best = max(STRICT[name](y[ranking]) for ranking in permutations(len(y)))
        beyond += best < 1 - 1e-9
        expected = -np.inf
        for ranking in permutations(len(y)):
            perfect = [i for i in ranking if y[i]] + [i for i in ranking if not y[i]]
            F = [
                (literal_map(each) if feature_map == "pairs" else cross_level_map(each, y)) @ s
                for each in (perfect, ranking)
            ]
            expected = max(expected, 1 - STRICT[name](y[ranking]) - (F[0] - F[1]))
        found = surrogate.on(inner, np.ones(1)).value_and_gradient(s)[0]
        assert found == pytest.approx(expected, abs=1e-12)
        if feature_map == "cross" and best > 1 - 1e-9:
            bounds = type_two_bounds(pairs_of_the_sorted_ranking(STRICT[name], y, s))
            assert found == pytest.approx(bounds["margin-rescaled hinge (9)"], abs=1e-12)
    assert (beyond > 0) == (name in OUT_OF_REACH)


@pytest.mark.share(3)
@pytest.mark.statement("Xu, Theorem 2")
@pytest.mark.statement("Xu, type two, exponential")
@pytest.mark.statement("Xu, type two, logistic")
@pytest.mark.statement("Xu, type two, slack-rescaled hinge")
@pytest.mark.statement("Xu, Eq. (9)")
@pytest.mark.parametrize("name", ["AP", "nDCG", "RR", "WTA", "WPD"])
def test_theorem_2_and_the_rows_of_an_audit_are_the_enumerated_bounds(name):
    """Each row is attained by a ranking, the maximum over all is not larger than its value and error."""
    for _, y, s in descending(20, seed=2):
        groups = QueryGroups(np.zeros((len(y), 1)), y, np.zeros(len(y)))
        if parse_measure(name).uninformative(groups.queries)[0]:
            continue
        found = audit_scores(s, groups, name)
        rows = {row.name: row for row in found.rows if row.kind.startswith("type two")}
        bounds = type_two_bounds(pairs_of_the_sorted_ranking(STRICT[name], y, s))
        for row, bound in ROWS.items():
            value, error = rows[row].values[0], rows[row].error[0]
            assert value - 1e-9 <= bounds[bound] <= value + error + 1e-9, row
            assert value >= found.loss[0] - 1e-9, row


@pytest.mark.statement("Xu, Theorem 2")
@pytest.mark.parametrize("name", ["AP", "WPD"])
def test_theorem_2_under_ties_that_rounding_would_break(name):
    """Eq. (6) counts rankings with F(π*) = F(π): any order of tied documents, at any offset."""
    rng = np.random.default_rng(1)
    for number in range(60):
        n = int(rng.integers(4, 7))
        y = np.sort(rng.permutation([1.0, 0.0, *rng.integers(0, 2, n - 2)]))[::-1].copy()
        whole = rng.integers(0, 2, n).astype(float) if number % 3 else np.zeros(n)
        s = 0.1 * whole + 1e3 * rng.normal()
        found = audit_scores(s, QueryGroups(np.zeros((n, 1)), y, np.zeros(n)), name)
        (row,) = (row for row in found.rows if row.name == "step, Eq. (6)")
        worst = max(1 - STRICT[name](y[order]) for order in oracles.tie_orders(whole))
        assert row.values[0] >= worst - 1e-9


@pytest.mark.heavy
@pytest.mark.statement("Xu, Eq. (7)")
@pytest.mark.parametrize(
    "name", first_group(["AP", "nDCG", "nDCG@2", "RR", "P@2", "WPD"], lambda name: name in ("AP", "nDCG@2"))
)
def test_equation_7_the_sum_over_all_rankings(name):
    """The audit enumerates (7) where every list is short; where E(π*) < 1 the distance is added."""
    for _, y, s in descending(25, seed=3, grades=3 if name.startswith("nDCG") else 2):
        groups = QueryGroups(np.zeros((len(y), 1)), y, np.zeros(len(y)))
        if parse_measure(name).uninformative(groups.queries)[0]:
            continue
        found = audit_scores(s, groups, name)
        (row,) = (row for row in found.rows if "Eq. (7)" in row.name)
        best = max(STRICT[name](y[ranking]) for ranking in permutations(len(y)))
        relative = lambda ranked, best=best: STRICT[name](ranked) / best  # noqa: E731
        pairs = margins_and_losses(relative, y, s, lambda ranking, y=y: cross_level_map(ranking, y))
        expected = 1 - best + best * type_two_bounds(pairs)["sum of hinges (7)"]
        assert row.values[0] == pytest.approx(expected, rel=1e-9)
        assert row.is_bound
        assert row.values[0] >= found.loss[0] - 1e-12


def test_the_sum_is_left_out_where_a_list_is_long():
    groups = QueryGroups(np.zeros((11, 1)), [1, 0, 0, 1, *[0, 1] * 3, 0], [0] * 3 + [1] * 8)
    rows = audit_scores(np.arange(11.0), groups, "AP").rows
    assert not [row for row in rows if "Eq. (7)" in row.name]


@pytest.mark.statement("Xu, type one, exponential")
@pytest.mark.statement("Xu, type one, logistic")
def test_section_4_1_the_type_one_rows_of_an_audit():
    """exp(−E) and log2(1 + exp(−E)) of the value of each query; the exponential one is tighter."""
    for _, y, s in descending(30, seed=4):
        found = audit_scores(s, QueryGroups(np.zeros((len(y), 1)), y, np.zeros(len(y))), "AP")
        E = oracles.expected(STRICT["AP"], y, s)
        rows = {row.name: row.values[0] for row in found.rows if row.kind == "type one"}
        assert rows["exponential"] == pytest.approx(math.exp(-E), rel=1e-12)
        assert rows["logistic"] == pytest.approx(math.log2(1 + math.exp(-E)), rel=1e-12)
        assert 1 - E <= rows["exponential"] <= rows["logistic"]


@pytest.mark.statement("Xu, Eq. (11)")
@pytest.mark.parametrize("name", ["nDCG", "AP"])
@pytest.mark.parametrize("feature_map", ["pairs", "cross"])
def test_figure_2_the_rankings_that_permurank_adds(name, feature_map):
    """The perfect ranking of least F and the imperfect one of greatest F, also for perfect scores."""
    for number, (inner, y, s) in enumerate(descending(50, grades=3 if name == "nDCG" else 2, seed=5)):
        s = y + 0.4 * np.arange(len(y))[::-1] ** 0.5 if number % 2 else s
        surrogate = WorkingSetBound(parse_measure(name), feature_map=feature_map)
        if surrogate.uninformative(inner)[0]:
            continue
        right, wrong, loss = surrogate.on(inner, np.ones(1)).violated_pairs(s)
        perfect, imperfect = split(STRICT[name], y)
        F = {
            tuple(ranking): (literal_map(ranking) if feature_map == "pairs" else cross_level_map(ranking, y))
            @ s
            for ranking in permutations(len(y))
        }
        greatest = max(F[tuple(ranking)] for ranking, _ in imperfect)
        assert right @ s == pytest.approx(min(F[tuple(ranking)] for ranking in perfect), abs=1e-12)
        assert wrong @ s == pytest.approx(greatest, abs=1e-12)
        losses = [1 - value for ranking, value in imperfect if F[tuple(ranking)] > greatest - 1e-9]
        assert min(abs(loss[0] - each) for each in losses) < 1e-12


class Never:
    """A monitor that prefers no iterate."""

    def __init__(self, groups):
        self.features = groups.features

    def __call__(self, scores):
        return 0.0


def linear_data(n_queries, n_docs, seed):
    rng = np.random.default_rng(seed)
    y = np.array([rng.permutation([1.0, 0.0, *rng.integers(0, 2, n_docs - 2)]) for _ in range(n_queries)])
    X = rng.normal(size=(n_queries * n_docs, 2)).astype(np.float32)
    return QueryGroups(X, y.ravel(), np.repeat(np.arange(n_queries), n_docs))


def solved(solver, surrogate, groups):
    objective = Objective(surrogate, groups.queries, groups.shards)
    return solver.solve(objective, Linear(), groups.features, Never(groups), np.random.default_rng(0))


@pytest.mark.statement("Xu, Eqs. (8) and (9)")
@pytest.mark.parametrize("solver", [CuttingPlane(C=3.0, tolerance=1e-9), BCFW(C=3.0, tolerance=1e-7)])
def test_8_is_what_the_solvers_of_9_minimise(solver):
    """(8) as a quadratic programme over w and ξ, with a constraint for every pair of rankings."""
    from scipy.optimize import minimize

    groups = linear_data(3, 3, seed=3)
    found = solved(solver, TypeTwoBound(parse_measure("AP")), groups)
    m, C, constraints = groups.n_queries, 3.0, []
    for q in range(m):
        rows = slice(3 * q, 3 * q + 3)
        y, X = groups.queries.relevance[rows], groups.features[rows].astype(float)
        perfect, imperfect = split(STRICT["AP"], y)
        for best in perfect:
            for ranking, value in imperfect:
                difference = cross_level_map(best, y) - cross_level_map(ranking, y)
                constraints.append((q, difference @ X, 1 - value))
    eighth = minimize(
        lambda v: 0.5 * v[:2] @ v[:2] + C / m * v[2:].sum(),
        np.ones(2 + m),
        jac=lambda v: np.concatenate((v[:2], np.full(m, C / m))),
        bounds=[(None, None)] * 2 + [(0, None)] * m,
        constraints=[
            {"type": "ineq", "fun": lambda v, q=q, g=g, d=d: g @ v[:2] - d + v[2 + q]}
            for q, g, d in constraints
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert found.certificate["objective"] == pytest.approx(eighth.fun, rel=1e-5)
    # The certificate proves it: the gap to the minimum of the model is within the tolerance, and true.
    assert found.status == "converged"
    assert 0 <= found.certificate["relative_gap"] <= solver.tolerance
    bound = found.certificate["objective"] - found.certificate["duality_gap"]
    assert bound == pytest.approx(eighth.fun, rel=1e-5)
    np.testing.assert_allclose(found.scorer.coefficients, eighth.x[:2], atol=2e-3)


@pytest.mark.statement("Xu, Eq. (11)")
@pytest.mark.parametrize("feature_map", ["pairs", "cross"])
def test_11_and_figure_2_round_by_round(feature_map):
    """PermuRank's sets grow by the arg min and arg max over all rankings; each round minimises (11) on them.

    The first rankings are arbitrary: here those that the library takes at w = 0. Sets have several members,
    so that dividing by |C| as well as by |B|, or taking another ranking, changes the minimum.
    """
    groups, C = linear_data(5, 4, seed=8), 30.0
    surrogate = WorkingSetBound(parse_measure("AP"), feature_map=feature_map)
    m, F = groups.n_queries, {"pairs": lambda r, y: literal_map(r), "cross": cross_level_map}[feature_map]
    data, sets = [], []
    for q in range(m):
        rows = slice(4 * q, 4 * q + 4)
        y, X = groups.queries.relevance[rows], groups.features[rows].astype(float)
        one = surrogate.on(groups.queries.part(q, q + 1), np.ones(1))
        right, wrong, loss = one.violated_pairs(np.zeros(4))
        data.append((y, X, *split(STRICT["AP"], y)))
        sets.append(([right @ X], [(wrong @ X, loss[0])]))
    largest = [0, 0]
    for number in range(1, 6):
        solver = WorkingSets(C=C, rounds=number, averaged=False, keep="last", tolerance=1e-10)
        found = solved(solver, surrogate, groups)
        w = found.scorer.coefficients
        total = 0.5 * w @ w + C / m * sum(equation_11(B, Cs, w) for B, Cs in sets)
        assert found.certificate["bound"] == pytest.approx(total, rel=1e-6)
        for step in np.random.default_rng(number).normal(size=(50, 2)) * 0.05:
            v = w + step
            other = 0.5 * v @ v + C / m * sum(equation_11(B, Cs, v) for B, Cs in sets)
            assert other >= total * (1 - 1e-6)
        if found.status == "converged":
            break
        for (B, Cs), (y, X, perfect, imperfect) in zip(sets, data, strict=True):
            s = X @ w
            least = F(min(perfect, key=lambda r, y=y, s=s: F(r, y) @ s), y) @ X
            most, value = max(imperfect, key=lambda each, y=y, s=s: F(each[0], y) @ s)
            add(B, least, least)
            add(Cs, F(most, y) @ X, (F(most, y) @ X, 1 - value))
        sizes = [max(len(B) for B, _ in sets), max(len(Cs) for _, Cs in sets)]
        largest = [max(pair) for pair in zip(largest, sizes, strict=True)]
    assert largest[1] > 1
    assert (largest[0] > 1) == (feature_map == "pairs")


def equation_11(B, C, w):
    """l(B, C) of one query, from the features of its rankings."""
    return sum(d * max(0.0, 1 - (best - wrong) @ w) for best in B for wrong, d in C) / len(B)


def add(rankings, vector, member):
    """Add a ranking unless one with the same features is there."""
    known = [each[0] if isinstance(each, tuple) else each for each in rankings]
    if not any(np.allclose(vector, each, rtol=0, atol=1e-9) for each in known):
        rankings.append(member)


@pytest.mark.statement("Xu, Eq. (11)")
def test_11_over_the_predicted_ranking_is_a_bound():
    """The row of an audit: (11) with a perfect ranking in B and the imperfect one of largest F in C."""
    for _, y, s in descending(30, seed=7):
        groups = QueryGroups(np.zeros((len(y), 1)), y, np.zeros(len(y)))
        found = audit_scores(s, groups, "AP")
        (row,) = (row for row in found.rows if "predicted ranking alone" in row.name)
        perfect, imperfect = split(STRICT["AP"], y)
        F = lambda ranking, y=y, s=s: cross_level_map(ranking, y) @ s  # noqa: E731
        greatest = max(F(ranking) for ranking, _ in imperfect)
        # Of tied documents the worst order counts.
        value, most = min((value, each) for each, value in imperfect if F(each) > greatest - 1e-9)
        expected = (1 - value) * max(0.0, 1 - (F(perfect[0]) - greatest))
        assert row.values[0] == pytest.approx(expected, abs=1e-12)
        assert row.values[0] >= found.loss[0] - 1e-12
        assert working_set_loss(STRICT["AP"], y, s, perfect[:1], [most]) >= 0


#: φ of section 4.2, and the names of `type_two_bounds`.
FACTORS = {
    "exponential": ("exponential", lambda x: math.exp(-x)),
    "logistic": ("logistic", lambda x: math.log2(1 + math.exp(-x))),
    "hinge": ("slack-rescaled hinge", lambda x: max(1 - x, 0)),
}


@pytest.mark.statement("Xu, type two, exponential")
@pytest.mark.statement("Xu, type two, logistic")
@pytest.mark.statement("Xu, type two, slack-rescaled hinge")
@pytest.mark.parametrize("margin", FACTORS)
@pytest.mark.parametrize("name", ["AP", "RR", "WPD"])
def test_section_4_2_the_bounds_that_train_are_largest_over_all_rankings(margin, name):
    """By a search: the value of a ranking, and no ranking has more beyond the concave hull's error."""
    for inner, y, s in descending(25, seed=6):
        surrogate = TypeTwoBound(parse_measure(name), margin=margin)
        s = 3.0 * s
        pairs = pairs_of_the_sorted_ranking(STRICT[name], y, s)
        highest = type_two_bounds(pairs)[FACTORS[margin][0]]
        found = surrogate.on(inner, np.ones(1)).value_and_gradient(s)[0]
        error = TypeTwoBound(parse_measure(name)).on(inner, np.ones(1)).pair_bounds(s)
        _, lack = error[FACTORS[margin][0]]
        assert highest - lack[0] <= found * (1 + 1e-9) + 1e-9
        assert found <= highest * (1 + 1e-9)
        assert found >= 1 - oracles.expected(STRICT[name], y, s) - 1e-12


@pytest.mark.statement("Xu, Eq. (7)")
@pytest.mark.parametrize("margin", FACTORS)
@pytest.mark.parametrize(("aggregate", "name"), [("sum", "nDCG"), ("sum", "bpref"), ("max", "bpref")])
def test_equation_7_and_the_maximum_by_enumeration_are_training_objectives(margin, aggregate, name):
    """Over all pairs of rankings of short lists; the maximum so for a measure without a search."""
    measure = {"nDCG": STRICT["nDCG"], "bpref": oracles.binary_preference}[name]
    phi = FACTORS[margin][1]
    for inner, y, s in descending(15, grades=3 if name == "nDCG" else 2, longest=4, seed=7):
        surrogate = TypeTwoBound(parse_measure(name), margin=margin, aggregate=aggregate)
        pairs = margins_and_losses(measure, y, s, lambda ranking, y=y: cross_level_map(ranking, y))
        expected = (max if aggregate == "max" else sum)(d * phi(x) for d, x in pairs)
        on_queries = surrogate.on(inner, np.ones(1))
        assert on_queries.value_and_gradient(s)[0] == pytest.approx(expected, rel=1e-12)
        offset, direction = on_queries.most_violated(s)
        assert offset[0] + direction @ s == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["AP", "RR"])
@pytest.mark.parametrize("margin", FACTORS)
def test_section_4_2_margins_keep_the_promises_of_a_surrogate(name, margin):
    """They are bounds and convex, their gradients support them, and equal differences off the corners."""
    surrogate = TypeTwoBound(parse_measure(name), margin=margin)
    of_surrogates.is_a_bound_if_it_says_so(surrogate)
    of_surrogates.is_convex_if_it_says_so(surrogate)
    of_surrogates.gradient_supports_what_is_convex(surrogate)
    of_surrogates.float32_is_near_float64(surrogate)
    queries, scores = some_queries(0, sizes=(5, 8, 3)), random_scores(some_queries(0, sizes=(5, 8, 3)), 50)
    oracles = surrogate.on(queries, np.array([0.2, 0.5, 0.3]))
    differences = slope(lambda s: oracles.value_and_gradient(s)[0], scores, step=1e-6)
    np.testing.assert_allclose(oracles.value_and_gradient(scores)[1], differences, rtol=0, atol=1e-7)


def test_enumeration_is_refused_beyond_six_documents_by_name():
    groups = QueryGroups(np.zeros((7, 1)), [1, 0, 0, 1, 0, 0, 1], ["long"] * 7)
    for measure, options in (("AP", {"aggregate": "sum"}), ("ERR(max=1)", {})):
        surrogate = TypeTwoBound(parse_measure(measure), margin="hinge", **options)
        with pytest.raises(DataError, match=r"query long has 7 documents: .* at most 6; use PermuRank"):
            Objective(surrogate, groups.queries, groups.shards)


@pytest.mark.statement("Xu, Eq. (7)")
@pytest.mark.parametrize("solver", [CuttingPlane(C=2.0, tolerance=1e-5), BCFW(C=2.0, tolerance=1e-5)])
def test_equation_7_is_what_the_solvers_minimise(solver):
    from scipy.optimize import minimize

    groups = linear_data(3, 4, seed=5)
    surrogate = TypeTwoBound(parse_measure("AP"), margin="exponential", aggregate="sum")
    found = solved(solver, surrogate, groups)

    def objective(w):
        total = 0.5 * w @ w
        for q in range(3):
            rows = slice(4 * q, 4 * q + 4)
            y, X = groups.queries.relevance[rows], groups.features[rows].astype(float)
            pairs = margins_and_losses(
                STRICT["AP"], y, X @ w, lambda ranking, y=y: cross_level_map(ranking, y)
            )
            total += 2.0 / 3 * sum(d * math.exp(-x) for d, x in pairs)
        return total

    lowest = minimize(objective, np.zeros(2)).fun
    assert found.status == "converged"
    assert found.certificate["objective"] == pytest.approx(lowest, rel=1e-4)


def separable(n_queries, seed):
    """Queries of which (1, 0.5) ranks the relevant documents first, and the least difference it makes."""
    rng, X, y = np.random.default_rng(seed), [], []
    while len(y) < n_queries:
        rows, relevance = rng.normal(size=(5, 2)), np.array([1.0, 1.0, 0.0, 0.0, 0.0])
        s = rows @ [1.0, 0.5]
        rows = rows[np.argsort(-s)]
        if (rows @ [1.0, 0.5])[1] - (rows @ [1.0, 0.5])[2] > 0.3:
            X.append(rows)
            y.append(relevance)
    return QueryGroups(np.concatenate(X), np.concatenate(y), np.repeat(np.arange(n_queries), 5))


@pytest.mark.parametrize("learning_rate", [0.1, 1.0])
def test_section_4_3_the_perceptron_violates_at_most_as_often_as_collins_proves(learning_rate):
    """(R² + 2/η)/γ², by enumeration of Ψ(π*) − Ψ(π); it ends where no ranking beats π* less its loss."""
    groups = separable(12, seed=0)
    found = solved(
        Perceptron(learning_rate=learning_rate, max_passes=500), TypeTwoBound(parse_measure("AP")), groups
    )
    weights, u = found.scorer.coefficients, np.array([1.0, 0.5]) / np.hypot(1.0, 0.5)
    differences, losses = [], []
    for q in range(groups.n_queries):
        y, X = groups.queries.relevance[5 * q : 5 * q + 5], groups.features[5 * q : 5 * q + 5].astype(float)
        for ranking, value in split(STRICT["AP"], y)[1]:
            differences.append((cross_level_map([0, 1, 2, 3, 4], y) - cross_level_map(ranking, y)) @ X)
            losses.append(1 - value)
    differences = np.array(differences)
    gamma, R = (differences @ u).min(), np.linalg.norm(differences, axis=1).max()
    assert found.status == "converged"
    assert found.certificate["violations"] == 0
    assert (differences @ weights >= np.array(losses) - 1e-9).all()
    assert 0 < found.certificate["updates"] <= (R**2 + 2 / learning_rate) / gamma**2
    # Each step adds η (Ψ(π*) − Ψ(π)), which grows u·w by ηγ at least.
    assert found.certificate["updates"] * learning_rate * gamma <= u @ weights + 1e-9


def test_section_4_3_steps_of_the_perceptron_are_those_of_enumeration():
    groups, eta, w = linear_data(6, 4, seed=8), 0.5, np.zeros(2)
    rng, total, averages = np.random.default_rng(0), np.zeros(2), []
    by_features = np.lexsort(groups.features.reshape(6, 4, 2).sum(axis=1, dtype=float).T)
    for _ in range(3):
        for q in by_features[rng.permutation(6)]:
            y, X = (
                groups.queries.relevance[4 * q : 4 * q + 4],
                groups.features[4 * q : 4 * q + 4].astype(float),
            )
            best, step = 0.0, np.zeros(2)
            for ranking in permutations(4):
                perfect = [i for i in ranking if y[i]] + [i for i in ranking if not y[i]]
                difference = (cross_level_map(perfect, y) - cross_level_map(ranking, y)) @ X
                height = 1 - STRICT["AP"](y[ranking]) - difference @ w
                if height > best + 1e-12:
                    best, step = height, difference
            w = w + eta * step if w.any() else w + eta * tied_step(y, X)
            total = total + w
        averages.append(total / (6 * len(averages) + 6))

    class Last(Never):
        """A monitor that prefers the last iterate."""

        def __call__(self, scores):
            self.calls = getattr(self, "calls", 0) + 1
            return float(self.calls)

    objective = Objective(TypeTwoBound(parse_measure("AP")), groups.queries, groups.shards)
    found = Perceptron(learning_rate=eta, max_passes=3).solve(
        objective, Linear(), groups.features, Last(groups), np.random.default_rng(0)
    )
    np.testing.assert_allclose(found.scorer.coefficients, averages[-1], atol=1e-6)


def tied_step(y, X):
    """Where all scores are 0 the worst ranking inverts every pair, and documents of a class are alike."""
    return 2 * (X[y > 0].mean(axis=0) - X[y == 0].mean(axis=0))


@pytest.mark.parametrize("margin", ["exponential", "logistic"])
def test_section_4_3_boosting_lowers_a_type_two_bound_until_no_feature_can(margin):
    groups = linear_data(8, 5, seed=11)
    surrogate = TypeTwoBound(parse_measure("AP"), margin=margin)
    found = solved(QueryBoosting(rounds=60, tolerance=np.inf), surrogate, groups)
    bounds = [row["bound"] for row in found.trace]
    assert found.status == "converged"
    assert (np.diff(bounds) < 0).all()
    assert all(row["bound"] >= 1 - row["train_measure"] for row in found.trace)
    # The first coefficient minimises the bound along its feature.
    first, objective = found.trace[0], Objective(surrogate, groups.queries, groups.shards, normalise=False)
    around = [
        objective.value((first["alpha"] + shift) * groups.features[:, first["feature"]].astype(float))
        for shift in (-0.05, 0.0, 0.05)
    ]
    assert around[1] == min(around)
    assert around[1] == pytest.approx(first["bound"], rel=1e-6)
    # Queries weigh −φ'(x) Δ of their most violated ranking, which for the exponential is the bound itself.
    w = first["alpha"] * groups.features[:, first["feature"]].astype(float)
    weights = objective.query_weights(w)
    if margin == "exponential":
        oracles = [
            surrogate.on(groups.queries.part(q, q + 1), np.ones(1)).value(w[5 * q : 5 * q + 5])
            for q in range(8)
        ]
        np.testing.assert_allclose(weights, np.array(oracles) / 8, rtol=1e-12)
    after = found.trace[1]
    table = weak_ranker_table(objective, groups.features, signed=False)
    assert after["weighted_measure"] == pytest.approx((weights / weights.sum() @ table)[after["feature"]])
