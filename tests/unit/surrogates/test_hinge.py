"""The hinge on pairs as it stands: kernels by definition, solvers against a quadratic programme, IR-SVM."""

import itertools

import numpy as np
import piqp
import pytest

from directrank import QueryGroups, RankSVM
from directrank.data.grouping import group_rows
from directrank.errors import UnfitPairError
from directrank.estimators import Ranker
from directrank.measures import NDCG, parse_measure
from directrank.solvers import BCFW, TruncatedNewton
from directrank.surrogates import Objective, OrderPreserving, Pairwise, PairwiseHinge, SwapDrop
from directrank.surrogates.margins import Hinge
from directrank.surrogates.pairs import hinges as pair_sorting
from naive import pairs_naive


def some_queries(seed, sizes=(9, 2, 30, 14), grades=4):
    rng = np.random.default_rng(seed)
    relevance = np.concatenate([np.append(rng.integers(0, grades, n - 2), [0, 2]) for n in sizes])
    return group_rows(relevance.astype(float), np.repeat(np.arange(len(sizes)), sizes))[0]


def collection(seed=0, n_queries=8, n_docs=8, n_features=5, grades=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_docs, n_features))
    y = np.digitize(X @ np.linspace(1, -0.5, n_features) + rng.normal(size=len(X)), [0.4, 1.4][: grades - 1])
    return QueryGroups(X, y, np.repeat(np.arange(n_queries), n_docs))


def pair_differences(groups, weight=lambda a, b: 1.0, per_query=False):
    """Features of the better less those of the worse document of each pair, and what it weighs."""
    q, rows, weights = groups.queries, [], []
    for first, last in itertools.pairwise(q.indptr):
        y = q.relevance[first:last]
        pairs = [(i, j) for i in range(last - first) for j in range(last - first) if y[i] > y[j]]
        for i, j in pairs:
            rows.append(groups.features[first + i].astype(float) - groups.features[first + j])
            weights.append(weight(y[i], y[j]) / (len(pairs) if per_query else 1.0))
    return np.array(rows), np.array(weights)


def optimum(differences, weights, penalty):
    """Least λ/2 |w|² + Σ weight max(0, 1 − margin) / Σ weight, as a quadratic programme of w and slacks."""
    n_pairs, n_features = differences.shape
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-11
    P = np.zeros((n_features + n_pairs,) * 2)
    P[:n_features, :n_features] = penalty * np.eye(n_features)
    cost = np.append(np.zeros(n_features), weights / weights.sum())
    G = -np.hstack((differences, np.eye(n_pairs)))
    low = np.append(np.full(n_features, -np.inf), np.zeros(n_pairs))
    solver.setup(P, cost, G=G, h_u=-np.ones(n_pairs), x_l=low)
    solver.solve()
    return solver.result.x[:n_features], value(differences, weights, penalty, solver.result.x[:n_features])


def value(differences, weights, penalty, w):
    slacks = np.maximum(0, 1 - differences @ w)
    return weights @ slacks / weights.sum() + penalty / 2 * w @ w


class TestOracles:
    def test_by_hand(self):
        queries = group_rows(np.array([2.0, 1, 0]), np.zeros(3, int))[0]
        oracles = PairwiseHinge().on(queries, np.ones(1))
        total, gradient = oracles.value_and_gradient(np.array([1.5, 1.0, 0.25]))
        assert total == 0.5 + 0.25  # margins .5, 1.25 and .75
        assert gradient.tolist() == [-1, 0, 1]

    @pytest.mark.parametrize("by_sorting", [False, True])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_by_definition(self, by_sorting, dtype, monkeypatch):
        monkeypatch.setattr(pair_sorting, "PAIRS_PER_DOCUMENT", 0.0 if by_sorting else 1e18)
        for seed, spread in itertools.product(range(4), (0.2, 2.0, 30.0)):
            queries = some_queries(seed)
            scores = (np.random.default_rng(seed).normal(size=queries.n_docs) * spread).astype(dtype)
            weights = np.array([0.4, 0.1, 0.0, 0.5])
            surrogate = PairwiseHinge(normalise=True, weight=lambda a, b: a - b)
            total, gradient = surrogate.on(queries, weights).value_and_gradient(scores)
            expected, slopes = 0.0, []
            for q, (first, last) in enumerate(itertools.pairwise(queries.indptr)):
                y = queries.relevance[first:last]
                table = np.maximum(y[:, None] - y[None, :], 0) * weights[q] / (y[:, None] > y[None, :]).sum()
                one, slope = pairs_naive(scores[first:last].astype(float), table, Hinge())
                expected, slopes = expected + one, [*slopes, slope]
            rounding = 1e-5 if dtype == np.float32 else 1e-12
            assert total == pytest.approx(expected, rel=rounding)
            np.testing.assert_allclose(gradient, np.concatenate(slopes), atol=rounding)

    def test_the_most_violated_set_of_pairs_by_enumeration(self):
        queries = group_rows(np.array([1.0, 1, 0, 0, 2, 0, 1]), np.array([0, 0, 0, 0, 1, 1, 1]))[0]
        scores = np.random.default_rng(0).normal(size=7)
        losses, direction = PairwiseHinge().on(queries, np.array([0.3, 0.7])).most_violated(scores)
        for q, (first, last) in enumerate(itertools.pairwise(queries.indptr)):
            y, s = queries.relevance[first:last], scores[first:last]
            pairs = [(i, j) for i in range(len(y)) for j in range(len(y)) if y[i] > y[j]]
            sets = itertools.chain.from_iterable(
                itertools.combinations(pairs, k) for k in range(len(pairs) + 1)
            )
            best = max(sum(1 - s[i] + s[j] for i, j in some) for some in sets)
            assert losses[q] + direction[first:last] @ s == pytest.approx(best, rel=1e-12)
            assert losses[q] == pytest.approx(round(losses[q]), abs=1e-12)  # a number of pairs

    def test_it_has_a_corner_and_says_so(self):
        with pytest.raises(TypeError, match="use PairwiseHinge"):
            Pairwise(margin=Hinge())
        with pytest.raises(ValueError, match="hinge margin has a corner"):
            OrderPreserving(NDCG(), margin=Hinge())
        with pytest.raises(UnfitPairError, match="needs HessianVector"):
            Ranker(PairwiseHinge(), TruncatedNewton())


class TestSolving:
    @pytest.mark.parametrize("penalty", [1.0, 0.1, 0.01, 0.001])
    @pytest.mark.parametrize("per_query", [False, True])
    def test_the_optimum_of_the_programme(self, penalty, per_query):
        for seed in range(3):
            groups = collection(seed)
            differences, weights = pair_differences(groups, per_query=per_query)
            w, best = optimum(differences, weights, penalty)
            ranker = RankSVM(margin="hinge", penalty=penalty, normalise=per_query).fit(groups)
            reached = value(differences, weights, penalty, ranker.scorer_.coefficients)
            certificate = ranker.certificate_
            assert ranker.status_ == "converged"
            assert certificate["objective"] == pytest.approx(reached, rel=1e-9)
            assert best - 1e-9 <= reached <= best + certificate["duality_gap"] + 1e-9
            assert certificate["duality_gap"] <= 1e-4 * reached
            # λ-strongly convex: nearness in value is nearness in w.
            assert (
                np.sum((ranker.scorer_.coefficients - w) ** 2)
                <= 2 * certificate["duality_gap"] / penalty + 1e-8
            )

    def test_every_bound_of_the_trace_is_below_the_optimum(self):
        groups = collection(4)
        _, best = optimum(*pair_differences(groups), 0.01)
        ranker = RankSVM(margin="hinge", penalty=0.01).fit(groups)
        assert len(ranker.history_) > 3
        for row in ranker.history_:
            assert row["bound"] <= best + 1e-9 <= row["objective"] + 2e-9

    def test_frank_wolfe_agrees(self):
        groups, penalty = collection(5), 0.05
        differences, weights = pair_differences(groups)
        _, best = optimum(differences, weights, penalty)
        scale = Objective(PairwiseHinge(), groups.queries, groups.shards).scale
        ranker = Ranker(PairwiseHinge(), BCFW(C=scale / penalty, max_passes=2000)).fit(groups)
        reached = value(differences, weights, penalty, ranker.scorer_.coefficients)
        assert ranker.status_ == "converged"
        assert best - 1e-9 <= reached <= best + penalty * ranker.certificate_["duality_gap"] + 1e-9

    def test_many_shards_in_single_precision(self, monkeypatch):
        monkeypatch.setattr("directrank.features.shards.SHARD_BYTES", 2**15)
        groups = collection(6, n_queries=180, n_docs=10, n_features=60)
        assert len(groups.shards) == 13
        ranker = RankSVM(margin="hinge", penalty=0.1, n_jobs=1).fit(groups)
        w = ranker.scorer_.coefficients
        differences, weights = pair_differences(groups)
        assert ranker.certificate_["objective"] == pytest.approx(
            value(differences, weights, 0.1, w), rel=1e-4
        )
        again = RankSVM(margin="hinge", penalty=0.1, n_jobs=3).fit(groups)
        assert again.scorer_.coefficients.tobytes() == w.tobytes()


class TestGradeWeights:
    LISTS = ([2, 1, 1, 0, 0], [1, 0, 0], [2, 2, 0])

    def queries(self):
        relevance = np.concatenate(self.LISTS).astype(float)
        return group_rows(relevance, np.repeat([0, 1, 2], [len(each) for each in self.LISTS]))[0]

    def test_by_hand_for_ndcg_at_1(self):
        """Only the first place matters: the pair must hold it, and loses (g − g') / g."""
        table = SwapDrop(NDCG(1)).estimated(self.queries(), np.ones(3))
        grade = np.array
        assert table(grade([2.0]), grade([1.0])) == pytest.approx((3 - 1) / 3)  # the first query alone has it
        assert table(grade([2.0]), grade([0.0])) == pytest.approx(
            (1 + 1 / 2) / 2
        )  # two queries, two at the top
        assert table(grade([1.0]), grade([0.0])) == pytest.approx((0 + 1) / 2)  # the first has a 2 at the top
        weighted = SwapDrop(NDCG(1)).estimated(self.queries(), np.array([0.0, 1.0, 4.0]))
        assert weighted(grade([2.0]), grade([0.0])) == pytest.approx(1 / 2)
        assert weighted(grade([2.0]), grade([1.0])) == 0.0  # only in a query that weighs nothing

    @pytest.mark.parametrize("name", ["nDCG@1", "AP", "ERR(max=2)", "nDCG", "ZeroOne"])
    def test_by_random_exchanges_as_in_the_paper(self, name):
        """Evaluate a perfect ranking after exchanges of random pairs of each kind."""
        measure, rng = parse_measure(name), np.random.default_rng(0)
        queries = self.queries()
        table = SwapDrop(measure).estimated(queries, np.ones(3))
        for better, worse in ((2.0, 1.0), (2.0, 0.0), (1.0, 0.0)):
            means = []
            for q, grades in enumerate(self.LISTS):
                y = np.array(grades, float)
                one = queries.part(q, q + 1)
                kinds = [np.flatnonzero(y == grade) for grade in (better, worse)]
                if not all(map(len, kinds)):
                    continue
                drops = np.zeros((len(y), len(y)))
                for i, j in itertools.product(*kinds):
                    scores = -np.arange(float(len(y)))
                    scores[i], scores[j] = scores[j], scores[i]
                    drops[i, j] = perfect(measure, one) - at(measure, one, scores)
                means.append(np.mean([drops[*map(rng.choice, kinds)] for _ in range(300)]))
            expected = np.mean(means)
            assert table(np.array([better]), np.array([worse]))[0] == pytest.approx(expected, abs=0.03)

    @pytest.mark.parametrize("margin", ["squared_hinge", "hinge", "huber"])
    def test_a_measure_stands_for_its_weights(self, margin):
        groups = collection(8)
        table = SwapDrop(NDCG(1)).estimated(groups.queries, np.ones(groups.n_queries))
        options = {"margin": margin, "normalise": True, "penalty": 0.05}
        by_name, by_hand = (RankSVM(weight=each, **options).fit(groups) for each in ("nDCG@1", table))
        np.testing.assert_array_equal(by_name.scorer_.coefficients, by_hand.scorer_.coefficients)
        plain = RankSVM(**options).fit(groups)
        assert not np.allclose(by_name.scorer_.coefficients, plain.scorer_.coefficients, rtol=1e-3)

    def test_weights_come_from_all_queries_not_from_a_shard(self):
        groups = collection(9, n_queries=60, n_docs=30, n_features=900)
        one = group_rows(groups.queries.relevance, np.repeat(np.arange(60), 30))[0]
        from directrank.features.shards import make_shards

        scores = np.random.default_rng(0).normal(size=groups.n_docs)
        values = [
            Objective(Pairwise(weight=SwapDrop(NDCG(1))), one, shards, normalise=False).value_and_gradient(
                scores
            )[0]
            for shards in (groups.shards, make_shards(one.indptr, 1))
        ]
        assert values[0] == pytest.approx(values[1], rel=1e-9)


def at(measure, one, scores):
    from directrank.measures.positions import positions_of

    return measure.query_values(one, positions_of(one, scores))[0]


def perfect(measure, one):
    return at(measure, one, -np.arange(float(one.n_docs)))
