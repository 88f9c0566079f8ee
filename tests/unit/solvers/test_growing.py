"""Trees that are grown here: every split by enumeration, exact sums, LightGBM's first tree, hostile data."""

from itertools import combinations

import numpy as np
import pytest

from directrank import TreeRanker, load, save
from directrank.apps.libraries.models import lightgbm_text
from directrank.data.groups import QueryGroups
from directrank.errors import DataError
from directrank.measures import NDCG
from directrank.scorers import Trees
from directrank.scorers.set_trees import SetTrees
from directrank.solvers import TreeBoosting
from directrank.solvers.trees import columns, growing
from directrank.solvers.trees.binning import binned
from directrank.solvers.trees.derivatives import Derivatives, whole_numbers
from directrank.solvers.trees.growing import HALF, LOWER, packed
from directrank.surrogates import Objective, SwapWeighted


def grown(X, g, h, scorer=None, n_trees=1, **parameters):
    """The first trees for gradients and curvatures, and the scores of training documents."""
    parameters = {"learning_rate": 1.0, "penalty": 0.0, "leaf_share": 0.0, "leaves": 31} | parameters
    X, h = np.ascontiguousarray(X, np.float32), np.asarray(h, np.float64)
    model = TreeBoosting(**parameters).begin(X, h > 0, X, float(h.sum()), 0, scorer or Trees())
    for _ in range(n_trees):
        model.grow(whole_numbers(np.asarray(g, np.float64)[h > 0]), whole_numbers(h[h > 0]))
    scores = np.zeros(len(X))
    model.add_to(scores)
    return model.trees(n_trees), scores[h > 0]


def rows_of_nodes(tree, X):
    """The rows that reach each node, by a walk of one row at a time."""
    rows = [[] for _ in tree.left]
    for i, x in enumerate(tree.with_sets(X) if isinstance(tree, SetTrees) else X):
        node = 0
        while True:
            rows[node].append(i)
            if tree.left[node] < 0:
                break
            value = x[tree.feature[node]]
            left = bool(tree.missing[node] & 1) if np.isnan(value) else value <= tree.threshold[node]
            node = tree.left[node] if left else tree.right[node]
    return [np.array(each, np.int64) for each in rows]


def gain(g, h, left, penalty):
    """How much a split gains, from its definition; nothing without documents on both sides."""
    if not 0 < left.sum() < len(left):
        return 0.0
    parts = (left, ~left, np.ones(len(left), np.bool_))
    a, b, whole = (g[part].sum() ** 2 / (h[part].sum() + penalty) for part in parts)
    return a + b - whole


def sides_by_thresholds(x):
    """All divisions of the values of a feature, missing ones on either side."""
    missing = np.isnan(x)
    for t in np.unique(x[~missing]):
        yield (x <= t) | missing
        yield (x <= t) & ~missing


def sides_by_sets(code):
    values = np.unique(code)
    for size in range(1, len(values)):
        for some in combinations(values, size):
            yield np.isin(code, some)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("penalty", [0.0, 0.002])
def test_every_split_is_the_best_of_all(seed, penalty):
    """60 documents, gaps, zeros, both signs; sums of larger children are differences."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4)).round(1).astype(np.float32)
    X[rng.random(X.shape) < 0.2], X[:, 1][rng.random(60) < 0.6] = np.nan, 0.0
    g, h = rng.normal(size=60), rng.uniform(0.8, 1.3, 60)  # a leaf needs half the mean curvature
    tree, scores = grown(X, g, h, leaves=9, penalty=penalty)
    assert np.count_nonzero(tree.left < 0) == 9
    for node, rows in enumerate(rows_of_nodes(tree, X)):
        assert tree.cover[node] == len(rows)
        if tree.left[node] < 0:
            value = -g[rows].sum() / (h[rows].sum() + penalty * h.sum())
            assert tree.value[node] == pytest.approx(value, abs=1e-7)
            continue
        best = max(
            gain(g[rows], h[rows], left, penalty * h.sum())
            for x in X[rows].T for left in sides_by_thresholds(x)
        )  # fmt: skip
        assert tree.gain[node] == pytest.approx(best, rel=1e-5)
    assert tree.scores(X).tobytes() == scores.tobytes()


def one_hot(code, n):
    return (code[:, None] == np.arange(n)).astype(np.float32)


@pytest.mark.parametrize("seed", range(3))
def test_every_split_on_categories_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    code = np.repeat(np.arange(7), 20)  # as many of each, so that the best set is a run of means
    X = np.hstack((rng.normal(size=(140, 1)), one_hot(code, 7))).astype(np.float32)
    g, h = rng.normal(size=140) + rng.normal(size=7)[code], np.ones(140)
    scorer = SetTrees(source=np.array([1], np.int32), width=np.array([7], np.int32))
    for categories, sides in (("sets", sides_by_sets(code)), ("single", (code == c for c in range(7)))):
        tree, scores = grown(X, g, h, scorer, leaves=2, categories=categories)
        best = max(gain(g, h, left, 0.0) for left in (*sides, *sides_by_thresholds(X[:, 0])))
        assert tree.gain[0] == pytest.approx(best, rel=1e-6)
        assert type(tree) is (SetTrees if categories == "sets" else Trees)
        assert tree.scores(X).tobytes() == scores.tobytes()


@pytest.mark.parametrize("n_categories", [254, 255, 256, 300, 700])
@pytest.mark.parametrize("categories", ["sets", "single"])
def test_any_number_of_categories(n_categories, categories):
    rng = np.random.default_rng(0)
    code = np.append(np.arange(n_categories), rng.integers(n_categories, size=20 * n_categories))
    X = one_hot(code, n_categories)
    effect = rng.normal(size=n_categories)
    scorer = SetTrees(source=np.zeros(1, np.int32), width=np.array([n_categories], np.int32))
    g = -effect[code]
    tree, scores = grown(X, g, np.ones(len(code)), scorer, n_trees=5, categories=categories)
    assert tree.scores(X).tobytes() == scores.tobytes()
    first = effect.argmin() if abs(effect.min()) > effect.max() else effect.argmax()
    alone = grown(X, -10.0 * (code == first), np.ones(len(code)), scorer, leaves=2, categories=categories)[1]
    assert (alone[code == first] > 9.9).all()
    assert abs(alone[code != first]).max() < 0.1


def test_the_order_of_documents_changes_no_bit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 9)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    g, h = rng.standard_cauchy(3000), rng.uniform(0.1, 1.0, 3000)
    order = rng.permutation(3000)
    tree, scores = grown(X, g, h, n_trees=3)
    other, moved = grown(X[order], g[order], h[order], n_trees=3)
    assert all(
        np.array_equal(value, vars(other)[name]) for name, value in vars(tree).items() if name != "slope"
    )
    assert scores[order].tobytes() == moved.tobytes()


def of_lightgbm(X, derivatives, leaf_share):
    """The trees that LightGBM grows, one for each gradient and curvature, with the same limits."""
    lightgbm = pytest.importorskip("lightgbm")
    total = float(derivatives[0][1].sum())
    parameters = {
        "objective": "none", "verbose": -1, "num_threads": 1, "deterministic": True, "force_col_wise": True,
        "learning_rate": 1.0, "num_leaves": 31, "max_bin": 255, "min_data_in_bin": 1, "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": leaf_share * total, "lambda_l2": 0.0, "bin_construct_sample_cnt": len(X),
    }  # fmt: skip
    booster = lightgbm.Booster(parameters, lightgbm.Dataset(X, np.zeros(len(X)), params=parameters))
    for some in derivatives:
        booster.update(fobj=lambda *_, some=some: some)
    return [
        lightgbm_text.read(booster.model_to_string(start_iteration=k, num_iteration=1).encode()).scorer
        for k in range(len(derivatives))
    ]


def on_a_grid(values):
    """Values of at most 20 bits after the largest power of two, whose sums are exact in LightGBM, too."""
    unit = 2.0 ** (np.ceil(np.log2(abs(values).max())) - 20)
    return np.rint(values / unit) * unit


def uneven(seed):
    """Features with zeros, ties, missing values, heavy tails; 4000 documents and as many for a test."""
    rng = np.random.default_rng(seed)
    X, other = (rng.normal(size=(4000, 12)).astype(np.float32) for _ in range(2))
    for part in (X, other):
        part[:, :3] = np.exp(2 * part[:, :3])
        part[:, 3:6][rng.random((len(part), 3)) < 0.7] = 0.0
        part[:, 6:8] = part[:, 6:8].round(1)
    X[:, 8][rng.random(4000) < 0.1] = np.nan
    groups = QueryGroups(X, rng.integers(0, 4, 4000), np.arange(4000) // 20)
    return groups, other, rng


@pytest.mark.parametrize("seed", range(4))
def test_trees_are_lightgbms(seed):
    """The first under squared loss, and of twelve rounds of LambdaRank.

    Of other documents a few may differ: all thresholds between two values of a leaf gain the same, but for
    the rounding of LightGBM's sums.
    """
    groups, other, rng = uneven(seed)
    X, y = groups.features, rng.normal(size=4000) - groups.features[:, 0] ** 0.2
    objective = Objective(SwapWeighted(NDCG(10), weights="swap"), groups.queries, groups.shards)
    derivatives, scores, seen = Derivatives(objective), rng.normal(size=4000), []
    for _ in range(12):
        _, g, h = derivatives(scores)
        seen.append((on_a_grid(g), on_a_grid(h)))
        scores += 0.3 * grown(X, *seen[-1], leaf_share=0.001)[1]
    for some, leaf_share in (([(on_a_grid(y), np.ones(4000))], 0.005), (seen, 0.001)):
        for (g, h), theirs in zip(some, of_lightgbm(X, some, leaf_share), strict=True):
            own = grown(X, g, h, leaf_share=leaf_share * some[0][1].sum() / h.sum())[0]
            np.testing.assert_allclose(own.scores(X), theirs.scores(X), rtol=1e-5, atol=1e-5)
            apart = abs(own.scores(other) - theirs.scores(other)) > 1e-5
            assert apart.sum() <= (10 if some is seen else 0)


def test_the_documents_of_a_side_are_counted_bin_by_bin():
    """Documents of curvature .3 among others of 1 are 12 · .3 / 10.6 = .34 each: none, alone or together."""
    x, h = np.arange(12.0), np.append(np.ones(10), [0.3, 0.3])
    tree, _ = grown(x[:, None], -(x > 9).astype(float), h, leaves=2)
    assert tree.threshold[0] == 8.5
    tree, _ = grown(np.minimum(x, 10)[:, None], -(x > 9).astype(float), h, leaves=2)
    assert tree.threshold[0] == 9.5  # in one bin they are one


@pytest.mark.parametrize("n", [1, 2, 1000, 100_000])
def test_packed_sums_can_be_read(n):
    rng = np.random.default_rng(0)
    heavy = rng.standard_cauchy(n) ** 3
    for g in (np.ones(n), -np.ones(n), heavy, abs(heavy), 1e30 * heavy, 1e-30 * heavy, np.zeros(n)):
        for h in (np.ones(n), abs(heavy), np.append(1.0, np.zeros(n - 1))):
            (gi, _), (hi, _) = whole_numbers(g), whole_numbers(h)
            numbers, unit_g, unit_h = packed(gi, hi)
            for some in (slice(None), slice(0, n // 2), g > 0, g < 0):
                total = numbers[some].sum()
                count = len(gi[some])
                assert abs((total >> HALF) * unit_g - float(gi[some].sum())) <= 0.5 * count * unit_g + 1e-3
                assert abs((total & LOWER) * unit_h - float(hi[some].sum())) <= 0.5 * count * unit_h + 1e-3
            of_all = numbers.sum()
            assert abs(of_all >> HALF) < 2**31 - 1


def test_units_follow_sums_and_not_the_largest():
    """Of 10⁶ documents 95 % have one value: units of 14 bits for the largest would overflow."""
    rng = np.random.default_rng(0)
    n = 1_000_000
    x = np.where(rng.random(n) < 0.95, 0.0, rng.normal(size=n))
    g = 0.3 + 0.1 * rng.normal(size=n) - (x > 1)
    tree, _ = grown(x[:, None], g, np.ones(n), leaves=2, leaf_share=1e-3)
    best = max((gain(g, np.ones(n), x <= t, 0.0), t) for t in np.linspace(0.9, 1.1, 21))
    assert tree.threshold[0] == pytest.approx(best[1], abs=0.02)
    assert tree.gain[0] == pytest.approx(best[0], rel=0.01)


def test_bins_hug_zero_and_end_between_values():
    X = np.array([[-2.0, 1.0, 0.0], [0.0, 2.0, np.nan], [0.0, 4.0, 5.0], [3.0, 4.0, 7.0]], np.float32)
    bins = binned(X, np.arange(4))
    assert bins.n_values.tolist() == [3, 3, 3]
    assert bins.missing.tolist() == [False, False, True]
    small = np.float32(1e-35)
    assert bins.thresholds[0, :2].tolist() == [-small, small]
    assert bins.thresholds[1, :2].tolist() == [1.5, 3.0]
    assert bins.thresholds[2, :2].tolist() == [small, 6.0]
    codes = bins.tiles[0].view(np.uint8).reshape(4, 8)[:, :3]
    assert codes.tolist() == [[0, 0, 0], [1, 1, 3], [1, 2, 1], [2, 2, 2]]
    assert bins.medians.tolist() == [0.0, 3.0, 5.0]


def test_a_threshold_between_neighbours_in_float32_is_the_smaller():
    odd = np.nextafter(np.float32(1), np.float32(2))  # the middle rounds to the even one above
    above = np.nextafter(odd, np.float32(2))
    assert binned(np.array([[odd], [above]]), np.arange(2)).thresholds[0, 0] == odd


def test_of_equal_gains_that_threads_find_the_first_is_taken():
    empty = growing.Columns(np.zeros(8, np.uint64), np.zeros(0, np.uint64), np.zeros(9, int), np.ones(8, int))
    growth = growing.space(empty, 8, 2)
    growing.begin(growth, 8, 0)
    first, second, third = (growth.of_thread() for _ in range(3))
    for column, (of_thread, gain) in enumerate(((first, 1.0), (second, 2.0), (third, 2.0))):
        of_thread.gain[0], of_thread.nodes[0, growing.COLUMN] = gain, column
    growth.take_best([first, second, third])
    assert (growth.gain[0], growth.nodes[0, growing.COLUMN]) == (2.0, 1)


@pytest.fixture
def threads(monkeypatch):
    """Two threads divide columns by tiles of eight, however few documents there are."""
    for name, value in (("shard_count", lambda *_: 64), ("SHARDS_A_THREAD", 1), ("VALUES_A_THREAD", 0)):
        monkeypatch.setattr(f"directrank.solvers.trees.tree_boosting.{name}", value)


@pytest.mark.parametrize("seed", range(8))
def test_of_equal_columns_the_first_is_taken_on_any_number_of_threads(threads, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 8))
    g = rng.normal(size=400) + rng.normal() + 2.0 * rng.normal() * X[:, 0]
    for n_threads in (1, 2):
        tree, _ = grown(np.hstack((X, X, X)), g, np.ones(400), n_threads=n_threads)
        assert np.count_nonzero(tree.left >= 0) == 30
        assert tree.feature.max() < 8


def test_categories_that_gain_nothing_are_closed_on_any_number_of_threads(threads):
    """Both categories have the mean 1.5; inside each half of the first column they differ."""
    code, half = np.tile([0, 1], 400), np.repeat([0, 1], 400)
    y = np.array([[0.0, 1.0], [3.0, 2.0]])[half, code]
    X = np.column_stack((half, np.random.default_rng(0).normal(size=(800, 7)), one_hot(code, 2)))
    scorer = SetTrees(source=np.array([8], np.int32), width=np.array([2], np.int32))
    for n_threads in (1, 2):
        tree, _ = grown(X, -y, np.ones(800), scorer, leaves=4, n_threads=n_threads)
        assert tree.feature[0] == 0
        assert tree.gain[0] == pytest.approx(400 * (0.5**2 + 2.5**2) - 800 * 1.5**2)
        assert tree.feature.max() < 8


def collection(X, seed=0):
    rng = np.random.default_rng(seed)
    return QueryGroups(X, rng.integers(0, 3, len(X)), np.arange(len(X)) // 10)


HOSTILE = {
    "constant": lambda rng: np.full((200, 2), 7.0),
    "all missing": lambda rng: np.full((200, 2), np.nan),
    "denormals": lambda rng: 1e-42 * rng.integers(-50, 50, (200, 2)),
    "largest": lambda rng: rng.choice([-3.4e38, 3.4e38, 1.0], (200, 2)),
    "distinct": lambda rng: rng.permutation(4000).reshape(2000, 2),
    "mostly zeros": lambda rng: np.where(rng.random((5000, 2)) < 0.999, 0, rng.normal(size=(5000, 2))),
    "few documents": lambda rng: rng.normal(size=(10, 3)),
    "more features": lambda rng: rng.normal(size=(20, 60)),
    "values or missing": lambda rng: np.where(rng.random((200, 2)) < 0.5, np.nan, 1.0),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_scores_are_those_of_the_trees(name, tmp_path):
    groups = collection(HOSTILE[name](np.random.default_rng(0)).astype(np.float32))
    ranker = TreeRanker("lambdarank", rounds=5, keep="last", n_jobs=1).fit(groups)
    assert np.isfinite(ranker.predict(groups)).all()
    if name in ("constant", "all missing"):
        assert ranker.scorer_.n_trees == 0
        return
    save(ranker, tmp_path / "model.dr")
    np.testing.assert_array_equal(load(tmp_path / "model.dr").predict(groups), ranker.predict(groups))


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_the_scale_of_derivatives_changes_no_split(scale):
    rng = np.random.default_rng(0)
    X, g = rng.normal(size=(500, 5)).astype(np.float32), rng.normal(size=500)
    power = 2.0 ** round(np.log2(scale))
    (tree, _), (scaled, _) = (grown(X, f * g, np.full(500, f), penalty=0.01) for f in (1.0, power))
    for name in ("feature", "threshold", "left", "right", "value"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(scaled, name))


def test_held_out_queries_and_all_have_the_same_bins(monkeypatch):
    made = []
    original = columns.binned
    monkeypatch.setattr(columns, "binned", lambda *a: (made.append(1), original(*a))[1])
    rng = np.random.default_rng(0)
    groups = collection(rng.normal(size=(500, 4)).astype(np.float32))
    ranker = TreeRanker("lambdarank", rounds=5, n_jobs=1).fit(groups)
    assert "held-out fifth" in ranker.message_
    assert len(made) == 1


def test_denormals_are_divided_as_their_multiples():
    """Whole numbers times 2⁻¹⁴⁵, all below the smallest normal number."""
    rng = np.random.default_rng(0)
    X, g = rng.integers(-50, 50, (300, 3)).astype(np.float32), rng.normal(size=300)
    small = X * np.float32(2.0**-145)
    assert 0 < abs(small).max() < np.finfo(np.float32).tiny
    (tree, scores), (other, of_small) = (grown(each, g, np.ones(300)) for each in (X, small))
    assert np.count_nonzero(tree.left < 0) == 31
    assert scores.tobytes() == of_small.tobytes() == other.scores(small).tobytes()


def test_fewer_documents_than_leaves_have_a_leaf_each():
    g = np.array([3.0, -1.0, 4.0, 1.5, -9.0])
    tree, scores = grown(np.arange(5.0)[:, None], g, np.ones(5))
    assert np.count_nonzero(tree.left < 0) == 5
    np.testing.assert_allclose(scores, -g, rtol=1e-6)


def test_constant_and_missing_columns_change_no_split():
    rng = np.random.default_rng(0)
    X, g = rng.normal(size=(300, 2)).astype(np.float32), rng.normal(size=300)
    idle = np.full((300, 1), [[7.0]]), np.full((300, 1), np.nan), np.zeros((300, 1))
    tree, scores = grown(np.hstack((idle[0], X[:, :1], *idle[1:], X[:, 1:])), g, np.ones(300))
    alone, of_alone = grown(X, g, np.ones(300))
    assert scores.tobytes() == of_alone.tobytes()
    assert np.array([1, 4])[alone.feature[alone.left >= 0]].tolist() == tree.feature[tree.left >= 0].tolist()


def test_documents_without_curvature_are_no_leaf():
    """Without the last document 01|23 gains 81, and 0|123 51; the last one alone would gain without end."""
    x, g = np.arange(4.0)[:, None], np.array([1.0, -1.0, -1.0, -8.0])
    tree, scores = grown(x, g, np.array([1.0, 1.0, 1.0, 1e-13]), leaves=2)
    assert tree.threshold[0] == 1.5
    np.testing.assert_allclose(scores, [0.0, 0.0, 9.0, 9.0], rtol=1e-6)


def test_one_document_is_no_tree():
    one = np.ones((1, 2), np.float32)
    assert TreeBoosting().begin(one, np.ones(1, np.bool_), one, 1.0, 0, Trees()) is None
    with pytest.raises(DataError, match="nothing to train on"):
        TreeRanker(n_jobs=1).fit(one, [1], group=[1])
    # Among others it has a score, and teaches nothing.
    groups = collection(np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32))
    more = QueryGroups(
        np.vstack((groups.X, [[9.0, 9.0]])), np.append(groups.relevance, 2), np.append(groups.qid, 99)
    )
    alone, beside = (TreeRanker(rounds=3, keep="last", n_jobs=1).fit(each) for each in (groups, more))
    assert beside.predict(groups.X).tobytes() == alone.predict(groups.X).tobytes()


def test_queries_of_weight_0_are_left_out():
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(400, 3)), rng.integers(0, 3, 400), np.arange(400) // 10
    weights = np.where(np.arange(40) % 3 == 0, 0.0, 1.0)
    some = weights[qid] > 0
    fit = TreeRanker("lambdarank", rounds=3, keep="last", n_jobs=1).fit
    weighted = fit(X, y, qid=qid, sample_weight=weights).predict(X)
    assert weighted.tobytes() == fit(X[some], y[some], qid=qid[some]).predict(X).tobytes()
    with pytest.raises(DataError, match="nothing to train on"):
        fit(X, y, qid=qid, sample_weight=np.zeros(40))


def test_infinities_are_refused():
    X = np.ones((20, 2))
    X[7, 1] = -np.inf
    with pytest.raises(DataError, match="X holds -inf in row 7, column 1; expected finite"):
        TreeRanker(n_jobs=1).fit(X, np.arange(20) % 2, group=[10, 10])


def test_rare_ones_of_100_000_categories_are_one():
    """Three brands are in enough queries; all others are as one, which is called "other"."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    code, qid = rng.integers(0, 130_000, 130_000), np.arange(130_000) // 100
    code[rng.random(130_000) < 0.2] %= 3
    y, brand = np.where(code < 3, code, rng.integers(0, 3, len(code))), "b" + pd.Series(code).astype(str)
    assert brand.nunique() > 70_000
    fit = TreeRanker("lambdarank", rounds=3, keep="last", n_jobs=1).fit
    scores = []
    for each in (brand, brand.where(code < 3, "rare")):
        frame = pd.DataFrame({"brand": each.astype("category"), "x": 0.0})
        scores.append(fit(frame, y, qid=qid).predict(frame))
    assert scores[0].tobytes() == scores[1].tobytes()
    low, middle, high = (scores[0][code == k].mean() for k in range(3))
    assert low < middle < high
    frame["brand"] = pd.Categorical([f"b{k}" for k in range(len(frame))])
    with pytest.raises(DataError, match=r"column 'brand': none of its 130,000 values is in 10 training"):
        fit(frame, y, qid=qid)


@pytest.mark.heavy
def test_a_million_values_and_rare_ones_are_lightgbms():
    """All values distinct; of another column 99.9 % are zeros; of the third, all but one document."""
    rng, n = np.random.default_rng(0), 1_000_000
    X = np.zeros((n, 3), np.float32)
    X[:, 0] = rng.permutation(n)
    rare = rng.random(n) < 0.001
    X[rare, 1], X[77, 2] = rng.normal(size=rare.sum()), 1.0
    g = on_a_grid(rng.normal(size=n) - (X[:, 0] > 300_000) - 3.0 * rare * np.sign(X[:, 1]))
    for leaf_share in (1e-6, 2e-4):
        (theirs,) = of_lightgbm(X, [(g, np.ones(n))], leaf_share)
        tree, scores = grown(X, g, np.ones(n), leaf_share=leaf_share)
        assert {0, 1} <= set(tree.feature[tree.left >= 0])
        np.testing.assert_allclose(scores, theirs.scores(X), rtol=1e-5, atol=1e-5)
