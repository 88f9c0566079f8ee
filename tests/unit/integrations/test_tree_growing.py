"""Trees that the libraries grow for us: the best round, threads, missing values, and models on their own."""

import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from directrank import Ranker, TreeRanker, evaluate, load, make_ranking, save
from directrank.data.groups import QueryGroups
from directrank.errors import DataError, install_line
from directrank.estimators import RankSVM, methods
from directrank.integrations import tree_growing
from directrank.integrations.lightgbm import LightGBMTrees
from directrank.integrations.tree_growing import BITS, library, on_a_grid
from directrank.integrations.xgboost import XGBoostTrees
from directrank.measures import NDCG
from directrank.scorers import Linear, Trees
from directrank.solvers import LBFGS
from directrank.solvers.trees.boosting import FLOOR, Derivatives
from directrank.surrogates import Objective, SmoothedPositions, SwapWeighted

ROOT = Path(__file__).parents[3]
ENGINES = ("lightgbm", "xgboost")
engines = pytest.mark.parametrize("engine", ENGINES)


def interactions(seed, n_queries=50, n_features=4):
    """Grades that depend on a product of two features."""
    made = make_ranking(n_queries, 20, n_features, random_state=seed)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(made.n_docs, n_features)).astype(np.float32)
    y = np.digitize(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=len(X)), [0.5, 1.5])
    return QueryGroups(X, y, np.repeat(np.arange(n_queries), made.queries.sizes))


@engines
def test_trees_rank_where_a_linear_function_fails(engine):
    train, vali, test = (interactions(seed) for seed in range(3))
    ranker = TreeRanker(engine=engine, rounds=40, leaves=8, n_jobs=1).fit(train, eval_set=vali)
    linear = RankSVM().fit(train, eval_set=vali)
    assert ranker.score(test) > linear.score(test) + 0.2
    assert ranker.feature_importances_.argsort()[-2:].tolist() in ([0, 1], [1, 0])
    assert ranker.feature_importances_.sum() == pytest.approx(1.0)


@engines
def test_the_trees_up_to_the_best_round_are_kept(engine):
    train, vali = interactions(0, 20), interactions(1, 20)
    ranker = TreeRanker(engine=engine, rounds=100, patience=5, n_jobs=1, select_by="AP").fit(
        train, eval_set=vali
    )
    judged = [row["monitor"] for row in ranker.history_]
    best = int(np.argmax(judged)) + 1
    assert len(judged) == best + 5 < 100
    assert ranker.message_ == f"Trained {best + 5} trees, kept the first {best}"
    # XGBoost's reader adds a tree of one leaf for the score before the first.
    assert ranker.scorer_.n_trees == best + (engine == "xgboost")
    assert evaluate(vali, ranker.predict(vali), measures="AP")["AP"] == pytest.approx(max(judged), abs=1e-9)


def test_features_that_lightgbm_takes_for_zero_are_an_error_with_the_remedy():
    groups = interactions(0, 5)
    tiny = QueryGroups(groups.X * np.float32(1e-38), groups.relevance, groups.qid)
    with pytest.raises(DataError, match=r"at most 1e-35 for 0: multiply the features.*engine='xgboost'"):
        TreeRanker(rounds=2, n_jobs=1).fit(tiny)
    assert TreeRanker(rounds=2, n_jobs=1, engine="xgboost").fit(tiny).scorer_.n_trees > 0


@pytest.mark.heavy
@engines
def test_threads_change_no_bit(engine, monkeypatch):
    monkeypatch.setattr(tree_growing, "SHARDS_A_THREAD", 1)
    groups = make_ranking(300, 24, 100, random_state=0)
    assert len(groups.shards) > 1
    one, two = (
        TreeRanker("lambdarank", engine=engine, rounds=2, n_jobs=n, feature_share=0.5)
        .fit(groups)
        .predict(groups)
        for n in (1, 2)
    )
    assert one.tobytes() == two.tobytes()


@pytest.mark.heavy
@pytest.mark.parametrize("solver", [LightGBMTrees, XGBoostTrees])
def test_each_thread_has_four_mebibytes_of_features(solver, monkeypatch):
    used = []

    def grower(self, features, monitored, whole, seed, n_threads, scorer):
        used.append(n_threads)
        return original(self, features, monitored, whole, seed, n_threads, scorer)

    original = solver.grower
    monkeypatch.setattr(solver, "grower", grower)
    # 4,000 and 34,000 rows of 64 float32 are .98 and 8.3 MiB.
    for n_queries in (40, 340):
        groups = make_ranking(n_queries, 100, 64, random_state=0)
        Ranker(SmoothedPositions(NDCG()), solver(rounds=1, keep="last", n_threads=8), Trees()).fit(groups)
    assert used == [1, 2]


@pytest.mark.parametrize("solver", [LightGBMTrees, XGBoostTrees])
@pytest.mark.parametrize(("bins", "n_features", "least"), [(None, 641, 18), (None, 640, 2), (640, 641, 1)])
def test_wide_data_have_31_intervals(solver, bins, n_features, least):
    """Of 640 values in 31 intervals the first is not alone, in 255 two or three are, and in 640 one is."""
    X = np.tile(np.arange(1.0, 641.0, dtype=np.float32)[:, None], (1, n_features))
    grower = solver(leaves=2, bins=bins).grower(X, X, 640.0, 0, 1, Trees())
    grower.grow(np.append(-639.0, np.ones(639)).astype(np.float32), np.ones(640, np.float32))
    threshold = float(grower.trees(1).threshold.max())
    assert least < threshold < 2 * least + 2


@pytest.mark.share(4)
@pytest.mark.parametrize("solver", [LightGBMTrees, XGBoostTrees])
@pytest.mark.parametrize(
    ("leaves", "n_features", "n_leaves"), [(None, 321, 7), (None, 320, 31), (12, 321, 12), (12, 320, 12)]
)
def test_trees_of_wide_data_have_7_leaves(solver, leaves, n_features, n_leaves):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(320, n_features)).astype(np.float32)
    grower = solver(leaves=leaves, leaf_share=0.0).grower(X, X, 320.0, 0, 1, Trees())
    grower.grow(rng.normal(size=320).astype(np.float32), np.ones(320, np.float32))
    assert 1 + np.count_nonzero(grower.trees(1).left >= 0) == n_leaves


@engines
def test_few_documents_that_trees_do_not_tell_apart_give_a_warning(engine):
    """Gains from 2⁰ to 2¹⁹: what is left of the loss between the least ones is nothing."""
    X, y = np.arange(20.0)[:, None], np.arange(20)
    with pytest.warns(
        RuntimeWarning, match=r"\d+ of only 20 training documents .*leaf_share=0\.001"
    ) as caught:
        scores = TreeRanker("consistent", engine=engine, n_jobs=1).fit(X, y, group=[20]).predict(X)
    n_tied = sum((scores == score).sum() > 1 for score in scores)
    assert f"TreeRanker: {n_tied} of only" in str(caught[0].message)
    # As few documents in order, and equal ones, give none.
    TreeRanker("consistent", engine=engine, n_jobs=1).fit(X[:4], y[:4], group=[4])
    TreeRanker("consistent", engine=engine, n_jobs=1).fit(np.ones((4, 1)), y[:4], group=[4])


@engines
def test_seeds_draw_the_features(engine):
    groups = interactions(0, 20)
    first, again, other = (
        TreeRanker(engine=engine, rounds=3, feature_share=0.5, random_state=seed, n_jobs=1)
        .fit(groups)
        .predict(groups)
        for seed in (0, 0, 1)
    )
    assert first.tobytes() == again.tobytes() != other.tobytes()


@engines
def test_a_gap_that_tells_is_learned(engine):
    X, y = np.random.default_rng(0).normal(size=(400, 1)), np.arange(400) % 2
    X[y == 1] = np.nan
    groups = QueryGroups(X, y, np.arange(400) // 10)
    assert TreeRanker(engine=engine, rounds=3, n_jobs=1).fit(groups).score(groups) == 1.0


@engines
def test_features_that_tell_nothing_give_no_tree(engine):
    y, qid = np.arange(40) % 2, np.arange(40) // 10
    for value in (7.0, np.nan):
        X = np.full((40, 2), value)
        ranker = TreeRanker(engine=engine, n_jobs=1).fit(X, y, qid=qid, eval_set=(X, y, qid))
        assert ranker.predict(np.eye(2)).tolist() == [0.0, 0.0]
        assert ranker.message_ == "Trained 0 trees, kept the first 0"


@pytest.mark.parametrize("solver", [LightGBMTrees, XGBoostTrees])
def test_a_steepness_changes_only_the_scale_of_the_scores(solver):
    groups = interactions(0, 20)
    flat, steep = (
        Ranker(SmoothedPositions(NDCG(), steepness=alpha), solver(rounds=8), Trees())
        .fit(groups)
        .predict(groups)
        for alpha in (1.0, 16.0)
    )
    np.testing.assert_allclose(16.0 * steep, flat, rtol=1e-5, atol=1e-6)


def test_weights_follow_the_ranking_in_every_round(monkeypatch):
    calls, reweigh = [], Objective.reweigh
    monkeypatch.setattr(Objective, "reweigh", lambda self, scores: (calls.append(1), reweigh(self, scores)))
    TreeRanker("lambdarank", rounds=4, keep="last", n_jobs=1).fit(interactions(0, 20))
    assert len(calls) == 4 + 1


def test_documents_that_teach_nothing_are_not_in_the_trees():
    groups, other = interactions(0, 20), interactions(1, 5)
    alone = TreeRanker(rounds=4, n_jobs=1).fit(groups, eval_set=groups).predict(groups)
    beside = QueryGroups(
        np.concatenate((groups.X, 100 * other.X)), np.append(groups.relevance, np.ones(other.n_docs)),
        np.append(groups.qid, 1000 + other.qid),
    )  # fmt: skip
    ranker = TreeRanker(rounds=4, n_jobs=1)
    np.testing.assert_array_equal(ranker.fit(beside, eval_set=groups).predict(groups), alone)
    assert len(ranker.left_out_) == 5


def test_derivatives_are_floored_and_on_a_grid():
    groups = interactions(0, 10)
    objective = Objective(SwapWeighted(NDCG(), weights="swap"), groups.queries, groups.shards)
    derivatives = Derivatives(objective)
    _, _, first = derivatives(np.zeros(groups.n_docs))
    _, gradient, curvature = derivatives(np.where(groups.queries.relevance > 0, -500.0, 500.0))
    assert (curvature >= 0.99 * FLOOR * first).all()
    rng = np.random.default_rng(0)
    values = rng.normal(size=10_000) * 10.0 ** rng.integers(-6, 3, 10_000)
    rounded = on_a_grid(values).astype(np.float64)
    assert np.abs(rounded - values).max() <= np.abs(values).max() * 2.0 ** (1 - BITS)
    assert rounded.sum() == rounded[::-1].sum() == np.sort(rounded).sum()
    assert on_a_grid(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    assert np.isfinite(gradient).all()


def test_a_saved_model_needs_neither_library(tmp_path, monkeypatch):
    groups = interactions(0, 20)
    ranker = TreeRanker(rounds=4, n_jobs=1).fit(groups)
    save(ranker, tmp_path / "model.dr")
    for name in ENGINES:
        monkeypatch.setitem(sys.modules, name, None)
    back = load(tmp_path / "model.dr")
    np.testing.assert_array_equal(back.predict(groups), ranker.predict(groups))
    np.testing.assert_array_equal(back.feature_importances_, ranker.feature_importances_)
    wording = f"lightgbm cannot be used .*engine='directrank'.*, or {re.escape(install_line('lightgbm'))}$"
    with pytest.raises(ImportError, match=wording):
        back.fit(groups)


def test_what_is_not_installed_is_left_out_and_listed(monkeypatch, capsys):
    from directrank.apps.cli import main

    monkeypatch.setattr("directrank.estimators.method.find_spec", lambda name: None)
    found = [each.method.name for each in methods.configured("all")]
    assert "trees-rankboost" in found
    assert "trees-lambdarank" not in found
    assert main(["methods"]) == 0
    ended = capsys.readouterr()
    assert "trees-lambdarank" in ended.out
    assert install_line("lightgbm") in ended.err


def test_the_scorer_of_trees_fits_no_other_solver():
    with pytest.raises(TypeError, match="needs a scorer of type"):
        Ranker(SmoothedPositions(NDCG()), LBFGS(), Trees())
    with pytest.raises(TypeError, match="needs a scorer of type Trees"):
        Ranker(SmoothedPositions(NDCG()), LightGBMTrees(), Linear())


def test_either_build_of_xgboost_will_do(monkeypatch):
    """Whoever has neither is told of both; whoever has one must not get the other over it."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    packages = {name: re.match("[a-z-]+", extras[name][0])[0] for name in ("xgboost", "xgboost-cpu")}
    assert packages == {"xgboost": "xgboost", "xgboost-cpu": "xgboost-cpu"}
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(ImportError, match=r"directrank\[xgboost\].* or .*directrank\[xgboost-cpu\]"):
        library("xgboost")
