"""J. Xu, T.-Y. Liu, M. Lu, H. Li, W.-Y. Ma, "Directly optimizing evaluation measures", SIGIR 2008.

Statements of the paper, by enumeration of all permutations: the formulas and the errata, without the library.
``test_xu2008_library.py`` compares the library with the same enumerations.
"""

import itertools
import math

import numpy as np
import pytest

from directrank.surrogates.margins import MARGINS, margin_named
from groups import first_group
from oracles import average_precision, ndcg, precision, reciprocal_rank
from rankings import (
    cross_level_map,
    literal_map,
    margins_and_losses,
    permutations,
    queries,
    random_query,
    split,
    type_two_bounds,
    working_set_loss,
)

MEASURES = {"AP": average_precision(), "nDCG": ndcg(), "RR": reciprocal_rank(), "WTA": precision(1)}


def by_score(s, F):
    """Every permutation that F ranks first, of all."""
    values = [F(ranking) for ranking in permutations(len(s))]
    return [r for r, v in zip(permutations(len(s)), values, strict=True) if v > max(values) - 1e-12]


def descends(s, ranking):
    return all(a >= b - 1e-12 for a, b in itertools.pairwise(s[ranking]))


@pytest.mark.statement("Xu, Theorem 1")
def test_theorem_1_f_and_F_generate_the_same_ranking():
    """Given a fixed parameter vector w, the two ranking models f and F generate the same ranking result."""
    for _, s in queries(60):
        best = by_score(s, lambda ranking, s=s: literal_map(ranking) @ s)
        assert all(descends(s, ranking) for ranking in best)
        assert len(best) == sum(descends(s, ranking) for ranking in permutations(len(s)))


def test_sorting_by_f_maximises_the_cross_level_F():
    for y, s in queries(60, grades=3):
        best = by_score(s, lambda ranking, y=y, s=s: cross_level_map(ranking, y) @ s)
        assert [int(i) for i in np.argsort(-s, kind="stable")] in best


@pytest.mark.share(2)
@pytest.mark.statement("Xu, Theorem 2")
@pytest.mark.statement("Xu, Eq. (7)")
@pytest.mark.parametrize("name", first_group(MEASURES, lambda name: name == "AP"))
@pytest.mark.parametrize("which", ["literal", "cross-level"])
def test_theorem_2_and_every_bound_dominates_the_basic_loss(name, which):
    """The basic loss function in (5) is upper bounded by (6), and by each bound put in its place."""
    measure = MEASURES[name]
    for y, s in queries(40, grades=3 if name == "nDCG" else 2, seed=1):

        def coefficients(ranking, y=y):
            return literal_map(ranking) if which == "literal" else cross_level_map(ranking, y)

        basic = [1 - measure(y[r]) for r in permutations(len(y)) if descends(s, r)]
        pairs = margins_and_losses(measure, y, s, coefficients)
        bounds = type_two_bounds(pairs)
        for which_bound, value in bounds.items():
            assert value >= max(basic) - 1e-12, which_bound
        assert bounds["sum of hinges (7)"] >= bounds["slack-rescaled hinge"] - 1e-12
        for loss in basic:
            assert math.exp(-(1 - loss)) >= loss
            assert math.log2(1 + math.exp(-(1 - loss))) >= loss


@pytest.mark.statement("Xu, type one, logistic")
def test_the_exponential_type_one_bound_is_tighter_than_the_logistic_one():
    """'The exponential loss function is tighter than the logistic loss function since E in [0, +1].'"""
    E = np.linspace(0, 1, 1001)
    exponential, logistic = np.exp(-E), np.log2(1 + np.exp(-E))
    assert (exponential >= 1 - E).all()
    assert (logistic >= exponential - 1e-15).all()
    assert (logistic[1:] > exponential[1:]).all()
    assert exponential[0] == logistic[0] == 1.0


def test_figure_1():
    """E(π*) − E(π) is set to 0.5."""
    c = 0.5
    curves = (
        lambda x: max(c - x, 0),
        lambda x: c * max(1 - x, 0),
        lambda x: c * math.exp(-x),
        lambda x: c * math.log2(1 + math.exp(-x)),
    )
    expected = {
        -1.0: (1.5, 1.0, 1.359, 0.947),
        0.0: (0.5, 0.5, 0.5, 0.5),
        0.5: (0.0, 0.25, 0.303, 0.342),
        1.0: (0.0, 0.0, 0.184, 0.226),
    }
    for x, values in expected.items():
        assert [curve(x) for curve in curves] == pytest.approx(values, abs=5e-4)
    for x in np.linspace(-2, 2, 101):
        assert all(curve(x) >= c * (x <= 0) for curve in curves)
    # 'It is not possible to say which upper bound is the tightest.'
    tightest = {int(np.argmin([curve(x) for curve in curves])) for x in (-1.0, 0.3, 0.9)}
    assert len(tightest) > 1


def test_figure_1_is_what_the_margins_compute():
    for x in np.linspace(-3, 3, 61):
        by_paper = {
            "exponential": math.exp(-x),
            "logistic": math.log2(1 + math.exp(-x)),
            "hinge": max(1 - x, 0),
        }
        for name, value in by_paper.items():
            assert margin_named(name).value(np.array([x]))[0] == pytest.approx(value, rel=1e-12, abs=1e-15)
    assert {each.name for each in MARGINS} >= {"exponential", "logistic", "hinge"}


@pytest.mark.statement("Xu, Eqs. (8) and (9)")
def test_8_and_9_agree_for_lambda_m_over_2C():
    """(8) as a quadratic programme over w and ξ has the minimum of (9)'s sum + λ|w|², times C/m."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(3)
    data = [(y, rng.normal(size=(len(y), 2))) for y, _ in queries(3, longest=3, seed=4)]
    C, m = 2.0, len(data)
    constraints = []  # (query, vector, loss)
    for q, (y, X) in enumerate(data):
        perfect, imperfect = split(MEASURES["AP"], y)
        for best in perfect:
            for ranking, value in imperfect:
                difference = cross_level_map(best, y) - cross_level_map(ranking, y)
                constraints.append((q, difference @ X, 1 - value))

    def ninth(w):
        hinge = np.zeros(m)
        for q, g, d in constraints:
            hinge[q] = max(hinge[q], d - g @ w)
        return hinge.sum() + m / (2 * C) * w @ w

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
    w = eighth.x[:2]
    assert eighth.fun == pytest.approx(C / m * ninth(w), rel=1e-6)
    for _ in range(200):
        assert ninth(w) <= ninth(w + 0.1 * rng.normal(size=2)) + 1e-7


def test_the_gap_between_perfect_and_imperfect_in_eq_2():
    """min F over perfect − max F over imperfect = 2 (gap − W) / (n (n − 1)), for scores that rank perfectly.

    gap is the smallest step between neighbours of different classes, W the dispersion of scores within
    classes: with 'for all π*' in (8) the margin is hardly ever positive.
    """
    rng = np.random.default_rng(5)
    for _ in range(80):
        n = int(rng.integers(3, 6))
        y, _ = random_query(rng, n)
        s = rng.normal(size=n)
        s = np.where(y > 0, np.abs(s), -np.abs(s))
        perfect, imperfect = split(MEASURES["AP"], y)
        least = min(literal_map(r) @ s for r in perfect)
        most = max(literal_map(r) @ s for r, _ in imperfect)
        gap = s[y > 0].min() - s[y == 0].max()
        W = sum(abs(s[a] - s[b]) for a, b in itertools.combinations(range(n), 2) if y[a] == y[b])
        assert least - most == pytest.approx(2 * (gap - W) / (n * (n - 1)), abs=1e-12)
        cross = [cross_level_map(r, y) @ s for r in perfect]
        assert max(cross) - min(cross) < 1e-12
        assert min(cross) > max(cross_level_map(r, y) @ s for r, _ in imperfect)


@pytest.mark.statement("Xu, Eq. (11)")
def test_11_bounds_the_basic_loss_iff_the_predicted_permutation_is_in_C():
    rng = np.random.default_rng(6)
    below, below_mean = 0, 0
    for y, s in queries(120, seed=7):
        measure = MEASURES["AP"]
        perfect, imperfect = split(measure, y)
        predicted = [int(i) for i in np.argsort(-s, kind="stable")]
        basic = 1 - measure(y[predicted])
        if basic < 1e-12:
            continue
        B = [perfect[i] for i in rng.integers(0, len(perfect), 2)]
        others = [imperfect[i][0] for i in rng.integers(0, len(imperfect), 3)]
        assert working_set_loss(measure, y, s, B, [predicted, *others]) >= basic - 1e-12
        mildest = max(imperfect, key=lambda each: each[1])[0]
        below += working_set_loss(measure, y, s, B, [mildest]) < basic - 1e-9
        C = [predicted, mildest, mildest]
        below_mean += working_set_loss(measure, y, s, B, C, divide_by_C=True) < basic - 1e-9
    assert below > 0  # without σ in C it is no bound
    assert below_mean > 0  # nor when it is divided by |C|
