"""Buffoni, Calauzènes, Gallinari, Usunier, ICML 2011, statement by statement.

The oracles here know nothing of the library: measures are computed on strict rankings from their
definitions, losses by double loops. Errata: Theorem 3's differences are printed as sums over the two labels
(+1/24, −1/12), their expectations are half of that; Eqs. (12) and (13) have the sign the other way round.
"""

import dataclasses
import itertools
import math
from typing import ClassVar

import numpy as np
import pytest
from scipy.optimize import minimize

from directrank.data import ObservedRankings, PreferenceGraph
from directrank.data.grouping import group_rows
from directrank.diagnostics.consistency import check
from directrank.estimators import ConsistentRank
from directrank.measures import AP, DCG, ERR, NDCG, NERR, WPD, ZeroOne
from directrank.measures.positions import positions_of
from directrank.surrogates import LinearLoss, OrderPreserving, Pairwise, gain_difference
from directrank.surrogates.margins import Huber, SquaredHinge


def huber(t, h=0.5):
    if t > 1 + h:
        return 0.0
    return (1 + h - t) ** 2 / (4 * h) if abs(1 - t) <= h else 1 - t


def equation_6(s, a, phi):
    return sum(a[i] * phi(s[i] - s[j]) for i in range(len(s)) for j in range(len(s)) if i != j)


def queries_of(*outcomes):
    lengths = [len(y) for y in outcomes]
    return group_rows(np.concatenate(outcomes).astype(float), np.repeat(np.arange(len(outcomes)), lengths))[0]


def in_rows(queries, values):
    """Bring values of documents back to the order in which relevance was given."""
    out = np.empty(len(values))
    out[queries.row] = values
    return out


def supervision(measure, y):
    queries = queries_of(y)
    return in_rows(queries, measure.supervision(queries))


def value_of(surrogate, y, s):
    queries = queries_of(y)
    return surrogate.on(queries, np.ones(1)).value_and_gradient(np.asarray(s, float)[queries.row])[0]


# Measures of a strict ranking, an order of documents from the first.


def dcg(y, ranking, k=None):
    return math.fsum((2.0 ** y[i] - 1) / math.log2(2 + p) for p, i in enumerate(ranking[:k]))


def ndcg(y, ranking, k=None):
    ideal = dcg(y, sorted(range(len(y)), key=lambda i: -y[i]), k)
    return dcg(y, ranking, k) / ideal if ideal else 0.0


def err(y, ranking, largest):
    total, looking = 0.0, 1.0
    for p, i in enumerate(ranking, start=1):
        stop = (2.0 ** y[i] - 1) / 2.0**largest
        total += looking * stop / p
        looking *= 1 - stop
    return total


def average_precision(y, ranking):
    hits = [p for p, i in enumerate(ranking, start=1) if y[i] >= 1]
    return math.fsum((n + 1) / p for n, p in enumerate(hits)) / len(hits)


def disagreement(a, ranking):
    """Eq. (12), its sign put right: a[i][j], the weight of preferring i to j, is paid if j stands first."""
    place = np.argsort(ranking)
    n = len(ranking)
    return sum(a[i][j] for i in range(n) for j in range(n) if place[i] > place[j])


def expected(value, distribution, ranking):
    return math.fsum(p * value(y, ranking) for p, y in distribution)


def best(value, distribution, n):
    return max(expected(value, distribution, r) for r in itertools.permutations(range(n)))


def by_score(scores):
    return tuple(np.argsort(-np.asarray(scores), kind="stable").tolist())


def random_distribution(rng, n, grades=4, outcomes=3):
    while True:
        labels = [tuple(rng.integers(0, grades, n).tolist()) for _ in range(outcomes)]
        if all(max(y) > min(y) for y in labels):
            return list(zip(rng.dirichlet(np.ones(outcomes)).tolist(), labels, strict=True))


@pytest.mark.statement("Buffoni, Theorem 1")
class TestTheorem1:
    """Eq. (6) is order-preserving if φ is convex, φ(t) < φ(−t), φ'(0) < 0 and φ'(t₀) = 0 for some t₀ > 0."""

    @pytest.mark.parametrize(
        ("margin", "flat"),
        [(Huber(0.5), 1.5), (Huber(0.1), 1.1), (Huber(0.01), 1.01), (SquaredHinge(), 1.0)],
    )
    def test_conditions_on_the_margin(self, margin, flat):
        t = np.linspace(0.001, 3, 2000)
        assert (margin.value(t) < margin.value(-t)).all()
        assert margin.slope(np.array(0.0)) < 0
        assert margin.slope(np.array(flat)) == 0
        both = np.linspace(-3, 3, 4001)
        assert (np.diff(margin.slope(both)) >= 0).all()  # convex
        assert (np.diff(margin.value(both)) <= 0).all()  # non-increasing
        np.testing.assert_allclose(
            np.gradient(margin.value(both), both)[1:-1], margin.slope(both)[1:-1], atol=0.1
        )

    def test_a_margin_that_is_flat_nowhere_is_refused(self):
        with pytest.raises(ValueError, match="Theorem 1"):
            OrderPreserving(DCG(), margin="logistic")

    @pytest.mark.parametrize("margin", ["huber", "squared_hinge"])
    def test_the_loss_is_equation_6(self, margin):
        phi = huber if margin == "huber" else lambda t: max(0.0, 1 - t) ** 2
        rng = np.random.default_rng(0)
        for _ in range(20):
            y, s = rng.integers(0, 4, 6), rng.normal(size=6)
            y[0] = 1
            surrogate = OrderPreserving(DCG(), margin=margin)
            assert value_of(surrogate, y, s) == pytest.approx(equation_6(s, 2.0**y - 1, phi), rel=1e-13)
            scaled = OrderPreserving(DCG(), margin=margin, normalise=True)
            assert value_of(scaled, y, s) == pytest.approx(equation_6(s, 2.0**y - 1, phi) / 30, rel=1e-13)

    @pytest.mark.parametrize("margin", ["huber", "squared_hinge"])
    @pytest.mark.share(2)
    def test_minimisers_order_expected_weights(self, margin):
        """Definition 3, point 2, on 200 distributions of 3 to 5 documents."""
        rng = np.random.default_rng(1)
        for _ in range(200):
            n = int(rng.integers(3, 6))
            distribution = random_distribution(rng, n)
            weights = sum(p * (2.0 ** np.array(y) - 1) for p, y in distribution)
            verdict = check(OrderPreserving(DCG(), margin=margin), DCG(), distribution)
            for i, j in itertools.permutations(range(n), 2):
                if weights[i] > weights[j] + 1e-9:
                    assert verdict.scores[i] > verdict.scores[j]
            np.testing.assert_allclose(verdict.supervision, weights, rtol=1e-12)
            assert verdict.regret <= 1e-9

    def test_the_minimiser_is_found(self):
        """By another optimiser, on the loss as defined; the last document may lie anywhere far below."""
        a = np.array([3.0, 0.8, 0.0])
        found = minimize(lambda s: equation_6(s, a, huber), np.zeros(3), method="Nelder-Mead", options={
            "xatol": 1e-9, "fatol": 1e-13, "maxiter": 5000, "maxfev": 9000})  # fmt: skip
        by_us = check(OrderPreserving(DCG()), DCG(), [(0.2, (4, 0, 0)), (0.8, (0, 1, 0))]).scores
        assert equation_6(by_us, a, huber) == pytest.approx(found.fun, abs=1e-9)
        assert by_us[0] - by_us[1] == pytest.approx(found.x[0] - found.x[1], abs=1e-5)
        np.testing.assert_allclose(by_us, (1.322, 0.089, -1.411), atol=4e-3)


class TestTheorem2:
    """Standardised supervision makes an order-preserving loss consistent with the measure."""

    @pytest.mark.statement("Buffoni, Theorem 2")
    @pytest.mark.statement("Buffoni, r of DCG@K")
    @pytest.mark.statement("Buffoni, r of NDCG@K")
    @pytest.mark.parametrize(
        ("measure", "value"),
        [
            (DCG(), dcg),
            (DCG(2), lambda y, r: dcg(y, r, 2)),
            (NDCG(), ndcg),
            (NDCG(2), lambda y, r: ndcg(y, r, 2)),
        ],
    )
    @pytest.mark.share(2)
    def test_gains(self, measure, value):
        """Section 5.1: E[r(Y)] ranks best, by enumeration; so does the minimiser of Ψ(s, y) = Φ(s, r(y))."""
        rng = np.random.default_rng(2)
        for _ in range(60):
            n = int(rng.integers(3, 6))
            distribution = random_distribution(rng, n)
            r = sum(p * supervision(measure, y) for p, y in distribution)
            assert expected(value, distribution, by_score(r)) >= best(value, distribution, n) - 1e-12
            verdict = check(OrderPreserving(measure), measure, distribution)
            assert verdict.best_value == pytest.approx(best(value, distribution, n), abs=1e-12)
            assert verdict.consistent

    @pytest.mark.statement("Buffoni, Theorem 2, converse")
    @pytest.mark.parametrize(
        ("form", "measure", "value"),
        [
            (DCG(), DCG(), dcg),
            (NDCG(), NDCG(2), None),
            (DCG(gain="linear"), DCG(), dcg),
            (DCG(), NDCG(), ndcg),
            (NDCG(), DCG(), dcg),
            (DCG(), AP(), average_precision),
            (DCG(), ERR(max_grade=3), lambda y, r: err(y, r, 3)),
        ],
        ids=lambda value: getattr(value, "__name__", str(value)),
    )
    @pytest.mark.share(3)
    def test_converse(self, form, measure, value):
        """If the loss with r(y) is consistent, r is a standardisation function.

        On each distribution the minimiser ranks best only where E[r(Y)] does; so a form that ranks worse
        somewhere is found out there, and one that the minimiser never refutes is never wrong.
        """
        value = value or (lambda y, r: ndcg(y, r, 2))
        right = (form, measure) in ((DCG(), DCG()), (NDCG(), NDCG(2)))
        form, form_name = (NDCG(2), "nDCG@2") if measure == NDCG(2) else (form, form.name)
        rng, refuted = np.random.default_rng(8), 0
        for _ in range(60):
            n = int(rng.integers(3, 5))
            distribution = random_distribution(rng, n)
            r = sum(p * supervision(form, y) for p, y in distribution)
            if np.diff(np.sort(r)).min() < 1e-3:
                continue  # a tie of E[r(Y)] says nothing
            ranks_best = expected(value, distribution, by_score(r)) >= best(value, distribution, n) - 1e-9
            verdict = check(OrderPreserving(form), measure, distribution)
            assert verdict.consistent == ranks_best, form_name
            refuted += not ranks_best
        assert (refuted == 0) == right

    @pytest.mark.statement("Buffoni, r of DCG@K")
    @pytest.mark.statement("Buffoni, r of NDCG@K")
    def test_the_standard_forms_of_gains(self):
        y = (0, 2, 1)
        np.testing.assert_allclose(supervision(DCG(), y), (0, 3, 1))
        np.testing.assert_allclose(supervision(DCG(1), y), (0, 3, 1))
        ideal = 3 + 1 / math.log2(3)
        np.testing.assert_allclose(supervision(NDCG(), y), np.array((0, 3, 1)) / ideal, rtol=1e-15)
        np.testing.assert_allclose(supervision(NDCG(1), y), np.array((0, 3, 1)) / 3, rtol=1e-15)

    @pytest.mark.statement("Buffoni, Theorem 2")
    def test_a_factor_that_depends_on_n_alone_keeps_consistency(self):
        distribution = [(0.45, (1, 0, 0, 0)), (0.55, (0, 1, 1, 0))]
        assert check(OrderPreserving(DCG(), normalise=True), DCG(), distribution).consistent


@pytest.mark.statement("Buffoni, r of WPD")
class TestPairwiseDisagreement:
    """Section 5.3: r_i = nC + Σ_k (a_ik − a_ki); the constant does not matter to the order."""

    def low_noise(self, rng, n):
        """Graphs whose expected differences come from potentials: E[a_ij − a_ji] = u_i − u_j."""
        u = rng.permutation(n) + rng.random(n) * 0.5
        a = np.maximum(u[:, None] - u[None, :], 0)
        noise = rng.random((n, n))
        np.fill_diagonal(noise, 0)
        both = noise + noise.T  # a preference as strong both ways changes no difference
        up = np.triu(rng.random((n, n)), 1)
        return [(0.5, 2 * a + both), (0.25, 2 * up), (0.25, 2 * up.T)]

    def test_the_expected_standard_form_ranks_best(self):
        rng = np.random.default_rng(3)
        for _ in range(60):
            n = int(rng.integers(3, 6))
            distribution = self.low_noise(rng, n)
            r = np.zeros(n)
            for p, a in distribution:
                edges = np.argwhere(a > 0)
                graph = PreferenceGraph(edges[:, 0], edges[:, 1], a[a > 0])
                form = graph.standard_form(np.zeros(n, int))
                net = a.sum(axis=1) - a.sum(axis=0)
                np.testing.assert_allclose(form - form.min(), net - net.min(), atol=1e-12)
                assert form.min() == 0
                r += p * form
            least = min(expected(disagreement, distribution, q) for q in itertools.permutations(range(n)))
            assert expected(disagreement, distribution, by_score(r)) <= least + 1e-9

    def test_grades_are_a_graph_of_their_pairs(self):
        y = (1, 0, 3, 1, 0)
        edges = [(i, j) for i in range(5) for j in range(5) if y[i] > y[j]]
        graph = PreferenceGraph(*zip(*edges, strict=True))
        form = graph.standard_form(np.zeros(5, int))
        np.testing.assert_allclose(supervision(WPD(), y) * len(edges), form, rtol=1e-14)

    def test_binary_relevance(self):
        """With two grades the disagreement has a consistent loss without any condition (footnote 3)."""
        rng = np.random.default_rng(4)
        for _ in range(40):
            distribution = random_distribution(rng, 4, grades=2)
            assert check(OrderPreserving(WPD()), WPD(), distribution).consistent


@pytest.mark.statement("Buffoni, r of the 0/1 error")
class TestZeroOne:
    """Section 5.4: r_i = Σ_k [[y(i) ≤ k]] = n + 1 − y(i), for order-preserving spaces of permutations."""

    def test_borda(self):
        positions = np.array([3, 1, 2, 4])
        form = ObservedRankings(positions).standard_form(np.zeros(4, int))
        np.testing.assert_array_equal(form, [sum(y <= k for k in range(1, 5)) for y in positions])
        np.testing.assert_array_equal(supervision(ZeroOne(), 4 - positions), form)

    def test_several_queries_count_their_own_documents(self):
        """r_i = n + 1 − y(i) with n of the document's query, whatever the order of rows."""
        qid = np.array(["b", "a", "c", "a", "c", "c", "c", "a"])
        positions = np.array([1, 3, 2, 1, 4, 1, 3, 2])
        sizes = {"a": 3, "b": 1, "c": 4}
        form = ObservedRankings(positions).standard_form(qid)
        np.testing.assert_array_equal(
            form, [sum(y <= k for k in range(1, sizes[q] + 1)) for y, q in zip(positions, qid, strict=True)]
        )

    def test_plackett_luce(self):
        """Plackett-Luce distributions are order-preserving: the mode is the order of the strengths."""
        rng = np.random.default_rng(5)
        for _ in range(50):
            n = int(rng.integers(3, 6))
            strength = np.exp(rng.normal(size=n))
            form = np.zeros(n)
            for ranking in itertools.permutations(range(n)):
                p, left = 1.0, strength.sum()
                for i in ranking:
                    p *= strength[i] / left
                    left -= strength[i]
                form += p * ObservedRankings(1 + np.argsort(ranking)).standard_form(np.zeros(n, int))
            assert by_score(form) == by_score(strength)

    def test_several_rankings_are_their_mean(self):
        two = ObservedRankings([[1, 2], [2, 3], [3, 1]]).standard_form(np.zeros(3, int))
        np.testing.assert_allclose(two, [(3 + 2) / 2, (2 + 1) / 2, (1 + 3) / 2])


@pytest.mark.statement("Buffoni, Theorem 3")
class TestTheorem3:
    """There is no standardisation function for ERR and for AP."""

    distribution = ((0.5, (1, 1, 0, 0)), (0.5, (0, 0, 1, 1)))
    rankings = ((0, 1, 2, 3), (0, 2, 1, 3))

    def test_err(self):
        """Printed as +1/24, which is the sum over the two labels; the expectation is +1/48."""
        values = [
            expected(lambda y, r: err(y, r, 1), self.distribution, r) for r in ((0, 1, 2, 3), (0, 2, 1, 3))
        ]
        assert values[1] - values[0] == pytest.approx(1 / 48, abs=1e-15)
        by_library = [
            expected(lambda y, r: self.library(ERR(max_grade=1), y, r), self.distribution, r)
            for r in self.rankings
        ]
        np.testing.assert_allclose(by_library, values, atol=1e-15)

    def test_average_precision(self):
        """Printed as −1/12, which is the sum over the two labels; the expectation is −1/24."""
        values = [expected(average_precision, self.distribution, r) for r in self.rankings]
        assert values[1] - values[0] == pytest.approx(-1 / 24, abs=1e-15)
        assert values[0] == pytest.approx(17 / 24, abs=1e-15)
        by_library = [
            expected(lambda y, r: self.library(AP(), y, r), self.distribution, r) for r in self.rankings
        ]
        np.testing.assert_allclose(by_library, values, atol=1e-15)

    def library(self, measure, y, ranking):
        queries = queries_of(y)
        scores = -np.argsort(ranking).astype(float)
        return measure.query_values(queries, positions_of(queries, scores[queries.row]))[0]

    @pytest.mark.parametrize("measure", [AP(), AP(10), ERR(max_grade=4), NERR(max_grade=4)])
    def test_refused_by_name(self, measure):
        with pytest.raises(TypeError, match=r"Theorem 3") as refusal:
            OrderPreserving(measure)
        assert measure.name in str(refusal.value)


@pytest.mark.statement("Buffoni, Lemma 4")
class TestLemma4:
    """What every standardisation function has in common on binary relevance; here those that we offer."""

    def forms(self):
        return (DCG(), DCG(2), WPD())

    def test_points_1_and_2(self):
        for measure in self.forms():
            for y in itertools.product((0, 1), repeat=4):
                r = supervision(measure, y)
                for i, j in itertools.permutations(range(4), 2):
                    assert (r[i] > r[j]) if y[i] > y[j] else True
                    assert (r[i] == pytest.approx(r[j], abs=1e-15)) if y[i] == y[j] else True

    def test_point_3(self):
        for measure in (*self.forms(), NDCG()):
            for y, other in itertools.product(itertools.product((0, 1), repeat=4), repeat=2):
                if sum(y) != sum(other):
                    continue
                r = supervision(measure, y) + supervision(measure, other)
                for i, j in itertools.combinations(range(4), 2):
                    if y[i] + other[i] == y[j] + other[j]:
                        assert r[i] == pytest.approx(r[j], abs=1e-14)


class TestPreorder:
    """Eq. (5) and its weighted forms, Eq. (14), are not order-preserving: distributions where each fails."""

    weightings: ClassVar = {
        "plain": ({}, lambda a, b, n: 1.0),
        "norm": ({"normalise": True}, lambda a, b, n: 1 / n),
        "norm-dcg": ({"normalise": True, "weight": gain_difference}, lambda a, b, n: (2.0**a - 2.0**b) / n),
    }

    graded = ((0.2, (4, 0, 0)), (0.8, (0, 1, 0)))
    binary = ((0.30, (1, 1, 0, 0, 1)), (0.29, (1, 0, 1, 1, 0)), (0.41, (0, 0, 0, 0, 1)))
    unequal = ((0.45, (1, 0, 0, 0)), (0.55, (0, 1, 1, 0)))
    mixed = ((0.43, (0, 1, 3)), (0.57, (3, 3, 2)))

    @pytest.mark.parametrize(
        ("weighting", "distribution", "scores", "value", "best_value"),
        [
            ("plain", graded, (0.017, 1.267, -1.486), 2.693, 3.505),
            ("norm", graded, (0.085, 1.335, -1.420), 2.693, 3.505),
            ("plain", binary, (0.854, -0.707, -0.446, -0.446, 0.744), 1.4239, 1.4693),
            ("norm", unequal, None, 1.0720, 1.1220),
            ("norm-dcg", unequal, None, 1.0720, 1.1220),
            ("norm-dcg", mixed, (-0.076, 0.471, -0.395), 9.297, 9.504),
        ],
    )
    def test_fails(self, weighting, distribution, scores, value, best_value):
        verdict = check(Pairwise(**self.weightings[weighting][0]), DCG(), distribution)
        assert not verdict.consistent
        assert verdict.value == pytest.approx(value, abs=6e-4)
        assert verdict.best_value == pytest.approx(best_value, abs=6e-4)
        assert verdict.best_value == pytest.approx(
            best(dcg, distribution, len(distribution[0][1])), abs=1e-12
        )
        assert verdict.regret == pytest.approx(verdict.best_value - verdict.value)
        if scores is not None:
            np.testing.assert_allclose(verdict.scores, np.array(scores) - np.mean(scores), atol=2e-3)

    @pytest.mark.parametrize("distribution", [graded, binary, unequal, mixed])
    def test_the_consistent_loss_does_not(self, distribution):
        verdict = check(OrderPreserving(DCG()), DCG(), distribution)
        assert verdict.consistent
        assert verdict.best_ranking == by_score(verdict.supervision) or verdict.regret <= 1e-12


@pytest.mark.statement("Buffoni, r of WPD")
class TestLinearLoss:
    """Section 5.3, Duchi et al. 2010, Theorem 13: consistent with WPD under low noise only."""

    def library(self, distribution, n):
        """The minimiser of the expected loss of the library over a distribution of graphs, and the loss."""
        forms = []
        for _, a in distribution:
            edges = np.argwhere(a > 0)
            graph = PreferenceGraph(edges[:, 0], edges[:, 1], a[a > 0])
            forms.append(graph.standard_form(np.zeros(n, int)))
        queries = group_rows(np.concatenate(forms), np.repeat(np.arange(len(forms)), n))[0]
        queries = dataclasses.replace(queries, standardised=True)
        weights = np.array([p for p, _ in distribution])
        oracles = LinearLoss(WPD()).on(queries, weights)

        def loss(s):
            value, gradient = oracles.value_and_gradient(s[queries.row % n])
            return value, np.bincount(queries.row % n, gradient, n)

        return minimize(loss, np.zeros(n), jac=True, options={"gtol": 1e-10}).x, loss

    def best(self, distribution, n):
        return min(expected(disagreement, distribution, q) for q in itertools.permutations(range(n)))

    def test_it_is_the_linear_loss_with_a_penalty(self):
        rng = np.random.default_rng(6)
        for _ in range(20):
            n = int(rng.integers(2, 6))
            a = np.triu(rng.random((n, n)), 1)
            s, t = rng.normal(size=(2, n))
            _, loss = self.library([(1.0, a)], n)
            literal = [
                2 * sum(a[i, k] * (x[k] - x[i]) for i in range(n) for k in range(n)) + x @ x for x in (s, t)
            ]
            assert loss(s)[0] - loss(t)[0] == pytest.approx(literal[0] - literal[1], abs=1e-10)

    def test_its_minimiser_ranks_best_under_low_noise(self):
        rng = np.random.default_rng(7)
        for _ in range(40):
            n = int(rng.integers(3, 6))
            distribution = TestPairwiseDisagreement().low_noise(rng, n)
            s, _ = self.library(distribution, n)
            assert expected(disagreement, distribution, by_score(s)) <= self.best(distribution, n) + 1e-9

    def test_its_minimiser_need_not_rank_best_under_noise(self):
        """Document 0 is preferred to 1 a little, 1 to 2 a little more, and 2 loses most: wins mislead."""
        edges = {(0, 1): 1.0, (1, 2): 10.0, (2, 3): 1.0, (1, 3): 10.0}
        a = np.zeros((4, 4))
        for (i, k), weight in edges.items():
            a[i, k] = weight
        s, _ = self.library([(1.0, a)], 4)
        assert by_score(s)[0] == 1
        assert expected(disagreement, [(1.0, a)], by_score(s)) > self.best([(1.0, a)], 4) + 0.5

    def test_grades_of_two_need_no_condition(self):
        rng = np.random.default_rng(8)
        for _ in range(20):
            assert check(LinearLoss(WPD()), WPD(), random_distribution(rng, 4, grades=2)).consistent

    def test_the_estimator_takes_a_graph(self):
        graph = PreferenceGraph([0, 1], [1, 2], [1.0, 3.0])
        ranker = ConsistentRank("WPD", loss="linear", penalty=1e-6, scaling="none")
        ranker.fit(np.eye(3), graph, qid=[0, 0, 0])
        s = ranker.predict(np.eye(3))
        np.testing.assert_allclose(s - s.mean(), [1.0, 2.0, -3.0], atol=1e-2)


def test_stochastic_gradients_reach_the_optimum_of_lbfgs_within_a_thousandth():
    """Section 6 trains by stochastic gradients; both minimise one strictly convex objective."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(240, 4))
    y = np.clip(np.round(X @ [1.0, 0.5, -0.5, 0.0] + 0.7 * rng.normal(size=240)), 0, 3)
    data = X, y, np.repeat(np.arange(24), 10)
    found = {
        solver: ConsistentRank(penalty=0.1, solver=solver, scaling="none", tolerance=1e-5).fit(
            *data[:2], qid=data[2]
        )
        for solver in ("lbfgs", "sgd")
    }
    ends = {name: ranker.certificate_["objective"] for name, ranker in found.items()}
    assert ends["lbfgs"] <= ends["sgd"] <= ends["lbfgs"] * (1 + 1e-3)
