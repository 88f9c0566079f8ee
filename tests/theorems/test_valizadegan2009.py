"""Valizadegan, Jin, Zhang, Mao, "Learning to rank by optimizing NDCG measure", NIPS 2009.

F stands for the paper's doubled score after (8), natural logarithms throughout.
"""

import itertools
import math

import numpy as np
import pytest

from directrank.data.groups import QueryGroups
from directrank.errors import DataError
from directrank.estimators import NDCGBoost
from directrank.measures import AP, DCG, NDCG, P
from directrank.surrogates import ExpectedMeasure, Objective

LN2 = math.log(2.0)
SLACK = 1e-12


def cases(count, max_docs=6, max_grade=3, seed=0):
    """Relevance that is not constant, and half scores F(d, q), of one query each."""
    rng = np.random.default_rng(seed)
    while count:
        n = int(rng.integers(2, max_docs + 1))
        relevance = -np.sort(-rng.integers(0, max_grade + 1, n)).astype(float)
        if relevance[0] > relevance[-1]:
            count -= 1
            yield relevance, rng.normal(size=n) * rng.choice([0.1, 1.0, 3.0]), rng


def permutations_of(n):
    """All position vectors: row π holds π(i) of each document i."""
    return np.array(list(itertools.permutations(range(1, n + 1))))


def probabilities(half):
    """Pr(π|F) of (6), in its second form."""
    positions = permutations_of(len(half))
    exponent = (len(half) - 2 * positions + 1) @ half
    unnormalised = np.exp(exponent - exponent.max())
    return positions, unnormalised / unnormalised.sum()


def gain(relevance):
    return 2.0**relevance - 1.0


def ideal(relevance):
    ordered = np.sort(relevance)[::-1]
    return float(gain(ordered) @ (1.0 / np.log(1.0 + np.arange(1, len(ordered) + 1))))


def pairwise(F):
    """1 / (1 + exp(F_i − F_j)) for i ≠ j, and 0 for i = j (E16)."""
    with np.errstate(over="ignore"):
        p = 1.0 / (1.0 + np.exp(F[:, None] - F[None, :]))
    return p - np.diag(np.diag(p))


def theta(F):
    """γ_ij of (14), without its diagonal."""
    with np.errstate(over="ignore"):
        p = 1.0 / (1.0 + np.exp(F[:, None] - F[None, :]))
    gamma = p * (1.0 - p)
    return gamma - np.diag(np.diag(gamma))


def surrogate_m(relevance, F):
    """M̄ of (11) for one query, without the factor 1/Z."""
    return float(gain(relevance) @ pairwise(F).sum(axis=1))


def weights_of(relevance, F):
    """w_i of (16), without the factor 1/Z."""
    g = gain(relevance)
    return ((g[:, None] - g[None, :]) * theta(F)).sum(axis=1)


def gained_and_lost(relevance, F, f):
    """The two sums of (15), without the factor 1/Z."""
    terms = gain(relevance)[:, None] * theta(F)
    return float(terms[f[:, None] > f[None, :]].sum()), float(terms[f[:, None] < f[None, :]].sum())


def objective_on(relevances, measure=None):
    """The library's objective for some queries of one row-block each, equal weights, not rescaled."""
    qid = np.repeat(np.arange(len(relevances)), [len(y) for y in relevances])
    groups = QueryGroups(np.zeros((len(qid), 1)), np.concatenate(relevances), qid)
    surrogate = ExpectedMeasure(measure or NDCG())
    return Objective(surrogate, groups.queries, groups.shards, normalise=False)


#: The library divides by DCG with base 2 and multiplies by the chord of the discount from place 1 to 2.
def library_scale(relevance):
    chord = 1.0 - LN2 / math.log(3.0)
    return chord / (LN2 * ideal(relevance))


@pytest.mark.statement("Valizadegan, Lemma 2")
def test_lemma_2_and_its_other_half():
    """F_i > F_j: Pr(π(i) > π(j)) ≤ 1/(1 + exp(2(F_i − F_j))); the other document gets at least its share.

    So (8) bounds one member of each pair from each side: an approximation, not a bound (E18).
    """
    strict = 0
    for _, half, _ in cases(60):
        positions, pr = probabilities(half)
        behind = np.einsum("p,pij->ij", pr, positions[:, :, None] > positions[:, None, :])
        logistic = 1.0 / (1.0 + np.exp(2.0 * (half[:, None] - half[None, :])))
        better = half[:, None] > half[None, :]
        assert (behind[better] <= logistic[better] + SLACK).all()
        assert (behind[better.T] >= logistic[better.T] - SLACK).all()
        strict += (behind[better] < logistic[better] - 1e-6).any()
    assert strict


@pytest.mark.statement("Valizadegan, Proposition 3")
def test_proposition_3():
    """exp(α(x − y)) ≤ (e^{3α} − 1)/3 · (x − y) + (e^{3α} + e^{−3α} + 1)/3 for x, y in [0, 1]."""
    x, y, a = np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21), np.linspace(0, 2, 21))
    right = (np.exp(3 * a) - 1) / 3 * (x - y) + (np.exp(3 * a) + np.exp(-3 * a) + 1) / 3
    assert (np.exp(a * (x - y)) <= right + SLACK).all()


@pytest.mark.statement("Valizadegan, Theorem 1")
def test_theorem_1_minimises_the_bound():
    """(15) minimises N e^{−α} + D e^{α}; the library's sums are those, and its step is that α."""
    for relevance, F, rng in cases(40, max_docs=8, seed=2):
        f = rng.integers(0, 2, len(F)).astype(float)
        N, D = gained_and_lost(relevance, F, f)
        step = objective_on([relevance]).step_along(F, f)
        scale = library_scale(relevance)
        assert step.gained == pytest.approx(scale * N, abs=1e-12)
        assert step.lost == pytest.approx(scale * D, abs=1e-12)
        if N > 0 and D > 0 and abs(math.log(N / D)) < 6:
            alpha = 0.5 * math.log(N / D)
            assert step.size == pytest.approx(alpha, abs=1e-9)
            grid = alpha + np.linspace(-1, 1, 41)
            assert (N * np.exp(-grid) + D * np.exp(grid) >= 2 * math.sqrt(N * D) - SLACK).all()


@pytest.mark.statement("Valizadegan, Theorem 1")
def test_theorem_1_over_several_queries():
    """The sums of (15) run over queries, each divided by its own Z and by the number of queries."""
    rng = np.random.default_rng(3)
    some = list(cases(5, max_docs=8, seed=4))
    relevances, F = [case[0] for case in some], [case[1] for case in some]
    f = [rng.integers(0, 2, len(each)).astype(float) for each in F]
    sums = np.zeros(2)
    for y, s, d in zip(relevances, F, f, strict=True):
        sums += np.array(gained_and_lost(y, s, d)) * library_scale(y) / len(some)
    step = objective_on(relevances).step_along(np.concatenate(F), np.concatenate(f))
    assert (step.gained, step.lost) == pytest.approx(tuple(sums))
    assert step.size == pytest.approx(0.5 * math.log(sums[0] / sums[1]))


@pytest.mark.statement("Valizadegan, Theorem 2")
def test_theorem_2_with_the_library_s_weights():
    """The same with M̄ and w of the library: a step that w favours lowers M̄."""
    for relevance, F, rng in cases(100, max_docs=8, seed=12):
        f = rng.integers(0, 2, len(F)).astype(float)
        alpha = abs(rng.normal()) * rng.choice([0.01, 0.05, 0.3])
        objective = objective_on([relevance])
        value, gradient = objective.value_and_gradient(F)
        spread = library_scale(relevance) * (gain(relevance) @ theta(F).sum(axis=1))
        slack = (math.exp(3 * alpha) + math.exp(-3 * alpha) - 2) / 3 * spread
        after = objective.value_and_gradient(F + alpha * f)[0]
        assert after <= value + slack - (math.exp(3 * alpha) - 1) / 3 * float(f @ -gradient) + SLACK


@pytest.mark.statement("Valizadegan, Theorem 2")
def test_document_weights_are_16():
    """(16), and M̄ of (11) beside them; w is minus the derivative of M̄ and sums to 0 in a query."""
    for relevance, F, _ in cases(40, max_docs=9, seed=6):
        value, gradient = objective_on([relevance]).value_and_gradient(F)
        weights = -gradient
        scale = library_scale(relevance)
        assert value == pytest.approx(scale * surrogate_m(relevance, F), rel=1e-10)
        assert weights == pytest.approx(scale * weights_of(relevance, F), abs=1e-11)
        assert weights.sum() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.statement("Valizadegan, Proposition 2")
def test_decrease_is_at_least_the_squared_difference_of_roots():
    """M̄(F + αf) ≤ M̄(F) − (√N − √D)² at the step (15)."""
    for relevance, F, rng in cases(80, max_docs=9, seed=8):
        f = rng.integers(0, 2, len(F)).astype(float)
        objective = objective_on([relevance])
        step = objective.step_along(F, f)
        after = objective.value_and_gradient(F + step.size * f)[0]
        assert after <= objective.value_and_gradient(F)[0] - step.decrease + SLACK
        N, D = step.gained, step.lost
        if N > 0 and D > 0 and abs(math.log(N / D)) < 6:
            assert step.decrease == pytest.approx((math.sqrt(N) - math.sqrt(D)) ** 2, abs=1e-12)


@pytest.mark.statement("Valizadegan, Proposition 2")
def test_monotone_over_a_run_with_its_certificate():
    """Every round of a fit lowers M̄ by at least what its certificate promised."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(300, 5))
    y = np.clip(np.round(X @ [1.0, -0.5, 0.3, 0.0, 0.0] + rng.normal(size=300)), 0, 2)
    for options in ({}, {"criterion": "eta"}, {"shrinkage": 0.3}, {"search": "histogram"}):
        ranker = NDCGBoost(rounds=30, **options).fit(X, y, qid=np.repeat(np.arange(15), 20))
        values = [1.0] + [row["objective"] for row in ranker.history_]
        assert len(values) == 31
        for before, row in itertools.pairwise([{"objective": 1.0}, *ranker.history_]):
            assert row["objective"] <= before["objective"] - row["promised"] + 1e-9
            assert row["promised"] > 0


def test_constant_queries_would_shrink_the_step_and_are_left_out():
    """A query of one grade adds equal amounts to N and D; its nDCG cannot change, so it does not train."""
    relevance, F = np.array([2.0, 1.0, 0.0, 0.0]), np.array([0.1, 0.0, 0.3, -0.2])
    f, flat = np.array([1.0, 0.0, 1.0, 0.0]), np.ones(4)
    N, D = gained_and_lost(relevance, F, f)
    also = gained_and_lost(flat, F, f)
    assert also[0] == pytest.approx(also[1])
    assert also[0] > 0
    assert abs(math.log((N + also[0]) / (D + also[1]))) < abs(math.log(N / D))
    alone = objective_on([relevance]).step_along(F, f)
    both = objective_on([relevance, flat]).step_along(np.tile(F, 2), np.tile(f, 2))
    assert both.size == pytest.approx(alone.size)


def test_degenerate_steps_are_finite():
    """D = 0 would give an infinite α: it is smoothed and capped. N = D = 0 gives none."""
    relevance = np.array([1.0, 0.0])
    objective = objective_on([relevance])
    step = objective.step_along(np.zeros(2), np.array([1.0, 0.0]))
    assert step.lost == 0
    assert step.size == pytest.approx(0.5 * math.log((1.0 + 0.5) / 0.5))  # eps is (N + D) / n with n = 2
    assert step.decrease > 0
    assert objective.step_along(np.zeros(2), np.ones(2)).size == 0.0


def discount_of(p, kind, k):
    value = 1.0 / math.log2(1.0 + p) if kind == "log2" else (1.0 if p <= 2 else 1.0 / math.log2(p))
    return value if k is None or p <= k else 0.0


@pytest.mark.share(4)
@pytest.mark.statement("Valizadegan, Lemma 1")
@pytest.mark.statement("Valizadegan, Proposition 1")
@pytest.mark.parametrize("kind", ["log2", "letor"])
@pytest.mark.parametrize("gain_name", ["exponential", "linear"])
@pytest.mark.parametrize("k", [None, 1, 2, 3, 4])
def test_the_bound_for_other_gains_discounts_and_cutoffs(kind, gain_name, k):
    """Not in the paper: ⟨Σ g D(π)⟩ ≥ Σ g (D(1) − c (⟨π⟩ − 1)) with the steepest chord c from place 1.

    The chords lie under D, which is all that Lemma 1 and Proposition 1 need, whatever the distribution.
    """
    for relevance, half, rng in cases(25, max_docs=5, seed=11):
        n = len(relevance)
        g = gain(relevance) if gain_name == "exponential" else relevance
        D = np.array([discount_of(p, kind, k) for p in range(1, n + 1)])
        chord = max((D[0] - D[p - 1]) / (p - 1) for p in range(2, n + 1))
        positions, pr = probabilities(half)
        for distribution in (pr, rng.dirichlet(np.full(len(pr), 0.3))):
            expected = g @ (distribution @ D[positions - 1])
            assert expected >= g @ (D[0] - chord * (distribution @ positions - 1.0)) - SLACK
        measure = DCG(k, gain=gain_name, discount=kind)
        if chord == 0:  # LETOR's discount is the same at places 1 and 2: such a query cannot teach
            with pytest.raises(DataError, match="nothing to train on"):
                objective_on([relevance], measure)
            continue
        value = objective_on([relevance], measure).value_and_gradient(2.0 * half)[0]
        assert value == pytest.approx(chord * float(g @ pairwise(2.0 * half).sum(axis=1)), abs=1e-10)


def test_other_measures_are_refused_by_name():
    for measure in (AP(), P(5)):
        with pytest.raises(TypeError, match=rf"ExpectedMeasure.*{measure.bare_name}"):
            ExpectedMeasure(measure)
